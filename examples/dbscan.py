"""Where airports are dense: DBSCAN on the sphere.

The airports of the `airportsdata` package are points on the unit sphere. One with at least 12 airports
(itself included) within 30 km is a core; cores within 30 km of each other are one cluster, and other
airports join the first cluster with a core within 30 km (M. Ester et al., A density-based algorithm for
discovering clusters, 1996). Run

    python examples/dbscan.py [picture.png]
"""

import sys

import numpy as np

from jaxapi.spatial import KDTree, chord_length, unit_vectors

try:
    import airportsdata
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

EARTH_RADIUS = 6371.0088  # km


def load_airports():
    """Return longitudes and latitudes in degrees."""
    records = airportsdata.load().values()
    return np.array([(record["lon"], record["lat"]) for record in records]).T


def main(picture=None, kilometres=30.0, least=12):
    longitude, latitude = load_airports()
    points = unit_vectors(np.radians(np.stack([latitude, longitude], axis=1)))
    core, labels = KDTree(points).dbscan(chord_length(kilometres / EARTH_RADIUS), min_samples=least)
    core, labels = np.asarray(core), np.asarray(labels)
    sizes = np.bincount(labels[labels >= 0])
    alone = (labels < 0).sum()
    print(f"{len(points)} airports, {core.sum()} cores, {len(sizes)} clusters, {alone} alone")
    for cluster in np.argsort(-sizes, kind="stable")[:5]:
        members = labels == cluster
        place = f"{latitude[members].mean():.1f}, {longitude[members].mean():.1f}"
        print(f"  {sizes[cluster]} airports around latitude, longitude {place}")
    if picture:
        draw(longitude, latitude, labels, picture)
    return points, core, labels


def draw(longitude, latitude, labels, picture):
    figure = Figure(figsize=(10, 5), layout="constrained")
    axis = figure.subplots()
    noise = labels < 0
    axis.plot(longitude[noise], latitude[noise], ".", color="#c8ccd0", markersize=1.5)
    colour = np.random.default_rng(1).permutation(len(labels) + 1)[labels[~noise]]
    axis.scatter(longitude[~noise], latitude[~noise], c=colour, s=9, cmap="turbo")
    axis.set(xlim=(-126, -66), ylim=(24, 51), xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axis.set_title("The clusters in North America")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
