"""Shade a map of the Jacksboro fault from several lights: some forty array operations, fused.

The elevation model (344 x 403 heights in metres) ships with matplotlib. Run

    python examples/hillshade.py [picture.png]

`fuse` compiles the whole function, so that the heights are read and the picture written few times, on the CPU
or a GPU, whichever JAX finds.
"""

import sys
import time

import jax
import numpy as np

import jaxapi as xp

try:
    import matplotlib.cbook
    import matplotlib.colors
    import matplotlib.image
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def load_heights():
    """Return heights in metres and the distances between columns and rows, in metres."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        middle = np.radians((data["ymin"] + data["ymax"]) / 2)
        dx, dy = 111_200 * data["dx"] * np.cos(middle), 111_200 * data["dy"]
        return data["elevation"].astype("float32"), float(dx), float(dy)


def slope(heights, spacing, axis):
    """Central differences inside, one-sided ones at the edges, as numpy.gradient has them."""
    heights = xp.moveaxis(heights, axis, 0)
    inside = (heights[2:] - heights[:-2]) / (2 * spacing)
    first, last = heights[1:2] - heights[:1], heights[-1:] - heights[-2:-1]
    return xp.moveaxis(xp.concat([first / spacing, inside, last / spacing]), 0, axis)


@xp.fuse
def hillshade(heights, dx, dy, azimuth, altitude):
    """Light from ``azimuth`` (degrees clockwise from north) and ``altitude``, between 0 and 1."""
    east, north = slope(heights, dx, 1), -slope(heights, dy, 0)
    length = xp.sqrt(east * east + north * north + 1)
    around, up = xp.pi / 180 * (90 - azimuth), xp.pi / 180 * altitude
    light = xp.sin(up) - xp.cos(up) * (xp.cos(around) * east + xp.sin(around) * north)
    light = light / length
    darkest, brightest = xp.min(light), xp.max(light)
    return xp.clip((light - darkest) / (brightest - darkest), 0, 1)


@xp.fuse
def blend(heights, dx, dy, azimuths, altitude):
    """Weigh the pictures of several lights by how bright each is there."""
    shaded = jax.vmap(lambda azimuth: hillshade(heights, dx, dy, azimuth, altitude))(azimuths)
    return xp.sum(shaded * shaded, axis=0) / xp.sum(shaded, axis=0)


def median_ms(call, repeat=9):
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return sorted(times)[repeat // 2] * 1e3


def main(picture=None):
    host, dx, dy = load_heights()
    heights = xp.asarray(host)
    shaded = hillshade(heights, dx, dy, 315.0, 45.0)
    peer = matplotlib.colors.LightSource(315, 45)
    expected = peer.hillshade(host, dx=dx, dy=dy)
    difference = np.abs(np.asarray(shaded) - expected).max()
    ours = median_ms(lambda: hillshade(heights, dx, dy, 315.0, 45.0))
    theirs = median_ms(lambda: peer.hillshade(host, dx=dx, dy=dy))
    print(f"{host.shape[0]} x {host.shape[1]} heights on {heights.device}")
    print(f"one light: {ours:.3f} ms, matplotlib {theirs:.3f} ms; largest difference {difference:.1e}")
    azimuths = xp.asarray([225.0, 270.0, 315.0, 360.0])
    blended = blend(heights, dx, dy, azimuths, 35.0)
    print(f"four lights: {median_ms(lambda: blend(heights, dx, dy, azimuths, 35.0)):.3f} ms")
    print(hillshade.explain(heights, dx, dy, 315.0, 45.0))
    if picture:
        matplotlib.image.imsave(picture, np.asarray(blended), cmap="gray")
        print(f"wrote {picture}")
    return shaded, expected, blended


if __name__ == "__main__":
    main(*sys.argv[1:2])
