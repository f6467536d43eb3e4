// Write each query's neighbours one after another, in the order of the slots.
#include "radius.cuh"

#if WIDE
using Place = long long;
#else
using Place = int;
#endif

// `found_rows` and `found` come filled with what stands where nothing is written.
KERNEL(WARPS * LANES, 1)
fill(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
     const real* queries, const real* bounds, const int* own, const Place* starts, const Place* stops,
     const int* sizes, const int*, const real*, int* found_rows, real* found) {
  const int count = sizes[0], leaf = sizes[1], levels = sizes[2];
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = ((long long)blockIdx.x * WARPS + warp) * LANES + lane;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (number - lane >= count) return;
  const bool there = number < count;
  const long long place = there ? number : count - 1;
  real x[M], bound;
  int slot;
  Queries{queries, bounds, own}.load(place, count, there, x, bound, slot);
  const real unit = *scale, back = 1 / unit;  // exact: a power of two
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, unit)};
  Place position = starts[place];
  const Place stop = stops[place];
  if (position >= stop) bound = -1;
  if (!any_lane(bound >= 0)) return;
  around_sides(x, bound >= 0, slot < 0 ? ~slot : slot / leaf, boxes_around[warp]);
  Within search{tree, boxes_around[warp], x, bound, slot, warp_min(slot), 0};
  search.update();
  write_neighbours<true>(search, levels, stacks[warp], position, stop, back, found_rows, found);
}
