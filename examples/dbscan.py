"""Where airports are dense: DBSCAN on the sphere, from one radius search.

The airports of the `airportsdata` package are points on the unit sphere. One with at least 12 airports
(itself included) within 30 km is a core; cores within 30 km of each other are one cluster, and other
airports join the cluster of a core within 30 km (M. Ester et al., A density-based algorithm for
discovering clusters, 1996). Run

    python examples/dbscan.py [picture.png]

The radius graph gives the edges; labels spread along them inside of `jit` until nothing changes.
"""

import sys

import jax
import numpy as np

import jaxapi as xp

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


def on_sphere(longitude, latitude):
    theta, phi = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=1)


@jax.jit
def spread(core, senders, receivers):
    """Return for each core the least row of its cluster; for others n."""
    n = core.shape[0]
    linked = core[senders] & core[receivers]
    own = xp.where(core, xp.arange(n), n)

    def step(state):
        labels, _ = state
        least = labels.at[receivers].min(xp.where(linked, labels[senders], n))
        least = xp.where(core, xp.minimum(least, least[xp.minimum(least, n - 1)]), n)  # a shortcut
        return least, xp.any(least != labels)

    labels, _ = jax.lax.while_loop(lambda state: state[1], step, (own, xp.asarray(True)))
    border = xp.full((n,), n).at[receivers].min(xp.where(core[senders], labels[senders], n))
    return xp.where(core, labels, border)


def dbscan(points, radius, least):
    """Return for each point the least row of its cluster's cores, n for noise, and which points are cores."""
    graph = xp.spatial.KDTree(points).radius_graph(radius)
    degree = xp.zeros(len(points), dtype="int32").at[graph.receivers].add(1)
    core = degree + 1 >= least
    return spread(core, graph.senders, graph.receivers), core


def main(picture=None, kilometres=30.0, least=12):
    longitude, latitude = load_airports()
    points = on_sphere(longitude, latitude)
    chord = 2 * np.sin(kilometres / (2 * EARTH_RADIUS))
    labels, core = (np.asarray(x) for x in dbscan(points, chord, least))
    clusters, sizes = np.unique(labels[labels < len(points)], return_counts=True)
    alone = (labels == len(points)).sum()
    print(f"{len(points)} airports, {core.sum()} cores, {len(clusters)} clusters, {alone} alone")
    for cluster, size in sorted(zip(clusters, sizes, strict=True), key=lambda pair: -pair[1])[:5]:
        members = labels == cluster
        place = f"{latitude[members].mean():.1f}, {longitude[members].mean():.1f}"
        print(f"  {size} airports around latitude, longitude {place}")
    if picture:
        draw(longitude, latitude, labels, picture)
    return points, chord, labels, core


def draw(longitude, latitude, labels, picture):
    figure = Figure(figsize=(10, 5), layout="constrained")
    axis = figure.subplots()
    noise = labels == len(labels)
    axis.plot(longitude[noise], latitude[noise], ".", color="#c8ccd0", markersize=1.5)
    colour = np.random.default_rng(1).permutation(len(labels) + 1)[labels[~noise]]
    axis.scatter(longitude[~noise], latitude[~noise], c=colour, s=9, cmap="turbo")
    axis.set(xlim=(-126, -66), ylim=(24, 51), xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axis.set_title("The clusters in North America")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
