// The order of queries: a key for each, of the leaf that it falls in and, below that, its place on a Morton
// curve through the leaf's cell. A cell is the part of the queries' own box that the splits leave to a leaf:
// far from all points many queries share one.
#include "metric.cuh"

struct alignas(2 * sizeof(real)) Plane { real at, axis; };

// The number of the part of [low, high] that x is in, of 2**bits.
DEVICE int place(real x, real low, real high, int bits) {
  const real half = high / 2 - low / 2;
  const real part = (x / 2 - low / 2) / (half > 0 ? half : real(1)) * (1 << bits);
  return min(max(int(part), 0), (1 << bits) - 1);
}

// `least` and `greatest` of shape (M,): the coordinates of the queries, in their own units.
KERNEL(128, 1)
order(const Plane* splits, const real* scale, const real* least, const real* greatest, const real* queries,
      const int* sizes, int* keys) {
  const int count = sizes[0], levels = sizes[1], bits = sizes[2], curve_axes = sizes[3];
  const long long own = (long long)blockIdx.x * 128 + threadIdx.x;
  if (own >= count) return;
  real x[M], low[M], high[M];
  bool finite = true;
  FOR(a, M) {
    x[a] = queries[own * M + a] * *scale;
    finite &= fabs(x[a]) < INFINITE;
    low[a] = least[a] * *scale;
    high[a] = greatest[a] * *scale;
  }
  FOR(a, M) x[a] = finite ? x[a] : real(0);
  int node = 1;
  for (int level = 0; level < levels; level++) {
    const Plane plane = splits[node];
    const real split = plane.at;
    const bool turned = plane.axis < 0;  // the first child is the upper one
    const int axis = turned ? -1 - int(plane.axis) : int(plane.axis);
    bool above = x[0] > split;
    FOR(a, M) if (a == axis) above = x[a] > split;
    FOR(a, M) if (a == axis && split > low[a] && split < high[a]) {
      if (above) low[a] = split;
      else high[a] = split;
    }
    node = 2 * node + (above != turned);
  }
  int key = node - (1 << levels), places[M];
  FOR(a, M) places[a] = place(x[a], low[a], high[a], bits);
  for (int bit = bits; bit-- > 0;) FOR(a, M) if (a < curve_axes) key = key << 1 | (places[a] >> bit & 1);
  keys[own] = key;
}
