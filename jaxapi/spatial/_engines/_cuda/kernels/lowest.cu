// Find the lowest number among each query's neighbors.
#include "radius.cuh"

// `numbers` of shape (slots,); `found` of shape (count,), of a number that is greater than all; `order` has the query
// of each number.
KERNEL(WARPS * LANES, 1)
lowest(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
       const real* queries, const real* bounds, const int* own, const int* order, const int* numbers, const int* sizes,
       const int*, int* found) {
  const Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (packet.none() || !any_lane(packet.bound >= 0)) return;
  const Tree& tree = packet.tree;
  int least = NOTHING;
  Within search(packet, boxes_around[packet.warp]);
  Walk<IN_ORDER> walk(tree.levels, packet.lane, stacks[packet.warp], search);
  for (int next; (next = walk.next(search)) >= 0;) {
    const unsigned first = unsigned(next) * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      const bool all = i + 4 < tree.leaf;
      real distance[EIGHT];
      tree.distances(packet.x, first + i, all, distance);
      if (!any_lane(::least(distance) <= search.bound)) continue;
      int number[EIGHT];
      load_rows(numbers, first + i, all, number);
      FOR(j, EIGHT) if (search.hit(distance[j], first + i + j)) least = min(least, number[j]);
    }
  }
  if (packet.bound >= 0) found[order[packet.place]] = min(least, found[order[packet.place]]);
}
