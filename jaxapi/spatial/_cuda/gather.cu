// Bring the points into an order, and find the boxes of the nodes that it makes.
#include "metric.cuh"

constexpr int THREADS = 128;  // a block, which has as many leaves as a warp has lanes

// `points` of shape (lines, M), in the user's units, of which the first `*n` count; a point that is not finite is
// no point. Of the order, what is not below `*n` is a slot without a point, and becomes `*n`. `columns` of shape
// (M, slots). In place: `lower` and `upper` of shape (M, 2 * leaves), of empty boxes, get those of the nodes from
// `lowest` to `highest` levels above the leaves.
KERNEL(THREADS, 1)
gather(const real* points, const int* n, const real* scale, const int* order, const int* sizes, const real*,
       const real*, real* columns, int* rows, real* lower, real* upper) {
  const int leaf = sizes[0], levels = sizes[1], lowest = sizes[2], highest = sizes[3];
  const int leaves = 1 << levels, count = *n;
  const long long slots = (long long)leaf << levels, nodes = 2ll << levels;
  const long long first = (long long)blockIdx.x * LANES * leaf, end = min(first + LANES * leaf, slots);
  const real unit = *scale;

#pragma unroll 4
  for (long long slot = first + threadIdx.x; slot < end; slot += THREADS) {
    const int row = order[slot];
    real x[M];
    bool finite = row < count;
    FOR(a, M) {
      x[a] = row < count ? points[(long long)row * M + a] : real(0);
      finite &= fabs(x[a]) < INFINITE;
    }
    FOR(a, M) columns[a * slots + slot] = finite ? x[a] * unit : INFINITE;
    rows[slot] = finite ? row : count;
  }
  block_barrier();
  if (highest < 0 || threadIdx.x >= LANES) return;

  const int own = blockIdx.x * LANES + threadIdx.x;  // a leaf for each lane
  real low[M], high[M];
  FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
  if (own < leaves) for (int i = 0; i < leaf; i += WORDS) FOR(a, M) {
    const Vector x = *reinterpret_cast<const Vector*>(columns + a * slots + (long long)own * leaf + i);
    FOR(word, WORDS) {
      low[a] = fmin(low[a], x.word[word]);
      high[a] = fmax(high[a], x.word[word] < INFINITE ? x.word[word] : -INFINITE);
    }
  }
  for (int height = 0; height <= highest; height++) {
    const bool within = height <= 5;  // the warp has the whole node; one higher up is found by all of its warps
    if (height && within) FOR(a, M) {
      low[a] = fmin(low[a], shuffle_xor(low[a], 1 << (height - 1)));
      high[a] = fmax(high[a], shuffle_xor(high[a], 1 << (height - 1)));
    }
    if (height < lowest || own >= leaves || own % (within ? 1 << height : LANES)) continue;
    const int node = (leaves + own) >> height;
    FOR(a, M) {
      real *const least = lower + a * nodes + node, *const greatest = upper + a * nodes + node;
      if (within) *least = low[a], *greatest = high[a];
      else lower_to(least, low[a]), raise_to(greatest, high[a]);
    }
  }
}
