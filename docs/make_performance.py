"""Write the tables of times from docs/_data/*.json, which benchmarks/ wrote; draw the charts of them.

    python docs/make_performance.py [--check]

A table stands between two comments of a page, which name it. With --check, fail where one is out of date.
"""

import json
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).parent
PAGES = DOCS / "performance.md", DOCS / "mutable.md", DOCS / "periodic.md", DOCS.parent / "README.md"
BLOCK = re.compile(r"(<!-- times: (\w+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def read(name):
    """Return a file's contents, without rows if there is no such file."""
    path = DOCS / "_data" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}


def pick(name, **wanted):
    """Return the first row of a file with these fields, or an empty one."""
    rows = (row for row in read(name)["rows"] if wanted.items() <= row.items())
    return next(rows, {})


def time(value):
    """Write milliseconds with three digits; what a peer raised as it is, and nothing as a dash."""
    if not isinstance(value, int | float):
        return {"MemoryErr": "no memory", "OutOfMemo": "no memory"}.get(value, value) or "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(header, rows):
    """Return a table in Markdown, without the rows that have no figure."""
    rows = [row for row in rows if any(cell not in ("-", "") for cell in row[1:])]
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


SEARCHES = {
    "build": "1000k build",
    "the nearest neighbour": "1000k, 1000k others, k=1",
    "8 neighbours": "1000k, 1000k others, k=8",
    "32 neighbours": "1000k, 1000k others, k=32",
}
MORE_SEARCHES = {
    "1,024 neighbours": "1000k, 1000k others, k=1024",
    "8 neighbours, float64": "1000k float64, 1000k others, k=8",
    "8 neighbours, 64 clusters, queries of the same": "1000k in 64 clusters, others of the same, k=8",
    "8 neighbours, 64 clusters, queries of others": "1000k in 64 clusters, others of 64 more, k=8",
    "build, and 8 neighbours of every point": "1000k build + every point, k=8",
    "the same of ten million points": "10M build + every point, k=8",
    "10,000 points and queries, 8 neighbours": "10000, 10000 others, k=8",
    "16 dimensions, 100,000 queries": "1000k m=16, 100k others, k=8",
    "64 dimensions, 100,000 queries": "1000k m=64, 100k others, k=8",
}
RADIUS_SEARCHES = {
    "counts within a radius, 50 on average": "counts, 50 neighbours",
    "neighbours within a radius (CSR), 50": "CSR, 50 neighbours",
    "pairs, 24 neighbours": "all pairs",
    "edges of a graph, 24 neighbours": "radius graph",
    "two-point counts, 20 radii": "two-point counts, 20 radii to 0.05",
}
PEERS = {"cupy": "CuPy", "jztree": "jztree", "jaxkd": "jaxkd", "scipy": "SciPy"}


def searches():
    """The searches that every peer has."""
    header = ["a million points and queries, 3-D, float32", "jaxapi", *PEERS.values()]
    rows = []
    for what, work in SEARCHES.items():
        row = pick("kdtree-gpu", work=work)
        rows.append([what, *(time(row.get(peer)) for peer in ("jaxapi", *PEERS))])
    return table(header, rows)


def more_searches():
    """Others, with the peers that have them."""
    found = {what: pick("kdtree-gpu", work=work) for what, work in MORE_SEARCHES.items()}
    for what, work in RADIUS_SEARCHES.items():
        found[what] = pick("radius-gpu", cloud="uniform", work=work)
    header = ["a million points and queries, 3-D, float32", "jaxapi", "others"]
    rows = [[what, time(row.get("jaxapi")), of_peers(row, PEERS)] for what, row in found.items()]
    return table(header, rows)


def of_peers(row, peers):
    """Return the times of the peers that have one, with their names."""
    return ", ".join(f"{name} {time(row[peer])}" for peer, name in peers.items() if row.get(peer) is not None)


def clusters():
    clouds = "uniform", "halos", "fractal"
    works = {
        "components": "`connected_components`",
        "dbscan": "`dbscan`, 5 neighbours",
    }
    rows = []
    for link in (0.2, 1.0):
        for work, what in works.items():
            found = [pick("clusters-gpu", work=work, cloud=cloud, link=link).get("ms") for cloud in clouds]
            rows.append([f"{what}, radius {link}", *map(time, found)])
    for work, what in {
        "spanning tree": "`minimum_spanning_tree`",
        "spanning tree, 5": "`minimum_spanning_tree`, `min_samples=5`",
        "hdbscan": "`hdbscan`",
    }.items():
        found = [pick("clusters-gpu", work=work, cloud=cloud, link=0.2).get("ms") for cloud in clouds]
        rows.append([what, *map(time, found)])
    return table(["a million points, 3-D, float32", "uniform", "haloes", "fractal"], rows)


def distances():
    header = [
        "10,000 rows by 10,000, float32",
        "3 columns",
        "`jnp` by hand",
        "SciPy",
        "64 columns",
        "`jnp` by hand",
    ]
    metrics = "euclidean", "cityblock", "chebyshev", "cosine", "nearest k=8", "kernel_sum"
    rows = []
    for metric in metrics:
        three, many = (pick("distance-gpu", metric=metric, columns=m) for m in (3, 64))
        cells = three.get("jit"), three.get("hand"), three.get("scipy"), many.get("jit"), many.get("hand")
        rows.append([f"`{metric}`".replace(" ", "`, `"), *map(time, cells)])
    return table(header, rows)


def interpolation():
    header = ["thin plate, 3-D", "a million places, GPU", "100,000 places, CPU", "SciPy"]
    works = {
        "32 neighbours, float32": {"what": "local", "dtype": "float32"},
        "32 neighbours, float64": {"what": "local", "dtype": "float64", "dimensions": 3},
        "32 neighbours of 500 points, 2-D, float64": {"what": "local", "points": 500},
        "1,024 points together, float32": {"what": "dense", "dtype": "float32", "columns": 1},
        "1,024 points together, float64": {"what": "dense", "dtype": "float64", "columns": 1},
        "the same of 8 columns of values, float32": {"what": "dense", "dtype": "float32", "columns": 8},
        "the nearest point's value, float32": {"what": "nearest"},
    }
    rows = []
    for work, wanted in works.items():
        gpu, cpu = pick("interpolate-gpu", **wanted), pick("interpolate-cpu", **wanted)
        on_gpu = " / ".join(filter(None, [time(gpu.get("jaxapi")), of_peers(gpu, {"cupy": "CuPy"})]))
        rows.append([work, on_gpu, time(cpu.get("jaxapi")), time(cpu.get("scipy"))])
    return table(header, rows)


def cells():
    peers = "jaxapi", "jaxapi, in jit", "vesin"
    header = ["float64, CPU", "`radius_graph`", "in `jit`", "vesin"]
    rows = []
    for row in read("cells-cpu")["rows"]:
        shape = "a sheared cell" if row["shear"] else "a cube"
        rows.append([f"{row['atoms']:,} atoms, {shape}", *(time(row.get(peer)) for peer in peers)])
    return table(header, rows)


def cells_gpu():
    header = ["float32, GPU, in `jit`", "a cube", "a sheared cell", "`boxsize`"]
    rows = []
    for row in read("cells-gpu")["rows"]:
        if "clouds" not in row:
            cells = (time(row.get(name)) for name in ("cube", "sheared", "boxsize"))
            rows.append([f"{row['atoms']:,} atoms", *cells])
    return table(header, rows)


def batches_gpu():
    header = ["float32, GPU, in `jit`", "`batch=`", "`batch=`, a cell for each", "`jax.vmap`"]
    rows = []
    for row in read("cells-gpu")["rows"]:
        if "clouds" in row:
            cells = (time(row.get(name)) for name in ("batch", "batch, cell", "vmap"))
            rows.append([f"{row['clouds']} clouds of {row['atoms']:,} atoms", *cells])
    return table(header, rows)


def functions():
    header = ["2**24 elements, GPU", "jaxapi", "CuPy", "PyTorch"]
    rows = []
    for row in read("peers-gpu")["rows"]:
        cells = (time(row.get(peer)) for peer in ("jaxapi", "CuPy", "PyTorch"))
        rows.append([row["work"], *cells])
    return table(header, rows)


def fused():
    header = ["2**28 elements", "`fuse`", "`jax.jit`", "`cupy.fuse`"]
    names = "fuse", "jit", "cupy.fuse"
    rows = [
        [f"`{row['work']}`", *(time(row.get(name)) for name in names)] for row in read("fuse-gpu")["rows"]
    ]
    return table(header, rows)


def arrays():
    header = ["a million elements, GPU", "jaxapi", "`jax.numpy`", "NumPy, CPU"]
    works = "sort", "unique_values", "isin", "cumulative_sum", "searchsorted", "vecdot", "asarray", "logspace"
    rows = []
    for work in works:
        row = pick("namespace-gpu", work=work)
        rows.append([f"`{work}`", *(time(row.get(name)) for name in ("jaxapi", "jnp", "numpy"))])
    return table(header, rows)


def cpu():
    header = [
        "100,000 points and queries, 3-D, float32",
        "SciPy",
        "alone",
        "inside of `jit`",
        "first call there",
    ]
    names = {"k=1": "k=1", "k=8": "k=8", "k=32": "k=32", "within r, CSR": "all in a radius", "pairs": "pairs"}
    rows = []
    for row in (row for row in read("cpu")["rows"] if row["points"] == 100_000 and row["work"] in names):
        cells = (time(row.get(name)) for name in ("scipy", "eager", "jit", "first"))
        rows.append([names[row["work"]], *cells])
    return table(header, rows)


def indexing():
    header = ["us", "10,000 float32", "CuPy", "25,000,000 float32", "CuPy"]
    rows = []
    for row in read("mutable-gpu")["rows"]:
        if row.get("elements") == 10_000 and row["work"] not in (
            "x[::2] = 1",
            "x[rows] = 1",
            "x[100:1100] = 1",
        ):
            large = pick("mutable-gpu", work=row["work"], elements=25_000_000)
            cells = [time(each.get(name)) for each in (row, large) for name in ("jaxapi.mutable", "CuPy")]
            rows.append(["`{}`{}{}".format(*row["work"].partition(", ")), *cells])
    return table(header, rows)


def front():
    works = {
        "build a KD-tree": pick("kdtree-gpu", work="1000k build"),
        "8 nearest neighbours of each query": pick("kdtree-gpu", work="1000k, 1000k others, k=8"),
        "all neighbours within a radius, 50 on average": pick("radius-gpu", work="CSR, 50 neighbours"),
    }
    rows = [[what, *(time(row.get(x)) for x in ("jaxapi", "cupy", "scipy"))] for what, row in works.items()]
    rows[2][2] = "does not fit"
    return table(["", "jaxapi", "CuPy", "SciPy, all cores"], rows)


def sources():
    """Say which files were measured where, when and with what."""
    runs = {}
    for path in sorted((DOCS / "_data").glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if "machine" not in facts:
            continue  # counts of tests, no times
        run = runs.setdefault((facts["machine"], facts["date"]), ([], {}, set()))
        run[0].append(f"`{path.stem}`")
        run[1].update(facts["versions"])
        run[2].update([facts["note"]] if "note" in facts else [])
    rows = []
    for (machine, date), (names, versions, notes) in runs.items():
        used = ", ".join(f"{name} {version}" for name, version in versions.items())
        rows.append([machine, date, ", ".join(names), "; ".join([used, *sorted(notes)])])
    return table(["machine", "date", "figures", "versions"], rows)


TABLES = {
    each.__name__: each
    for each in (
        searches,
        more_searches,
        clusters,
        distances,
        interpolation,
        cells,
        cells_gpu,
        batches_gpu,
        functions,
        fused,
        arrays,
        cpu,
        indexing,
        front,
        sources,
    )
}


def written(text):
    """Return a page with its tables made anew; a table without data stays as it is."""

    def block(match):
        made = TABLES[match[2]]()
        return match[1] + made + match[3] if made.count("\n") > 2 else match[0]

    return BLOCK.sub(block, text)


def main(pages=PAGES):
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            page.write_text(written(text), encoding="utf-8")
        elif written(text) != text:
            sys.exit(f"{page.name} is out of date: run python docs/make_performance.py")


def charts(folder):
    """Draw the times over the neighbours, over the points, and on the CPU."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    names = "jaxapi", "cupy", "jztree", "jaxkd", "scipy"
    colours = dict(zip((*names, "eager", "jit"), ("C0", "C1", "C2", "C3", "C4", "C0", "C5"), strict=True))
    labels = {"cupy": "CuPy", "scipy": "SciPy", "eager": "jaxapi", "jit": "jaxapi, inside of jit"}
    over_k = {k: pick("kdtree-gpu", work=f"1000k, 1000k others, k={k}") for k in (1, 8, 16, 32, 100, 1024)}
    over_n = {10**e: pick("kdtree-gpu", work=f"{10**e} points, 1000k others, k=8") for e in (4, 5, 6, 7)}
    on_cpu = {row["points"]: row for row in read("cpu")["rows"] if row["work"] == "k=8"}
    drawn = {
        "neighbours": (over_k, names, "neighbours k of a million queries"),
        "points": (over_n, names, "points searched by a million queries, k = 8"),
        "cpu": (on_cpu, ("eager", "jit", "scipy"), "points and queries on a CPU, k = 8, with the build"),
    }
    for name, (curve, series, label) in drawn.items():
        figure, axis = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
        for each in series:
            xs = [x for x, row in curve.items() if isinstance(row.get(each), float)]
            if xs:
                axis.loglog(
                    xs,
                    [curve[x][each] for x in xs],
                    marker="o",
                    color=colours[each],
                    label=labels.get(each, each),
                )
        axis.set(xlabel=label, ylabel="milliseconds")
        axis.grid(alpha=0.3)
        if curve:
            axis.legend()
        figure.savefig(folder / f"times-{name}.png", dpi=110)
        pyplot.close(figure)


if __name__ == "__main__":
    main()
