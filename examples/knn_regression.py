"""Learn which features count: k-nearest-neighbour regression, its metric found by gradient descent.

Friedman's function of ten features, of which five do nothing (J. Friedman, Multivariate adaptive
regression splines, 1991). The prediction for a point is the mean of its neighbours' values, weighted by
their distances; the features' scales change those distances, and `jax.grad` goes through the KD-tree to
them. Run

    python examples/knn_regression.py [picture.png]
"""

import sys
from functools import partial

import jax
import numpy as np

import jaxapi as xp

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

FEATURES = 10


def friedman(n, rng):
    """Return features (n, 10) and values (n,) with noise of variance 1."""
    x = rng.random((n, FEATURES))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x.astype("float32"), (y + rng.normal(0, 1, n)).astype("float32")


def predict(scales, train, values, x, k, skip=0):
    """Return the weighted means of `k` neighbours' values; `skip=1` leaves each training point itself out."""
    distances, rows = xp.spatial.KDTree(train * scales).query(x * scales, k=k + skip)
    distances, rows = distances[:, skip:], rows[:, skip:]
    weights = jax.nn.softmax(-(distances**2), axis=1)
    return xp.sum(weights * values[rows], axis=1)


def error(scales, train, values, k):
    """Return the mean squared error on the training points, each predicted from the others."""
    return xp.mean((predict(scales, train, values, train, k, skip=1) - values) ** 2)


@partial(jax.jit, static_argnames=("k", "steps"))
def learn(scales, train, values, *, k, steps, rate=0.1, momentum=0.9):
    """Descend the gradient; return the last scales, and the scales and errors on the way."""

    def step(state, _):
        scales, speed = state
        loss, slope = jax.value_and_grad(error)(scales, train, values, k)
        speed = momentum * speed - rate * slope
        return (scales + speed, speed), (scales, loss)

    (scales, _), history = jax.lax.scan(step, (scales, xp.zeros_like(scales)), None, steps)
    return scales, *history


def main(picture=None, n=600, k=12, steps=60):
    rng = np.random.default_rng(0)
    train, values = map(xp.asarray, friedman(n, rng))
    x, y = friedman(n, rng)
    start = xp.full((FEATURES,), 2.0)
    scales, history, losses = learn(start, train, values, k=k, steps=steps)
    before, after = (float(xp.mean((predict(s, train, values, x, k) - y) ** 2)) for s in (start, scales))
    print(f"{n} points, {k} neighbours, {steps} steps")
    print(f"mean squared error on {n} new points, equal scales: {before:.2f}, learned scales: {after:.2f}")
    print("scales:", " ".join(f"{abs(scale):.2f}" for scale in scales))
    if picture:
        draw(np.abs(history), np.asarray(losses), picture)
    return before, after, np.abs(scales)


def draw(history, losses, picture):
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(losses)
    left.set(xlabel="step", ylabel="mean squared error, leaving one out")
    for feature, scale in enumerate(history.T, 1):
        useful = feature <= 5
        right.plot(
            scale, color=f"C{feature - 1}" if useful else "#c8ccd0", label=f"x{feature}" if useful else None
        )
    right.set(xlabel="step", ylabel="scale of a feature (grey: those that do nothing)")
    right.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
