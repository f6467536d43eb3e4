"""Match two catalogues of stars on the sphere: the nearest within a second of arc, and mutual.

Two simulated surveys of one field: the second one sees 80 % of the first one's stars, each displaced by
its measurement error, and as many stars again of its own. Directions become unit vectors, whose chords
order as the angles do, so one KD-tree finds the neighbours at the poles and across 0 degrees too. Run

    python examples/crossmatch.py [picture.png]
"""

import sys

import numpy as np

import jaxapi as xp

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

ARCSECOND = np.pi / 180 / 3600
ERROR = 0.15  # standard deviation of a position along each axis, in seconds of arc
RADIUS = 1.0  # seconds of arc


def surveys(stars, rng):
    """Return both catalogues, and for each star of the second its row in the first, or -1."""
    field = np.radians(1.5)
    latitude = np.pi / 2 - field * np.sqrt(rng.random(2 * stars))  # a cap around the pole
    longitude = 2 * np.pi * rng.random(2 * stars)
    truth = np.asarray(xp.spatial.unit_vectors(np.stack([latitude, longitude], axis=1)))  # float64
    first = truth[:stars] + rng.normal(0, ERROR * ARCSECOND, (stars, 3))
    seen = rng.permutation(stars)[: int(0.8 * stars)]
    rows = np.concatenate([seen, np.full(stars, -1)])
    second = truth[np.concatenate([seen, np.arange(stars, 2 * stars)])]
    second = second + rng.normal(0, ERROR * ARCSECOND, second.shape)
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    return *unit, rows


def match(first, second):
    """Return, for each of `second`, the row of its mutual nearest in `first` or -1, and the angle."""
    chord = float(xp.spatial.chord_length(RADIUS * ARCSECOND))
    one, other = xp.spatial.KDTree(first), xp.spatial.KDTree(second)
    distances, rows = one.query(second, distance_upper_bound=chord)  # row n: none within the radius
    _, back = other.query(first)
    mutual = (rows < one.n) & (back[rows] == xp.arange(other.n))
    angles = xp.spatial.great_circle_distance(distances) / ARCSECOND
    return np.where(mutual, rows, -1), np.where(mutual, angles, np.inf)


def main(picture=None, stars=50_000):
    first, second, truth = surveys(stars, np.random.default_rng(0))
    rows, angles = match(first, second)
    right = (rows == truth) & (rows >= 0)
    completeness, purity = right.sum() / (truth >= 0).sum(), right.sum() / (rows >= 0).sum()
    print(f"{stars} and {len(second)} stars, {(rows >= 0).sum()} matches within {RADIUS} seconds of arc")
    print(f"found {completeness:.2%} of the common stars; {purity:.2%} of the matches are right")
    if picture:
        draw(angles, right, picture)
    return completeness, purity


def draw(angles, right, picture):
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    bins = np.linspace(0, RADIUS, 60)
    axis.hist(angles[right], bins, color="#1f6fb4", label="the same star")
    axis.hist(angles[~right & np.isfinite(angles)], bins, color="#e07b00", label="another star")
    sigma = ERROR * np.sqrt(2)  # both catalogues err
    curve = bins / sigma**2 * np.exp(-(bins**2) / (2 * sigma**2)) * right.sum() * (bins[1] - bins[0])
    axis.plot(bins, curve, "k--", label="Rayleigh distribution of the errors")
    axis.set(xlabel="separation (seconds of arc)", ylabel="matches", yscale="log", ylim=(0.5, None))
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
