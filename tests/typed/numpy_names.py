from typing import assert_type

import jaxapi.numpy as np

x = np.zeros((2, 3), dtype=np.float32)
x[0] = 1
assert_type(np.concatenate([x, x], 1), np.ndarray)
assert_type(np.median(x, axis=0), np.ndarray)
assert_type(np.linalg.inv(np.eye(2)), np.ndarray)
assert_type(np.fft.fft(x), np.ndarray)

# ufuncs
assert_type(np.sin(x), np.ndarray)
assert_type(np.add(x, [1.0, 2.0, 3.0], out=x), np.ndarray)
assert_type(np.add.reduce(x, axis=(0, 1), keepdims=True), np.ndarray)
assert_type(np.maximum.accumulate(x, 1), np.ndarray)
assert_type(np.add.reduceat(x, [0, 1], axis=1), np.ndarray)
assert_type(np.subtract.outer(1.0, x), np.ndarray)
whole, rest = np.divmod(x, 2)
np.arccos.reduce(x)
np.add.at(x, (0, 1), 1)
np.add.at([1, 2], 0, 1)  # type: ignore[arg-type]
np.add.reduce(x, axis="rows")  # type: ignore[arg-type]
np.sin("a")  # text is a sequence of text to a type checker

# random numbers
assert_type(np.random.normal(0, 1, size=3), np.ndarray)
assert_type(np.random.RandomState(0).weibull(1.0), np.ndarray)
generator = np.random.default_rng(0)
assert_type(generator, np.random.Generator)
assert_type(generator.random(3), np.ndarray)
assert_type(generator.integers(0, 10, size=3), np.ndarray)
assert_type(generator.choice(x, 2), np.ndarray)
assert_type(generator.permutation(10), np.ndarray)
assert_type(generator.spawn(2), list[np.random.Generator])
assert_type(generator.shuffle(x), None)
np.random.Generator(0).weibull()  # type: ignore[call-arg]

assert_type(x.T.ravel() + 1, np.ndarray)
np.fill_diagonal(x, 2)
np.matrix([[1]])  # type: ignore[attr-defined]


@np.fuse
def double(y: np.ndarray) -> np.ndarray:
    return 2 * y


assert_type(double(x), np.ndarray)
