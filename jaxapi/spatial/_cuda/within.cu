// Write each query's first neighbours, and count all, in one walk.
#include "radius.cuh"

// `found_rows` and `found` of shape (count, limit), a line for each query in its own place, as `counts` has one:
// what lies behind its neighbours is not written. `order` has the query of each number.
KERNEL(WARPS * LANES, 1)
within(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
       const real* queries, const real* bounds, const int* own, const int* order, const int* sizes, int* found_rows,
       real* found, int* counts) {
  const int count = sizes[0], leaf = sizes[1], levels = sizes[2], limit = sizes[3];
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
  const int query = order[place], start = query * limit;
  int end = start;
  if (any_lane(bound >= 0)) {
    around_sides(x, bound >= 0, slot < 0 ? ~slot : slot / leaf, boxes_around[warp]);
    Within search{tree, boxes_around[warp], x, bound, slot, warp_min(slot), 0};
    search.update();
    end = write_neighbours<false>(search, levels, stacks[warp], start, start + limit, back, found_rows, found);
  }
  if (there) counts[query] = end - start;
}
