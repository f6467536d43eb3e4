"""One picture through three libraries on one GPU, without a copy: CuPy, jaxapi, PyTorch.

A slice of a head from an MRI scanner (256 x 256, ships with matplotlib) is denoised by CuPy, its contrast is
set by a fused function, and PyTorch finds edges. Run

    python examples/cupy_to_pytorch.py [picture.png]

It prints the address of the memory that each uses: a handover keeps it. Where there is no GPU with CuPy and
PyTorch, NumPy and SciPy take CuPy's place on the CPU (and PyTorch's, where it is missing). NumPy's memory
starts at a multiple of 16 bytes and JAX needs 64, so the first handover may copy there; the second does not.
"""

import gzip
import importlib.util
import sys

import jax
import numpy as np

import jaxapi as xp

try:
    import matplotlib.cbook
    import matplotlib.image
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def load_slice():
    with open(matplotlib.cbook.get_sample_data("s1045.ima.gz", asfileobj=False), "rb") as file:
        data = file.read()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return np.frombuffer(data, "uint16").reshape(256, 256).astype("float32")


@xp.fuse
def contrast(picture, gamma):
    """Stretch from the mean of what is dark to three deviations above the mean; bend by ``gamma``."""
    mean, deviation = xp.mean(picture), xp.std(picture)
    dark = xp.where(picture < mean, picture, 0)
    low = xp.sum(dark) / xp.sum(xp.where(picture < mean, 1.0, 0.0))
    return xp.clip((picture - low) / (mean + 3 * deviation - low), 0, 1) ** gamma


def address(array):
    """Return where any library's array begins."""
    if hasattr(array, "unsafe_buffer_pointer"):
        return array.unsafe_buffer_pointer()
    if hasattr(array, "data_ptr"):
        return array.data_ptr()
    return array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data


def on_gpu():
    if not any(device.platform == "gpu" for device in jax.devices()):
        return False
    if not (importlib.util.find_spec("cupy") and importlib.util.find_spec("torch")):
        return False
    import torch

    return torch.cuda.is_available()


def denoise(picture, gpu):
    """Return the median of each 3 x 3 pixels: CuPy's array on the GPU, NumPy's elsewhere."""
    if gpu:
        import cupy
        from cupyx.scipy.ndimage import median_filter

        return median_filter(cupy.asarray(picture), 3)
    from scipy.ndimage import median_filter

    return median_filter(picture, 3)


def edges(picture):
    """Return the size of the gradient by PyTorch, or by NumPy."""
    if importlib.util.find_spec("torch") is None:
        taken = np.from_dlpack(picture)
        rows, columns = np.gradient(taken)
        return taken, np.hypot(rows, columns)
    import torch

    taken = torch.from_dlpack(picture)
    rows, columns = torch.gradient(taken)
    return taken, torch.hypot(rows, columns)


def main(picture=None):
    gpu = on_gpu()
    denoised = denoise(load_slice(), gpu)
    taken = xp.from_dlpack(denoised)
    stretched = contrast(taken, 0.7)
    received, found = edges(stretched)
    print("on the GPU" if gpu else "no GPU with CuPy and PyTorch here: on the CPU")
    for giver, given, taker, got in (
        (type(denoised).__module__, denoised, "jaxapi", taken),
        ("jaxapi", stretched, type(received).__module__, received),
    ):
        shared = "shared" if address(given) == address(got) else "copied"
        print(f"{giver:7} {address(given):#x} -> {taker:7} {address(got):#x}: {shared}")
    print(f"strongest edge {float(found.max()):.3f}, mean {float(found.mean()):.4f}")
    if picture:
        panels = [denoised / denoised.max(), stretched, found / found.max()]
        matplotlib.image.imsave(picture, np.concatenate([host(x) for x in panels], axis=1), cmap="gray")
    return denoised, taken, stretched, received, found


def host(array):
    """Return a NumPy array of any library's."""
    for name in ("get", "cpu"):
        array = getattr(array, name)() if hasattr(array, name) else array
    return np.asarray(array)


if __name__ == "__main__":
    main(*sys.argv[1:2])
