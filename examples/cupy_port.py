"""A CuPy program ported line by line: patterns of a reaction and diffusion.

The Gray-Scott model (J. Pearson, Complex patterns in a simple system, 1993): two substances diffuse and
react. `in_cupy` is the program as it was; `line_by_line` is the port, each line with its original;
`compiled` goes one step further and puts the loop into `jit`, which CuPy cannot. Run

    python examples/cupy_port.py [picture.png]

Where CuPy is not installed NumPy runs the original.
"""

import sys
import time

import jax
import numpy as np

import jaxapi as xp

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

FEED, KILL = 0.037, 0.060


def in_cupy(cp, size, steps):
    """The original, for `cp` CuPy, or NumPy where there is no CuPy."""
    fuse = cp.fuse() if hasattr(cp, "fuse") else lambda function: function

    @fuse
    def react(u, v, lu, lv):
        uvv = u * v * v
        return u + 0.16 * lu - uvv + FEED * (1 - u), v + 0.08 * lv + uvv - (FEED + KILL) * v

    def laplacian(u):
        return cp.roll(u, 1, 0) + cp.roll(u, -1, 0) + cp.roll(u, 1, 1) + cp.roll(u, -1, 1) - 4 * u

    u = cp.ones((size, size), dtype=cp.float32)
    v = cp.zeros((size, size), dtype=cp.float32)
    middle = slice(size // 2 - size // 8, size // 2 + size // 8)
    u[middle, middle] = 0.5
    v[middle, middle] = 0.25
    for _ in range(steps):
        u, v = react(u, v, laplacian(u), laplacian(v))
    return u, v


def line_by_line(size, steps):
    """The port: what changed stands at the end of the line."""

    @xp.fuse  # @cp.fuse()
    def react(u, v, lu, lv):
        uvv = u * v * v
        return u + 0.16 * lu - uvv + FEED * (1 - u), v + 0.08 * lv + uvv - (FEED + KILL) * v

    @xp.fuse  # cupy.fuse takes no roll; here it is one kernel
    def laplacian(u):
        return (
            xp.roll(u, 1, axis=0)  # cp.roll(u, 1, 0)
            + xp.roll(u, -1, axis=0)
            + xp.roll(u, 1, axis=1)
            + xp.roll(u, -1, axis=1)
            - 4 * u
        )

    u = xp.ones((size, size), dtype=xp.float32)
    v = xp.zeros((size, size), dtype=xp.float32)
    middle = slice(size // 2 - size // 8, size // 2 + size // 8)
    u = u.at[middle, middle].set(0.5)  # u[middle, middle] = 0.5
    v = v.at[middle, middle].set(0.25)  # v[middle, middle] = 0.25
    for _ in range(steps):
        u, v = react(u, v, laplacian(u), laplacian(v))
    return u, v


@jax.jit
def many_steps(u, v, steps):
    """The loop in one program; `steps` is a value, so another number does not compile again."""

    def step(_, state):
        u, v = state
        lu, lv = (
            sum(xp.roll(x, shift, axis=axis) for shift in (1, -1) for axis in (0, 1)) - 4 * x for x in (u, v)
        )
        uvv = u * v * v
        return u + 0.16 * lu - uvv + FEED * (1 - u), v + 0.08 * lv + uvv - (FEED + KILL) * v

    return jax.lax.fori_loop(0, steps, step, (u, v))


def compiled(size, steps):
    """The same with the loop inside of `jit`."""
    u, v = line_by_line(size, 0)
    return many_steps(u, v, steps)


def main(picture=None, size=128, steps=500, long=8000):
    try:
        import cupy as cp
    except ModuleNotFoundError:
        cp = np
    original, seconds = timed(lambda: in_cupy(cp, size, steps))
    print(f"{cp.__name__:>12}: {seconds:.2f} s for {steps} steps of {size} x {size}")
    differences = []
    for port in (line_by_line, compiled):
        result, seconds = timed(lambda port=port: jax.block_until_ready(port(size, steps)))
        host = [np.asarray(x.get() if hasattr(x, "get") else x) for x in original]
        differences.append(max(np.abs(np.asarray(x) - y).max() for x, y in zip(result, host, strict=True)))
        print(f"{port.__name__:>12}: {seconds:.2f} s, largest difference {differences[-1]:.1e}")
    if picture:
        draw(np.asarray(compiled(size, long)[1]), picture)
    return differences


def timed(call):
    """Return the result and the time of the second call: the first one compiles."""
    call()
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def draw(v, picture):
    figure = Figure(figsize=(5, 5), layout="constrained")
    axis = figure.subplots()
    axis.imshow(v, cmap="magma", interpolation="bilinear")
    axis.set_axis_off()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
