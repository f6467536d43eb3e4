// Write each query's first neighbors, and count all, in one walk.
#include "radius.cuh"

// `found_rows` and `found` of shape (count, limit), a line for each query in its own place, as `counts` has one:
// what lies behind its neighbors is not written. `order` has the query of each number.
KERNEL(WARPS * LANES, 1)
within(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
       const real* queries, const real* bounds, const int* own, const int* order, const int* sizes, int* found_rows,
       real* found, int* counts) {
  const Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (packet.none()) return;
  const int limit = sizes[3], query = order[packet.place], start = query * limit;
  int end = start;
  if (any_lane(packet.bound >= 0)) {
    const int warp = packet.warp;
    Within search(packet, boxes_around[warp]);
    Lines lines(query, *scale);
    lines.rows = found_rows, lines.distances = found;
    end = write_neighbors<false>(search, stacks[warp], start, start + limit, lines);
  }
  if (packet.there) counts[query] = end - start;
}
