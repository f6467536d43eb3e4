// Join the points of each node that no two of its points are farther apart in than the bound.
#include "tree.cuh"

// `parents` of shape (slots,): the first slot of the largest such node, or the slot itself; `*valid` slots have a point.
KERNEL(128, 1)
wholes(const real* boxes, const real* scale, const real* lengths, const real* bound, const int* valid, const int* sizes,
       int* parents) {
  const long long slot = (long long)blockIdx.x * 128 + threadIdx.x;
  const Tree tree{nullptr, nullptr, boxes, sizes[0], sizes[1], Period(lengths, *scale)};
  if (slot >= tree.slots()) return;
  int parent = slot;
  for (int height = 0; slot < *valid && height <= tree.levels; height++) {
    const int node = int((1u << tree.levels) + unsigned(slot) / tree.leaf) >> height;
    Box box;
    box.load(tree.boxes, node);
    if (!(tree.reach(box, box) * SLACK <= *bound)) break;
    parent = tree.first_slot(node, height);
  }
  parents[slot] = parent;
}
