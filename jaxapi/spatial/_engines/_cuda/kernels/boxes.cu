// Find the boxes of all nodes of the points in their order.
#include "boxes.cuh"

// `columns` of shape (M, slots); in place `lower` and `upper` of shape (M, 2 * leaves), of empty boxes.
KERNEL(128, 1)
boxes(const real* columns, const int* sizes, const real*, const real*, real* lower, real* upper) {
  const int leaf = sizes[0], levels = sizes[1], from = (blockIdx.x * 128 + threadIdx.x) & -LANES;
  if (from < 1 << levels) find_boxes(columns, from, leaf, levels, 0, levels, lower, upper);
}
