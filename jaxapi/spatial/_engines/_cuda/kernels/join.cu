// Join the points within the bound of each other: the search and the union in one, without a list of neighbors.
#include "radius.cuh"
#include "union.cuh"

// Nodes whose points are joined already, by `wholes`, are joined with all queries of the packet at once where these
// reach all of it, and are passed by where they are of the query's set.
struct Joining : Within {
  const real least_bound;
  const int begin, end;  // the packet's slots
  int* const parents;

  DEVICE Joining(const Packet& packet, Box (&around)[2], int valid, int* parents)
      : Within(packet, around), least_bound(number_of(in_order(warp_min(in_order(bits_below(packet.bound)))))),
        begin(int(packet.number) - packet.lane), end(min(begin + LANES, valid)), parents(parents) {}

  DEVICE bool whole(const Box& box) const { return tree.reach(box, box) * SLACK <= bound; }

  DEVICE int open(int node, int height) const {
    Box box;
    box.load(tree.boxes, node);
    if (passed(node, height)) return NOTHING;
    if (whole(box) && fmax(tree.reach(around[0], box), tree.reach(around[1], box)) * SLACK <= least_bound) {
      for (int i = begin; i < end; i++) unite(parents, i, tree.first_slot(node, height));
      return NOTHING;
    }
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
  DEVICE bool needs(int node, int height, int, int&) const {
    Box box;
    box.load(tree.boxes, node);
    bool near = tree.gap(x, box) <= bound * SLACK;
    if (near && whole(box)) near = root_of(parents, slot) != root_of(parents, tree.first_slot(node, height));
    return any_lane(near);
  }
};

// `parents` of shape (slots,), as `wholes` leaves them; a query for each slot. `*valid` slots have a point.
KERNEL(WARPS * LANES, 1)
join(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
     const real* queries, const real* bounds, const int* own, const int* valid, const int* sizes, const int*,
     int* parents) {
  const Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (packet.none() || !any_lane(packet.bound >= 0)) return;
  const Tree& tree = packet.tree;
  Joining search(packet, boxes_around[packet.warp], *valid, parents);
  Walk<IN_ORDER> walk(tree.levels, packet.lane, stacks[packet.warp], search);
  for (int next; (next = walk.next(search)) >= 0;) {
    const unsigned first = unsigned(next) * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      real distance[EIGHT];
      tree.distances(packet.x, first + i, i + 4 < tree.leaf, distance);
      FOR(j, EIGHT) if (search.hit(distance[j], first + i + j)) {
        const int other = first + i + j;
        if (parents[other] != parents[packet.slot]) unite(parents, other, packet.slot);
      }
    }
  }
}
