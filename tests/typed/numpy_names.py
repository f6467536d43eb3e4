from typing import assert_type

import jaxapi.numpy as np

x = np.zeros((2, 3), dtype=np.float32)
x[0] = 1
assert_type(np.concatenate([x, x], 1), np.ndarray)
assert_type(np.median(x, axis=0), np.ndarray)
assert_type(np.linalg.inv(np.eye(2)), np.ndarray)
assert_type(np.fft.fft(x), np.ndarray)
assert_type(np.random.normal(0, 1, size=3), np.ndarray)
assert_type(np.random.RandomState(0).weibull(1.0), np.ndarray)
np.random.Generator(0).weibull()  # type: ignore[call-arg]
np.arccos.reduce(x)
assert_type(x.T.ravel() + 1, np.ndarray)
np.add.at(x, (0, 1), 1)
np.fill_diagonal(x, 2)
np.matrix([[1]])  # type: ignore[attr-defined]


@np.fuse
def double(y: np.ndarray) -> np.ndarray:
    return 2 * y


assert_type(double(x), np.ndarray)
