// How a query goes down the tree.
#pragma once
#include "metric.cuh"

#if DOUBLE
using Axis = long long;
#else
using Axis = int;
#endif

// Where a node is split, and along which axis; ~axis where the first child is the upper one.
struct alignas(2 * sizeof(real)) Plane {
  real at;
  Axis axis;
};
