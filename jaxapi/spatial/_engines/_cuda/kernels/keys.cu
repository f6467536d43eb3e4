// A key for each slot, by which one sort splits all nodes.
#include "keys.cuh"

// `columns` of shape (M, slots); `lower` and `upper` of shape (M, 2 * leaves), of which the nodes are read that so
// many splits, `done`, have made. A key has the node's number and, in `bits`, the place along its widest side.
KERNEL(128, 1)
keys(const real* columns, const real* lower, const real* upper, const int* sizes, unsigned* keys) {
  const int leaf = sizes[0], levels = sizes[1], done = sizes[2], bits = sizes[3];
  const long long slots = (long long)leaf << levels;
  const long long slot = (long long)blockIdx.x * 128 + threadIdx.x;
  if (slot >= slots) return;
  const unsigned node = unsigned(slot) / unsigned(slots >> done);
  const long long at = node + (1ll << done);
  const Side side(lower + at, upper + at, 2ll << levels);
  keys[slot] = node << bits | side.place(columns[side.axis * slots + slot], bits);
}
