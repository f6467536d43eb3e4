// Bound the distances of components to others: by what is known of their slots, and by slots beside each other.
#include "spanning.cuh"

// Arrays of shape (slots,); `*valid` slots have a point. `near` is the nearest slot of another component, if it is still
// in another, and `apart` its distance; else no other component is nearer than that.
KERNEL(128, 1)
bounds(const real* points, const real* scale, const real* lengths, const real* cores, const real* shortens,
       const int* labels, const int* near, const real* apart, const int* valid, const int* sizes, const real*,
       real* uppers) {
  const int slot = int((long long)blockIdx.x * 128 + threadIdx.x);
  if (slot >= *valid) return;
  const int own = labels[slot];
  const auto lower = [&](int label, real distance) {
    if (distance < latest(uppers + label)) lower_to(uppers + label, distance);
  };
  if (near[slot] >= 0 && labels[near[slot]] != own) lower(own, apart[slot]);
  if (slot + 1 >= *valid || labels[slot + 1] == own) return;
  const Tree tree{points, nullptr, nullptr, sizes[0], sizes[1], Period(lengths, *scale)};
  real x[M];
  FOR(a, M) x[a] = points[a * tree.slots() + slot];
  const real distance = Cores{cores, shortens}.mutual(CORES ? cores[slot] : 0, slot + 1, tree.distance(x, slot + 1));
  lower(own, distance);
  lower(labels[slot + 1], distance);
}
