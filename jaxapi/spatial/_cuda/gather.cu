// Bring the points into an order, and find the boxes of the nodes that it makes.
//
// A thread has a leaf, so that a warp has whole nodes of up to five levels above the leaves. Nodes higher up are
// found by all of their warps together.
#include "metric.cuh"

// `points` of shape (lines, M), in the user's units, of which the first `*n` count; a point that is not finite is
// no point. Of the order, what is not below `*n` is a slot without a point, and becomes `*n`. `columns` of shape
// (M, slots). In place: `lower` and `upper` of shape (M, 2 * leaves), of empty boxes, get those of the nodes from
// `lowest` to `highest` levels above the leaves.
KERNEL(128, 1)
gather(const real* points, const int* n, const real* scale, const int* order, const int* sizes, const real*,
       const real*, real* columns, int* rows, real* lower, real* upper) {
  const int leaf = sizes[0], levels = sizes[1], lowest = sizes[2], highest = sizes[3];
  const int leaves = 1 << levels, count = *n;
  const int own = blockIdx.x * 128 + threadIdx.x;
  const long long slots = (long long)leaf << levels, nodes = 2ll << levels;
  const real unit = *scale;
  struct alignas(16) Four { int row[4]; };

  real low[M], high[M];
  FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
  if (own < leaves) for (int i = 0; i < leaf; i += 4) {
    const long long slot = (long long)own * leaf + i;
    Four four = *reinterpret_cast<const Four*>(order + slot);
    real x[4][M];
    FOR(j, 4) {
      const bool there = four.row[j] < count;
      const long long row = there ? four.row[j] : 0;
      bool finite = there;
      FOR(a, M) {
        x[j][a] = there ? points[row * M + a] : real(0);
        finite &= fabs(x[j][a]) < INFINITE;
      }
      FOR(a, M) {
        x[j][a] = finite ? x[j][a] * unit : INFINITE;
        low[a] = fmin(low[a], x[j][a]);
        high[a] = fmax(high[a], finite ? x[j][a] : -INFINITE);
      }
      four.row[j] = finite ? four.row[j] : count;
    }
    *reinterpret_cast<Four*>(rows + slot) = four;
    FOR(a, M) FOR(j, 4 / WORDS) {
      Vector vector;
      FOR(word, WORDS) vector.word[word] = x[j * WORDS + word][a];
      *reinterpret_cast<Vector*>(columns + a * slots + slot + j * WORDS) = vector;
    }
  }

  for (int height = 0; height <= highest; height++) {
    const bool within = height <= 5;  // a warp's leaves have the whole node
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
