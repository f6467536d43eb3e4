// Find the lowest row of each set of slots.
#include "union.cuh"

// Arrays of shape (slots,): the root of each slot, and in the place of a root the lowest row, which begins as its own;
// `parents` are shortened on the way.
KERNEL(128, 1)
firsts(const int* rows, const int* sizes, const int*, const int*, int* roots, int* parents, int* lowest) {
  const long long slot = (long long)blockIdx.x * 128 + threadIdx.x;
  const bool there = slot < (long long)sizes[0] << sizes[1];
  const int root = there ? root_of(parents, slot) : -1;
  int row = there ? rows[slot] : 0x7fffffff;
  if (there) roots[slot] = root;
  const bool one = !any_lane(root != shuffle(root, 0));  // most of a large set goes as one
  if (one) row = warp_min(row);
  if (there && !(one && threadIdx.x % LANES) && row < *static_cast<volatile int*>(lowest + root)) lower_to(lowest + root, row);
}
