// The boxes of nodes, from the points in their order.
#pragma once
#include "metric.cuh"

// In place: `lower` and `upper` of shape (M, 2 * leaves), of empty boxes, get those of the nodes from `lowest` to
// `highest` levels above the leaves. For one warp, with a leaf for each lane, from the leaf `from` on.
DEVICE void find_boxes(const real* columns, int from, int leaf, int levels, int lowest, int highest, real* lower,
                       real* upper) {
  const int leaves = 1 << levels, own = from + threadIdx.x % LANES;
  const long long slots = (long long)leaf << levels, nodes = 2ll << levels;
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
