// What the rounds of a minimum spanning tree share. Edges are ordered by (distance, lower row, higher row): for one point
// by (distance, the other's row). Distances are mutual reachability distances, scaled powers.
#pragma once
#include "tree.cuh"
#include "union.cuh"

#ifndef CORES
#define CORES 0  // distances are those of the points alone
#endif

using Edge = unsigned long long;  // two rows, the lower one in the upper half

DEVICE Edge edge_of(int one, int two) { return Edge(min(one, two)) << 32 | unsigned(max(one, two)); }

// What others of the component have found meanwhile.
DEVICE real latest(const real* at) { return *static_cast<const volatile real*>(at); }

struct Cores {
  const real* cores;     // (slots,): no distance of a slot is less
  const real* shortens;  // a factor of other power distances
  DEVICE real mutual(real core, unsigned slot, real distance) const {
    return CORES ? fmax(fmax(core, cores[slot]), distance * *shortens) : distance;
  }
};
