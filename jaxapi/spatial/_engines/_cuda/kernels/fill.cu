// Write each query's neighbors one after another, in the order of the slots.
#include "radius.cuh"

#if WIDE
using Place = long long;
#else
using Place = int;
#endif

// Query i's begin at offsets[i], and none is written at offsets[i + 1]; `order` has the query of each number. The
// results come filled with what stands where nothing is written.
KERNEL(WARPS * LANES, 1)
fill(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
     const real* queries, const real* bounds, const int* own, const int* order, const Place* offsets, const int* sizes,
#if WRITES == 2
     const Pair*, Pair* pairs
#elif WRITES == 1
     const int*, const real*, const int*, int* found_rows, real* found, int* found_by
#else
     const int*, const real*, int* found_rows, real* found
#endif
) {
  Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (packet.none()) return;
  const int query = order[packet.place], warp = packet.warp;
  const bool wanted = packet.bound >= 0;  // an empty slot of the tree is nobody's
  const Place start = wanted ? offsets[query] : 0, stop = wanted ? offsets[query + 1] : 0;
  if (start >= stop) packet.bound = -1;
  if (!any_lane(packet.bound >= 0)) return;
  Within search(packet, boxes_around[warp]);
  Lines lines(query, *scale);
#if WRITES == 2
  lines.pairs = pairs;
#else
  lines.rows = found_rows, lines.distances = found;
#endif
#if WRITES == 1
  lines.queries = found_by;
#endif
  write_neighbors<true>(search, stacks[warp], start, stop, lines);
}
