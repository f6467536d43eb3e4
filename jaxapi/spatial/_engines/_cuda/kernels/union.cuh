// Disjoint sets of slots: a slot's parent is itself or a lower one of its set, whose root is the lowest.
#pragma once
#include "warp.cuh"

// Replace what is expected; return what was there.
DEVICE int swap_if(int* at, int expected, int value) {
#ifdef __CUDACC__
  return atomicCAS(at, expected, value);
#else
  return __sync_val_compare_and_swap(at, expected, value);
#endif
}

// The root, and each second parent on the way replaced by its own. What others write meanwhile is lower, and of
// the same set.
DEVICE int root_of(volatile int* parents, int slot) {
  int parent = parents[slot];
  while (parent != slot) {
    const int above = parents[parent];
    if (above == parent) break;
    parents[slot] = above;
    slot = above;
    parent = parents[slot];
  }
  return parent;
}

// Join two sets: the higher root gets the lower one as its parent, unless another has been quicker.
DEVICE void unite(int* parents, int one, int two) {
  one = root_of(parents, one), two = root_of(parents, two);
  while (one != two) {
    const int low = min(one, two), high = max(one, two);
    if (swap_if(parents + high, high, low) == high) return;
    one = root_of(parents, high), two = low;
  }
}
