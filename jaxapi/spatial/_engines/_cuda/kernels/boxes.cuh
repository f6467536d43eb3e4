// The boxes of nodes, from the points in their order.
#pragma once
#include "metric.cuh"

constexpr int WHOLE = 5;  // levels above the leaves, up to which a warp has the nodes whole

// In place: `lower` and `upper` of shape (M, 2 * leaves), of empty boxes, get those of the nodes from `lowest` to
// `highest` levels above the leaves. For one warp, with a leaf for each lane, from the leaf `from` on.
DEVICE void find_boxes(const real* columns, int from, int leaf, int levels, int lowest, int highest, real* lower,
                       real* upper) {
  const int leaves = 1 << levels, lane = threadIdx.x % LANES, own = from + lane;
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
  for (int height = 0; height <= WHOLE; height++) {
    if (height) FOR(a, M) {
      low[a] = fmin(low[a], shuffle_xor(low[a], 1 << (height - 1)));
      high[a] = fmax(high[a], shuffle_xor(high[a], 1 << (height - 1)));
    }
    if (height < lowest || height > highest || own >= leaves || own % (1 << height)) continue;
    const int node = (leaves + own) >> height;
    FOR(a, M) lower[a * nodes + node] = low[a], upper[a * nodes + node] = high[a];
  }
  // A node that is larger is found by all of its warps: one lane each for those above this one.
  const int height = WHOLE + 1 + lane, node = (leaves + from) >> min(height, 31);
  if (height >= lowest && height <= highest)
    FOR(a, M) lower_to(lower + a * nodes + node, low[a]), raise_to(upper + a * nodes + node, high[a]);
}
