from typing import assert_type

import jaxapi.mutable as xp

x = xp.zeros(3, dtype=xp.float32)
x[0] = 1
x += 1
assert_type(x + 2, xp.Array)
assert_type(2 * x, xp.Array)
assert_type(x == 2, xp.Array)
assert_type(-x, xp.Array)
assert_type(x.sum(0), xp.Array)
assert_type(xp.sin(x), xp.Array)
assert_type(xp.add(x, 1.0, out=x), xp.Array)
assert_type(xp.linalg.inv(xp.eye(2)), xp.Array)
assert_type(xp.fft.fft(x), xp.Array)
assert_type(x[1:], xp.Array)
assert_type(xp.spatial.KDTree(xp.ones((2, 2))).query(xp.ones(2)), tuple[xp.Array, xp.Array])
y = xp.zeros(3).foo  # type: ignore[attr-defined]
xp.arccos(x)  # type: ignore[attr-defined]
