// Bring queries, their bounds and their leaves into an order.
#include "metric.cuh"

// `queries` of shape (count, M), in the user's units; `columns` of shape (M, count), scaled; `slots` has ~leaf of each.
KERNEL(128, 1)
lined(const real* queries, const real* bounds, const real* scale, const int* order, const int* leaves, const int* sizes,
      real* columns, real* ordered_bounds, int* slots) {
  const int count = sizes[0];
  const long long place = (long long)blockIdx.x * 128 + threadIdx.x;
  if (place >= count) return;
  const long long own = order[place];
  FOR(a, M) columns[a * (long long)count + place] = queries[own * M + a] * *scale;
  ordered_bounds[place] = bounds[own];
  slots[place] = ~leaves[own];
}
