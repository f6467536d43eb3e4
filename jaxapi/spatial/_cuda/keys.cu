// What sorts the points of each node along its widest side.
#include "metric.cuh"

// `columns` of shape (M, slots); `lower` and `upper` of shape (M, 2 * leaves), of which the nodes are read that so
// many splits, `done`, have made. A key has the node's number, and the place along its side in `bits`.
KERNEL(128, 1)
keys(const real* columns, const real* lower, const real* upper, const int* sizes, unsigned* keys) {
  const int leaf = sizes[0], levels = sizes[1], done = sizes[2], bits = sizes[3];
  const long long slots = (long long)leaf << levels, nodes = 2ll << levels;
  const long long slot = (long long)blockIdx.x * 128 + threadIdx.x;
  if (slot >= slots) return;
  const unsigned node = unsigned(slot) / unsigned(slots >> done);
  const long long at = node + (1ll << done);
  int widest = 0;
  real start = 0, size = -1;
  FOR(a, M) {
    const real least = lower[a * nodes + at], greatest = upper[a * nodes + at];
    const real width = least < greatest ? greatest - least : real(0);
    if (width > size) widest = a, start = least, size = width;
  }
  const unsigned top = (1u << bits) - 1;  // the code of a slot without a point, so that such slots come last
  const real along = columns[widest * slots + slot];
  const real fraction = (along - start) / (size > 0 ? size : real(1));
  const unsigned code = along < INFINITE ? unsigned(fmin(fraction * real(top - 1), real(top - 1))) : top;
  keys[slot] = node << bits | code;
}
