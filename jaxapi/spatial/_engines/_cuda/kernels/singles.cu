// Nearest neighbors, one query a warp: for many neighbors, which fit the registers of 32 lanes together,
// and for many dimensions, where the queries of a packet have few leaves in common.
//
// The lanes look at 32 nodes or slots at once, and the list is spread over them.
#include "spread.cuh"
#include "walk.cuh"

#ifndef WARPS
#define WARPS 4  // a block
#endif

struct Search {
  const Tree& tree;  // with buckets of up to 32 slots for leaves
  const Box own;     // the query
  const real nearer;
  const int lane;
  Nearest best;
  real floor;  // only what comes after this is wanted; -1 for all
  int floor_row;

  DEVICE int reach() const { return bits_above(best.limit * nearer); }
  DEVICE int open(int node, int) const {
    Box box;
    box.load(tree.boxes, node);
    if (FLOOR && tree.reach(own, box) * SLACK < floor) return NOTHING;
    return bits_below(tree.gap(own.middle, box));
  }
  DEVICE bool needs(int, int, int, int&) const { return true; }

  DEVICE void visit(int leaf) {
    const unsigned first = unsigned(leaf) * tree.leaf;
    const bool there = lane < tree.leaf;  // of 32 slots at most
    const real d = there ? tree.distance(own.middle, first + lane) : INFINITE;
    const bool near = there && d <= best.limit && (!FLOOR || d >= floor);
    if (!any_lane(near)) return;
    const int row = near ? tree.rows[first + lane] : NOTHING;
    const unsigned wanted = lanes_where(near && (!FLOOR || floor < 0 || before(floor, floor_row, d, row)));
    best.add(d, row, wanted);
  }
};

// `found` of shape (count, columns), of which columns `*first` to `*first + K` are written; with FLOOR, from
// the last neighbor found before, (count,), on. `last` may be read and written in place. What the source does not
// have is not read: `order` and `queries`.
KERNEL(WARPS * LANES, 1)
singles(const real* points, const int* rows, const real* boxes, const int* n, const real* scale, const real* queries,
        const real* bounds, const real* eps, const real* lengths, const int* order, const int* sizes,
#if FLOOR
        const int* first, const real*, const int*, const real*, const int*, real* found, int* found_rows,
        real* last, int* last_row
#else
        real* found, int* found_rows
#endif
) {
  const int count = sizes[0], bound_stride = sizes[3], rooted = sizes[4], source = sizes[5], begin = sizes[6];
  const bool of_tree = source >= POINTS;
  int leaf = sizes[1], levels = sizes[2];
  while (2 * leaf <= LANES && levels > 1) leaf *= 2, levels--;
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = (long long)blockIdx.x * WARPS + warp;
  __shared__ Stack stacks[WARPS];
  __shared__ Waiting waiting[WARPS];
  if (number >= count) return;
  const long long own = source == ORDERED || source == POINTS ? order[number] : number;
  const int missing = *n;
  if (source == POINTS && own == missing) return;  // a slot without a point
  const real unit = *scale;
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, unit)};
  const real looser = power(1 + *eps);

  Search search{tree, {}, SLACK / looser, lane, Nearest(waiting[warp], lane)};
  Box& box = const_cast<Box&>(search.own);
  bool finite = true;
  FOR(a, M) {
    box.middle[a] = of_tree ? points[a * tree.slots() + begin + number] : queries[own * M + a] * unit;
    box.half[a] = 0;
    finite &= fabs(box.middle[a]) < INFINITE;
  }
  const real bound = bounds[own * bound_stride];
  real limit = power(bound * unit);
  limit = limit > 0 ? below(limit) : real(0);  // the last power distance below the bound
  const bool wants = finite && bound > 0;
  search.best.start(wants ? limit : real(-1), missing);
#if FLOOR
  const int column = *first, columns = sizes[7];
  if (column) search.floor = last[own], search.floor_row = last_row[own];
  else search.floor = real(-1), search.floor_row = -1;
#else
  const int column = 0, columns = K;
#endif
  if (wants) {
    Walk<NEAREST_FIRST> walk(levels, lane, stacks[warp], search);
    bool end;
    do {
      const int leaf = walk.next(search);
      end = leaf < 0;
      if (!end) search.visit(leaf);
      search.best.settle(end);
    } while (!end);
  }
  const real back = 1 / unit;  // exact: a power of two
  FOR(j, ROWS) {
    const int place = j * LANES + lane;
    const bool here = search.best.list.row[j] < missing;
    if (place < K && column + place < columns) {
      const long long to = own * columns + column + place;
      const real distance = rooted ? root(search.best.list.d[j]) * back : search.best.list.d[j];
      found[to] = here ? distance : INFINITE;
      found_rows[to] = here ? search.best.list.row[j] : missing;
    }
#if FLOOR
    if (place == K - 1) last[own] = search.best.list.d[j], last_row[own] = search.best.list.row[j];
#endif
  }
}
