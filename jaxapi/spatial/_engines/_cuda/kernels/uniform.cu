// Tell which nodes have points of one component only: of six heights at once, from the leaves or a height known.
#include "warp.cuh"

// `known` of shape (2 * leaves,): the component, -1 for several; `labels` of shape (slots,); `sizes` has the number of slots
// in a leaf, of levels, and the lowest height.
KERNEL(128, 1)
uniform(const int* labels, const int* sizes, const int*, int* known) {
  const int leaf = sizes[0], levels = sizes[1], height = sizes[2], lane = threadIdx.x % LANES;
  const long long number = (long long)blockIdx.x * 128 + threadIdx.x, count = 1ll << (levels - height);
  const long long node = count + number;
  int one = -1;
  if (number < count) {
    if (height) {
      one = known[node];
    } else {
      const int* own = labels + number * leaf;
      one = own[0];
      for (int i = 1; i < leaf; i++) one = own[i] == own[0] ? one : -1;
      known[node] = one;
    }
  }
  for (int step = 0; step < 5; step++) {
    one = shuffle_xor(one, 1 << step) == one ? one : -1;
    if (lane % (2 << step) == 0 && number < count && height + step < levels) known[node >> (step + 1)] = one;
  }
}
