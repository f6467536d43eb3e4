// Count each query's neighbors.
#include "radius.cuh"

// Nodes that lie within the bounds of all lanes are counted without a visit.
struct Counting : Within {
  const real least_bound;
  int whole;  // points of the nodes that this lane counted for all

  // A lane that reaches nothing keeps nodes from being counted whole.
  DEVICE Counting(const Packet& packet, Box (&around)[2])
      : Within(packet, around), least_bound(number_of(in_order(warp_min(in_order(bits_below(packet.bound)))))),
        whole(0) {}

  // How many of these slots have a point: the first ones.
  DEVICE int points_of(const real* slots, int size) const {
    if (slots[size - 1] < INFINITE) return size;
    int found = 0;
    while (found < size) {
      const int middle = (found + size) / 2;
      if (slots[middle] < INFINITE) found = middle + 1;
      else size = middle;
    }
    return found;
  }

  DEVICE int open(int node, int height) {
    Box box;
    box.load(tree.boxes, node);
    if (passed(node, height)) return NOTHING;
    if (RELATION == ANY) {
      const real farthest = fmax(tree.reach(around[0], box), tree.reach(around[1], box));
      if (farthest * SLACK <= least_bound) {
        whole += points_of(tree.points + tree.first_slot(node, height), tree.leaf << height);
        return NOTHING;
      }
    }
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
};

// `counts` of shape (count,), a place for each query, of zeros; `order` has the query of each number. Packets of which all have
// `sizes[3]` neighbors go no further.
KERNEL(WARPS * LANES, 1)
count(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
      const real* queries, const real* bounds, const int* own, const int* order, const int* sizes, const int*,
      int* counts) {
  const Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (packet.none() || !any_lane(packet.bound >= 0)) return;
  const Tree& tree = packet.tree;
  const int enough = sizes[3];
  int found = 0;
  Counting search(packet, boxes_around[packet.warp]);
  Walk<IN_ORDER> walk(tree.levels, packet.lane, stacks[packet.warp], search);
  for (int next; (next = walk.next(search)) >= 0;) {
    const unsigned first = unsigned(next) * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      real distance[EIGHT];
      tree.distances(packet.x, first + i, i + 4 < tree.leaf, distance);
      FOR(j, EIGHT) found += search.hit(distance[j], first + i + j);
    }
    if (enough == NOTHING) continue;
    if (found + warp_sum(search.whole) >= enough) search.bound = -1;
    if (!any_lane(search.bound >= 0)) break;
  }
  found += warp_sum(search.whole);
  if (packet.bound >= 0) counts[order[packet.place]] = found;
}
