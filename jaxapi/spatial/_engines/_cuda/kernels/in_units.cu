// Scaled power distances to distances in the user's units, rounded as a search rounds them that has its own to do.
#include "metric.cuh"

// `powers` and `found` of shape (lines, columns).
KERNEL(128, 1)
in_units(const real* powers, const real* scale, const int* sizes, real* found) {
  const long long count = (long long)sizes[0] * sizes[1];
  const long long place = (long long)blockIdx.x * 128 + threadIdx.x;
  if (place < count) found[place] = root(powers[place]) * (1 / *scale);  // exact: a power of two
}
