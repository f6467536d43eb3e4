"""Small NumPy arrays of all dtypes for property tests."""

import math

import jax
import numpy as np
from hypothesis import strategies as st

__all__ = ["ALL", "COMPLEX", "FLOATS", "INTS", "SHAPES", "arrays", "axis_of", "default_int"]

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTS, *FLOATS, *COMPLEX]
SHAPES = [(), (4,), (2, 3), (0,), (2, 0, 3), (1, 3, 2)]


@st.composite
def arrays(draw, dtypes=ALL, shapes=SHAPES):
    """Draw a small NumPy array: of few shapes, so that few programs are compiled."""
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(st.sampled_from(shapes))
    if dtype.kind == "b":
        values = st.booleans()
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = st.integers(int(info.min), int(info.max)) | st.integers(0, 3)
    else:
        values = st.sampled_from([-np.inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, np.nan])
        if dtype.kind == "c":
            values = st.builds(complex, values, values)
    size = math.prod(shape)
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype).reshape(shape)


def axis_of(data, x, several=False):
    axes = st.none()
    if x.ndim:
        axes |= st.integers(-x.ndim, x.ndim - 1)
    if several and x.ndim > 1:
        axes |= st.just((0, -1))
    return data.draw(axes, label="axis")


def default_int():
    return "int64" if jax.config.jax_enable_x64 else "int32"
