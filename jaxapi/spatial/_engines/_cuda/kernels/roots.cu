// Begin a round of a minimum spanning tree: name each slot's component by its root, of which nothing is known.
#include "spanning.cuh"

// `labels`, `uppers` and `picks` of shape (slots,); `parents` are shortened on the way.
KERNEL(128, 1)
roots(const int* sizes, const int*, const int*, real* uppers, Edge* picks, int* parents, int* labels) {
  const long long slot = (long long)blockIdx.x * 128 + threadIdx.x;
  if (slot >= (long long)sizes[0] << sizes[1]) return;
  labels[slot] = root_of(parents, labels[slot]);
  uppers[slot] = INFINITE;
  picks[slot] = ~Edge(0);
}
