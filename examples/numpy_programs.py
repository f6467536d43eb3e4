"""Nine NumPy programs, run by their import line alone, each beside NumPy.

Every program takes the module that it computes with, ``np``: here `jaxapi.numpy`, with NumPy for the
check. In a program of its own that is the line ``import jaxapi.numpy as np``. Run

    python examples/numpy_programs.py [picture.png]
"""

import sys

import numpy

import jaxapi.numpy


def heat(np, size=32, steps=50):
    """Heat in a square plate, by explicit steps: the seventh of the twelve steps to Navier and Stokes."""
    u = np.ones((size, size))
    u[size // 4 : size // 2, size // 4 : size // 2] = 2
    for _ in range(steps):
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + 0.2 * (
            un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]
        )
        u[0, :] = u[-1, :] = 1
        u[:, 0] = u[:, -1] = 1
    return u


def cavity(np, size=21, steps=10, sweeps=10, rho=1.0, nu=0.1, dt=0.001):
    """A fluid in a box whose lid moves: the eleventh step."""
    d = 2 / (size - 1)
    u, v, p = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    for _ in range(steps):
        b = np.zeros((size, size))
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * d)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * d)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * d)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * d)
        b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(sweeps):
            pn = p.copy()
            p[1:-1, 1:-1] = (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]) / 4
            p[1:-1, 1:-1] -= d**2 / 4 * b[1:-1, 1:-1]
            p[:, -1], p[0, :], p[:, 0], p[-1, :] = p[:, -2], p[1, :], p[:, 1], 0
        un, vn = u.copy(), v.copy()
        for w, wn, slope in (
            (u, un, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, vn, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            here = wn[1:-1, 1:-1]
            w[1:-1, 1:-1] = (
                here
                - un[1:-1, 1:-1] * dt / d * (here - wn[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / d * (here - wn[:-2, 1:-1])
                - dt / (2 * rho * d) * slope
                + nu * dt / d**2 * (wn[1:-1, 2:] + wn[1:-1, :-2] + wn[2:, 1:-1] + wn[:-2, 1:-1] - 4 * here)
            )
        u[0, :], u[:, 0], u[:, -1], u[-1, :] = 0, 0, 0, 1
        v[0, :], v[-1, :], v[:, 0], v[:, -1] = 0, 0, 0, 0
    return np.stack([u, v, p])


def life(np, size=32, steps=20):
    """Conway's Game of Life, from a glider and an R-pentomino."""
    world = np.zeros((size, size), dtype=np.uint8)
    world[1:4, 1:4] = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]])
    world[15:18, 15:18] = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0]])
    for _ in range(steps):
        near = sum(
            np.roll(np.roll(world, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        world = ((near == 3) | ((world == 1) & (near == 2))).astype(np.uint8)
    return world


def kmeans(np, k=3, rounds=6, size=300):
    """Lloyd's algorithm; the means are added up in place."""
    angle = np.linspace(0, 40, size)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 0.3
    points += np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]])[np.arange(size) % 3]
    centres = points[:k].copy()
    for _ in range(rounds):
        nearest = np.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)
        sums = np.zeros((k, 2))
        np.add.at(sums, nearest, points)
        centres = sums / np.bincount(nearest, minlength=k)[:, None]
    return centres[np.lexsort(centres.T)]


def pagerank(np, pages=50, rounds=30, damping=0.85):
    """The rank of pages that link to one another."""
    links = np.zeros((pages, pages))
    source = np.repeat(np.arange(pages), 4)
    links[(source * 7 + np.tile(np.array([1, 3, 5, 11]), pages) ** 2) % pages, source] = 1
    links /= links.sum(axis=0, keepdims=True)
    rank = np.full(pages, 1 / pages)
    for _ in range(rounds):
        rank = damping * links.dot(rank) + (1 - damping) / pages
    return rank


def mandelbrot(np, size=40, rounds=20):
    """How long points of a plane stay near, with the ones that left masked."""
    y, x = np.ogrid[-1.2 : 1.2 : size * 1j, -2 : 0.6 : size * 1j]
    c = x + 1j * y
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=int)
    for _ in range(rounds):
        near = np.abs(z) <= 2
        z[near] = z[near] ** 2 + c[near]
        count[near] += 1
    return count


def deblur(np, size=48, noise=1e-3):
    """A picture blurred, and restored by Wiener's filter."""
    y, x = np.indices((size, size))
    picture = ((x // 8 + y // 8) % 2).astype(float)
    kernel = np.exp(-((x - size // 2) ** 2 + (y - size // 2) ** 2) / 4.0)
    transfer = np.fft.fft2(np.fft.ifftshift(kernel / kernel.sum()))
    blurred = np.fft.ifft2(np.fft.fft2(picture) * transfer).real
    restored = np.fft.fft2(blurred) * np.conj(transfer) / (np.abs(transfer) ** 2 + noise)
    return np.fft.ifft2(restored).real


def particle_filter(np, particles=2000, steps=20):
    """The place of a walker, followed by weighted guesses."""
    rng = np.random.default_rng(3)
    truth, errors = 0.0, []
    guesses = rng.normal(0, 1, particles)
    for step in range(steps):
        truth += 0.5
        seen = truth + 0.3 * (-1) ** step
        guesses += 0.5 + rng.normal(0, 0.2, particles)
        weights = np.exp(-((guesses - seen) ** 2) / 0.5)
        weights /= weights.sum()
        guesses = guesses[np.searchsorted(np.cumsum(weights), rng.random(particles) * 0.999)]
        errors.append(float(guesses.mean()) - truth)
    return np.array(errors)


def black_scholes(np, paths=40_000, steps=8, spot=100.0, strike=105.0, rate=0.03, sigma=0.2):
    """The price of a call option, by simulated paths."""
    rng = np.random.default_rng(5)
    log_price = np.full(paths, np.log(spot))
    for _ in range(steps):
        log_price += (rate - sigma**2 / 2) / steps + sigma * np.sqrt(1 / steps) * rng.standard_normal(paths)
    gain = np.maximum(np.exp(log_price) - strike, 0)
    return np.exp(-rate) * gain.mean()


# The largest difference from NumPy's result that rounding, or other random numbers, explain.
PROGRAMS = {
    heat: 1e-5,
    cavity: 2e-4,
    life: 0,
    kmeans: 1e-5,
    pagerank: 1e-6,
    mandelbrot: 0,
    deblur: 2e-2,
    particle_filter: 0.2,
    black_scholes: 0.5,
}


def main(picture=None):
    """Run each program with both; return the largest differences and what is allowed."""
    differences, drawn = {}, {}
    for program, allowed in PROGRAMS.items():
        ours, theirs = program(jaxapi.numpy), program(numpy)
        assert isinstance(ours, (jaxapi.numpy.ndarray, numpy.generic))  # a scalar is NumPy's on the CPU
        largest = float(numpy.abs(numpy.asarray(ours, dtype=float) - theirs).max())
        differences[program.__name__] = largest, allowed
        drawn[program.__name__] = numpy.asarray(ours)
        print(f"{program.__name__:16} differs from NumPy's by {largest:.1e} at most")
    if picture:
        draw({name: drawn[name] for name in ("heat", "life", "mandelbrot", "deblur")}, picture)
    return differences


def draw(results, picture):
    """Draw the results that are pictures."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    for axis, (name, values) in zip(figure.subplots(2, 2).flat, results.items(), strict=True):
        axis.imshow(values)
        axis.set(title=name, xticks=[], yticks=[])
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
