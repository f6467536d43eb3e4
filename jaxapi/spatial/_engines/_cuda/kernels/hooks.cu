// Join each component to that at the other end of its first edge; of two with the same one the lower stays a root.
#include "spanning.cuh"

// `edges` and `distances` of shape (slots,), in the places of the roots that are no longer: each has one edge.
KERNEL(128, 1)
hooks(const int* rows, const int* labels, const int* near, const real* apart, const Edge* picked, const int* valid,
      const int*, const Edge*, const real*, int* parents, Edge* edges, real* distances) {
  const int slot = int((long long)blockIdx.x * 128 + threadIdx.x);
  if (slot >= *valid || near[slot] < 0) return;
  const int own = labels[slot], other = labels[near[slot]];
  const Edge edge = edge_of(rows[slot], rows[near[slot]]);
  if (other == own || picked[own] != edge || (picked[other] == edge && own < other)) return;
  parents[own] = other;
  edges[own] = edge;
  distances[own] = apart[slot];
}
