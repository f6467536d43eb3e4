"""The names of `jaxapi.spatial.distance`'s metrics, by what they take: SciPy's, and three of our own."""

BOOLEAN = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
OURS = ["hellinger", "inner_product", "kl_divergence"]
# Real numbers, and a distance that has slopes
SMOOTH_OF_SCIPY = [
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "seuclidean",
    "sqeuclidean",
]
METRICS = sorted([*BOOLEAN, *OURS, *SMOOTH_OF_SCIPY, "hamming"])
UNWEIGHTED = ["jensenshannon", "mahalanobis", "seuclidean", *OURS]  # SciPy's cdist takes no ``w`` for them
WEIGHTED = [name for name in METRICS if name not in UNWEIGHTED]
