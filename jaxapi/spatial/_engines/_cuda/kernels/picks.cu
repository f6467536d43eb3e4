// Find each component's first edge, of those as short as its shortest.
#include "spanning.cuh"

// Arrays of shape (slots,), as `bounds` and `others` leave them.
KERNEL(128, 1)
picks(const int* rows, const int* labels, const int* near, const real* apart, const real* uppers, const int* valid,
      const Edge*, Edge* picked) {
  const int slot = int((long long)blockIdx.x * 128 + threadIdx.x);
  if (slot >= *valid || near[slot] < 0) return;
  const int own = labels[slot];
  if (labels[near[slot]] != own && apart[slot] == uppers[own]) lower_to(picked + own, edge_of(rows[slot], rows[near[slot]]));
}
