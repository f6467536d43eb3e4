"""Graphs of PyTorch's tensors, beside torch_cluster or PyTorch Geometric's own, where they are installed.

    python benchmarks/bench_torch.py [--points 1000000] [--neighbors 32] [--json FILE]

On the GPU that PyTorch has, else on the CPU. Set XLA_PYTHON_CLIENT_PREALLOCATE=false: both libraries keep
memory. Times are medians of whole calls that are waited for, in ms. The radius is such that points have as
many neighbors; the peer keeps as many as the densest point has.
"""

import argparse
import math

import torch
from timing import clock, keep

import jaxapi.torch as near

LINE = "{:>9} {:>7} {:14} {:>10} {:>10} {:>10}"
FIELDS = "points", "clouds", "work", "jaxapi", "peer", "edges"


def peer_functions():
    """Return the functions of torch_cluster, of pyg-lib through PyTorch Geometric, or none."""
    try:
        import torch_cluster

        return torch_cluster
    except ImportError:
        pass
    try:
        import torch_geometric.nn

        torch_geometric.nn.knn_graph(torch.rand(4, 3), 1)
        return torch_geometric.nn
    except ImportError:
        return None


def wait(_):
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def shown(time):
    return "-" if time is None else f"{time:.4g}"


def works(x, batch, r, k, most):
    """Yield (work, jaxapi's call, the peer's call of its module)."""
    yield (
        "radius_graph",
        lambda: near.radius_graph(x, r, batch),
        lambda peer: peer.radius_graph(x, r, batch, max_num_neighbors=most),
    )
    yield (
        "knn_graph",
        lambda: near.knn_graph(x, k, batch),
        lambda peer: peer.knn_graph(x, k, batch),
    )
    yield (
        "fps of 1 %",
        lambda: near.fps(x, batch, 0.01, random_start=False),
        lambda peer: peer.fps(x, batch, 0.01, random_start=False),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--neighbors", type=int, default=32)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    peer = peer_functions()
    print(f"times in ms on {device}, peer: {peer.__name__ if peer else 'none'}\n" + LINE.format(*FIELDS))
    torch.manual_seed(0)
    rows = []
    for n, cloud_count in ((1024, 1), (32_768, 32), (100_000, 1), (100_000, 100), (arguments.points, 1)):
        x = torch.rand(n, 3, device=device)
        batch = None if cloud_count == 1 else torch.arange(n, device=device) * cloud_count // n
        of_cloud = n // cloud_count
        r = (arguments.neighbors / (of_cloud * 4 / 3 * math.pi)) ** (1 / 3)
        most = int(torch.bincount(near.radius_graph(x, r, batch)[1]).max())
        for work, ours, theirs in works(x, batch, r, arguments.neighbors, most):
            time = clock(ours, wait)[1]
            peers_time = None if peer is None else clock(lambda theirs=theirs: theirs(peer), wait)[1]
            edges = ours().shape[-1]
            print(LINE.format(n, cloud_count, work, shown(time), shown(peers_time), edges), flush=True)
            row = {"points": n, "clouds": cloud_count, "work": work, "jaxapi": time, "peer": peers_time}
            rows.append(row)
    keep(arguments.json, rows)


if __name__ == "__main__":
    main()
