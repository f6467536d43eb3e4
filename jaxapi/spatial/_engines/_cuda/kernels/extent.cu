// The least and the greatest coordinates of those lines that are finite.
#include "metric.cuh"

// `x` of shape (lines, M), of which the first `*count` count; in place `box` of shape (2, M), from an empty one on.
KERNEL(128, 1)
extent(const real* x, const int* count, const int* sizes, const real*, real* box) {
  const long long stride = sizes[0];  // threads in all
  real low[M], high[M];
  FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
  for (long long line = (long long)blockIdx.x * 128 + threadIdx.x; line < *count; line += stride) {
    real here[M];
    bool finite = true;
    FOR(a, M) {
      here[a] = x[line * M + a];
      finite &= fabs(here[a]) < INFINITE;
    }
    if (finite) FOR(a, M) low[a] = fmin(low[a], here[a]), high[a] = fmax(high[a], here[a]);
  }
  for (int by = LANES / 2; by; by /= 2)
    FOR(a, M) {
      low[a] = fmin(low[a], shuffle_xor(low[a], by));
      high[a] = fmax(high[a], shuffle_xor(high[a], by));
    }
  if (threadIdx.x % LANES == 0) FOR(a, M) lower_to(box + a, low[a]), raise_to(box + M + a, high[a]);
}
