"""The colours of a photo: HDBSCAN of its pixels.

The pixels of Matplotlib's sample photo are points in the Oklab space of colours, where distances are as the
eye sees them (B. Ottosson, A perceptual color space for image processing, 2020). HDBSCAN finds the colours
that many of them share, of even areas and of shaded ones, and leaves the rest as noise (R. Campello et al.,
Hierarchical density estimates for data clustering, 2015). Run

    python examples/colours.py [picture.png]
"""

import sys

import numpy as np

from jaxapi.spatial import KDTree

try:
    from matplotlib import cbook, image
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

TO_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
TO_LMS += [[0.0883024619, 0.2817188376, 0.6299787005]]
TO_LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
TO_LAB += [[0.0259040371, 0.7827717662, -0.8086757660]]


def oklab(rgb):
    """Return the Oklab coordinates of sRGB colours from 0 to 255."""
    rgb = rgb / 255
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    return np.cbrt(linear @ np.transpose(TO_LMS)) @ np.transpose(TO_LAB)


def main(picture=None, pixels=12_000):
    photo = image.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)).astype(float)
    rng = np.random.default_rng(0)
    colours = photo.reshape(-1, 3)
    colours = colours[rng.choice(len(colours), pixels, replace=False)]
    points = oklab(colours + rng.random(colours.shape) - 0.5)  # the photo's 256 levels made continuous
    labels, firmness = KDTree(points).hdbscan(pixels // 100, min_samples=10)
    labels, firmness = np.asarray(labels), np.asarray(firmness)
    names = range(labels.max() + 1)
    palette = np.array(
        [np.average(colours[labels == i], axis=0, weights=firmness[labels == i]) for i in names]
    )
    shares = np.bincount(labels[labels >= 0]) / pixels
    print(f"{pixels} pixels, {len(palette)} colours, {np.mean(labels < 0):.0%} in none")
    for i in np.argsort(-shares):
        red, green, blue = palette[i].round().astype(int)
        print(f"  {shares[i]:4.0%} of #{red:02x}{green:02x}{blue:02x}")
    if picture:
        draw(photo, points, labels, palette, picture)
    return shares, palette


def draw(photo, points, labels, palette, picture):
    figure = Figure(figsize=(10, 5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
    left.imshow(photo / 255)
    left.axis("off")
    noise = labels < 0
    right.plot(*points[noise][:, [1, 0]].T, ",", color="#c8ccd0")
    right.scatter(*points[~noise][:, [1, 0]].T, c=palette[labels[~noise]] / 255, s=2)
    right.set(xlabel="green to red (Oklab's a)", ylabel="lightness")
    right.set_title(f"{len(palette)} colours that many pixels share")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
