"""CPU time of a first call and of later ones in a new process, beside SciPy, NumPy and scikit-learn.

    python benchmarks/bench_first_calls.py [WORD ...]

A process a row; nothing is taken from a cache of programs. What a first call imports counts, from compiled
files, which a process before them writes. Words pick rows.
"""

import os
import subprocess
import sys

PROGRAM = """
import time
import numpy as np
start = time.process_time()
{imports}
imported = time.process_time()
rng = np.random.default_rng(0)
{data}
call = lambda: {call}
begin = time.process_time()
call()
first = time.process_time() - begin
repeats = 20
begin = time.process_time()
for _ in range(repeats):
    call()
later = (time.process_time() - begin) / repeats
print(f"{{imported - start:9.3f}} {{first * 1e3:9.1f}} {{later * 1e3:9.2f}}")
"""
SCIPYS = "import jax, scipy.spatial as spatial, scipy.spatial.distance as distance"
OURS = "import jaxapi.spatial as spatial, jaxapi.spatial.distance as distance"
RBF = "x = rng.random((300, 2)); y = np.sin(x[:, 0]); q = rng.random((1000, 2))"
RBF_CALL = "np.asarray(RBFInterpolator(x, y{options})(q))"
LDA = "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA"
LDA_DATA = "x = rng.normal(size=(400, 8)); t = rng.integers(0, 3, 400)"
PAIRS = [  # name, SciPy's or scikit-learn's imports, ours, data, call
    ("cdist 1000 x 1000", SCIPYS, OURS, "x = rng.random((1000, 8))", "distance.cdist(x, x)"),
    ("pdist cosine", SCIPYS, OURS, "x = rng.random((500, 8))", "distance.pdist(x, 'cosine')"),
    ("pdist correlation", SCIPYS, OURS, "x = rng.random((500, 8))", "distance.pdist(x, 'correlation')"),
    ("mahalanobis", SCIPYS, OURS, "x = rng.random((500, 8))", "distance.cdist(x, x, 'mahalanobis')"),
    (
        "directed_hausdorff",
        SCIPYS,
        OURS,
        "x, y = rng.random((2, 1000, 3))",
        "distance.directed_hausdorff(x, y)",
    ),
    ("KDTree.query", SCIPYS, OURS, "x = rng.random((1000, 3))", "spatial.KDTree(x).query(x)"),
    (
        "RBF, 16 neighbours",
        "import jax; from scipy.interpolate import RBFInterpolator",
        "from jaxapi.interpolate import RBFInterpolator",
        RBF,
        RBF_CALL.format(options=", neighbors=16"),
    ),
    (
        "RBF",
        "import jax; from scipy.interpolate import RBFInterpolator",
        "from jaxapi.interpolate import RBFInterpolator",
        RBF,
        RBF_CALL.format(options=""),
    ),
]
LIBRARIES = [("mutable", "jaxapi.mutable"), ("numpy face", "jaxapi.numpy")]


def measured(imports, data, call, **environment):
    """Return the times of a new process as text: the import in s, the first call and later ones in ms."""
    code = PROGRAM.format(imports=imports, data=data, call=call)
    run = in_new_process(code, environment)
    return run.stdout.rstrip() or run.stderr.splitlines()[-1]


def in_new_process(code, environment):
    left_out = ("JAX_COMPILATION", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=kept | environment
    )


def show(name, who, *program, **environment):
    print(f"{name:24} {who:12} {measured(*program, **environment)}", flush=True)


def main():
    words = sys.argv[1:]
    in_new_process("import jaxapi.numpy, jaxapi.spatial, jaxapi.interpolate", {})
    print(f"{'CPU time':24} {'':12} {'import s':>9} {'first ms':>9} {'later ms':>9}")
    for name, theirs, ours, data, call in PAIRS:
        if not words or any(word in name for word in words):
            show(name, "SciPy", theirs, data, call)
            show(name, "jaxapi", ours, data, call)
    name = "LinearDiscriminantAnalysis"
    if not words or any(word in name for word in words):
        fit = "LDA().fit(x, t).transform(x)"
        show(name[:24], "NumPy", f"import jax\n{LDA}", LDA_DATA, fit)
        for who, module in LIBRARIES:
            imports = (
                f"import {module} as xp\nimport sklearn\n{LDA}\nsklearn.set_config(array_api_dispatch=True)"
            )
            data = f"{LDA_DATA}; x = xp.asarray(x); t = xp.asarray(t)"
            show(name[:24], who, imports, data, fit, SCIPY_ARRAY_API="1")


if __name__ == "__main__":
    main()
