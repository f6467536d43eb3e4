// Count each query's neighbours.
#include "radius.cuh"

// Nodes that lie within the bounds of all lanes are counted without a visit.
struct Counting : Within {
  real least_bound;
  int valid;  // how many slots have a point: the first ones
  int whole;  // points of the nodes that this lane counted for all

  DEVICE int open(int node, int height) {
    Box box;
    box.load(tree.boxes, node);
    if (passed(node, height)) return NOTHING;
    if (RELATION == ANY) {
      const real farthest = fmax(tree.reach(around[0], box), tree.reach(around[1], box));
      if (farthest * SLACK <= least_bound) {
        const long long first = tree.first_slot(node, height);
        const long long points = min((long long)valid - first, (long long)tree.leaf << height);
        whole += points > 0 ? int(points) : 0;
        return NOTHING;
      }
    }
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
};

KERNEL(WARPS * LANES, 1)
count(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
      const real* queries, const real* bounds, const int* own, const int* valid, const int* sizes, int* counts) {
  const int count = sizes[0], leaf = sizes[1], levels = sizes[2];
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = ((long long)blockIdx.x * WARPS + warp) * LANES + lane;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (number - lane >= count) return;
  const bool there = number < count;
  real x[M], bound;
  int slot;
  Queries{queries, bounds, own}.load(there ? number : count - 1, count, there, x, bound, slot);
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, *scale)};
  int found = 0;
  if (any_lane(bound >= 0)) {
    around_sides(x, bound >= 0, slot < 0 ? ~slot : slot / leaf, boxes_around[warp]);
    Counting search{{tree, boxes_around[warp], x, bound, slot, warp_min(slot), 0}};
    search.update();
    // A lane that reaches nothing keeps nodes from being counted whole.
    search.least_bound = __int_as_float(in_order(warp_min(in_order(bits_below(bound)))));
    search.valid = *valid;
    search.whole = 0;
    Walk<IN_ORDER> walk(levels, lane, stacks[warp], search);
    for (int next; (next = walk.next(search)) >= 0;) {
      const long long first = (long long)next * leaf;
      for (int i = 0; i < leaf; i += EIGHT) {
        real distance[EIGHT];
        tree.distances(x, first + i, i + 4 < leaf, distance);
        FOR(j, EIGHT) found += search.hit(distance[j], first + i + j);
      }
    }
    found += warp_sum(search.whole);
  }
  if (there) counts[number] = found;
}
