from typing import assert_type

import numpy

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
tree = xp.spatial.KDTree([[0.0], [1.0]], engine="lax")
assert_type(tree.sparse_distance_matrix(tree, 1.0, output_type="dict"), dict[tuple[int, int], float])
assert_type(tree.sparse_distance_matrix(tree, 1.0, output_type="ndarray"), numpy.ndarray)
assert_type(xp.spatial.distance.cdist([[0.0]], x, "cityblock"), xp.Array)
xp.spatial.distance.pdist([[0.0]], "manhattan")  # type: ignore[arg-type]
xp.spatial.KDTree([[0.0]], engine="cuda")  # type: ignore[arg-type]
y = xp.zeros(3).foo  # type: ignore[attr-defined]
xp.arccos(x)  # type: ignore[attr-defined]


@xp.fuse
def add_scaled(y: xp.Array, a: float) -> xp.Array:
    y += a
    return y


@xp.fuse(kernel_name="double")
def double(y: xp.Array) -> xp.Array:
    return y * 2


def loss(y: xp.Array) -> xp.Array:
    return xp.sum(y)


assert_type(add_scaled(x, 2.0), xp.Array)
assert_type(double(x), xp.Array)
assert_type(xp.value_and_grad(loss)(x)[0], xp.Array)
xp.grad(loss)(x)
xp.grad(loss)("x")  # type: ignore[arg-type]
add_scaled(x, "2")  # type: ignore[arg-type]
assert_type(x.ravel(), xp.Array)
assert_type(x.sort(), None)
