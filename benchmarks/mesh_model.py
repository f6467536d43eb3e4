"""Times of a KDTree on many GPUs, computed: what two GPUs measured, and where the work grows.

    python benchmarks/mesh_model.py

Every point's k=8 among all, build included, 3-D float32, uniform. The constants are fitted to bench_mesh.py
on two H200s of one host, at 1M and 10M points a GPU. Nothing here is a measurement.
"""

from math import log2

ONE = 1.42e-3, 1.02e-9  # one GPU: seconds, and seconds a point where there are 10 million
SPLIT = 0.32e-3, 0.04e-9  # the first split of the devices in two: two sorts less than the further ones
AGAIN = 0.9e-3, 0.15e-9  # a further split; two GPUs have none, so this is the sum of its sorts and gathers
BOX = 0.005e-9  # the box of a group of devices: each looks at all its points once
ROUNDS = 0.3e-3, 0.015e-9  # the rounds: to begin and end them, and to look at every point
FAR = 3.2e-9  # a query that visits another device
BACK = 0.2e-3, 0.28e-9  # results put into the order of the data, in pieces, besides their transfer
SEARCH, PIECES = 0.7e-9, 6  # seconds a point, during which all pieces but the last are on their way
LINK = 258e9  # bytes a second that each GPU sends within a host of eight, measured
BETWEEN = 40e9  # between hosts, assumed


def far_share(points: float, devices: int) -> float:
    """Return the share of the queries that visit another device, those near a border: simulated."""
    share = {2: 0.019, 4: 0.0302, 8: 0.0361, 64: 0.0547}[devices]  # of 4: by the faces of their boxes
    return share * (1e6 / points) ** (1 / 3)


def sent(size: float, devices: int) -> float:
    """Return the time of an even all-to-all of `size` bytes a GPU."""
    if devices <= 8:
        return size * (devices - 1) / devices / LINK
    return max(size * (devices - 8) / devices / BETWEEN, size * 7 / devices / LINK)


def times(points: float, devices: int) -> tuple[float, float, float]:
    """Return the seconds on one GPU with `points`, on `devices` with as many each, and in input order."""
    one = ONE[0] + ONE[1] * points * log2(points) / log2(1e7)  # more points lie in more levels
    further = log2(devices) - 1
    split = SPLIT[0] + AGAIN[0] * further + (SPLIT[1] + AGAIN[1] * further + BOX * (devices - 1)) * points
    far = far_share(points, devices) * points
    visits = ROUNDS[0] + ROUNDS[1] * points + FAR * far + sent(80 * far, devices)
    own = one + split + sent(16 * points, devices) + visits
    way = sent(68 * points, devices)
    way -= min(way, SEARCH * points) * (1 - 1 / PIECES)
    return one, own, own + way + BACK[0] + BACK[1] * points


def main():
    """Print the table of docs/distributed.md."""
    print("| points | GPUs | ms: one GPU with n/P points | own order | input order |")
    print("| --- | --- | --- | --- | --- |")
    weak = [(each * devices, devices) for each in (1e6, 1e7) for devices in (2, 8, 64)]
    for points, devices in [*weak, (1e9, 8), (8e9, 64), (1e7, 2), (1e7, 8), (1e7, 64)]:
        found = (f"{1e3 * seconds:,.1f}" for seconds in times(points / devices, devices))
        print(f"| {points:,.0f} | {devices} | {' | '.join(found)} |")


if __name__ == "__main__":
    main()
