// Bring the points into an order, and find the boxes of the nodes that it makes.
#include "boxes.cuh"
#include "fetch.cuh"

constexpr int THREADS = 128;  // a block, which has as many leaves as a warp has lanes

// `points` of shape (lines, M), in the user's units, of which the first `*n` count. Of the order, what is not below
// `*n` is a slot without a point. `columns` of shape (M, slots). In place: `lower` and `upper` of shape (M, 2 * leaves),
// of empty boxes, get those of the nodes that so many splits, `done`, have made.
KERNEL(THREADS, 1)
gather(const real* points, const int* n, const real* scale, const int* order, const int* sizes, const real*,
       const real*, real* columns, real* lower, real* upper) {
  const int leaf = sizes[0], levels = sizes[1], height = levels - sizes[2], count = *n;
  const long long slots = (long long)leaf << levels;
  const long long first = (long long)blockIdx.x * LANES * leaf, end = min(first + LANES * leaf, slots);
  const real unit = *scale;

#pragma unroll 4
  for (long long slot = first + threadIdx.x; slot < end; slot += THREADS) {
    real x[M];
    fetch(points, order[slot], count, unit, x);
    FOR(a, M) columns[a * slots + slot] = x[a];
  }
  block_barrier();
  if (threadIdx.x < LANES) find_boxes(columns, blockIdx.x * LANES, leaf, levels, height, height, lower, upper);
}
