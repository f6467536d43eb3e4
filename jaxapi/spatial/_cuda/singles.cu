// Nearest neighbours, one query a warp: for many neighbours, which fit the registers of 32 lanes together,
// and for many dimensions, where the queries of a packet have few leaves in common.
//
// The lanes look at 32 nodes or slots at once. The list is spread over them: element 32 * j + i is in
// register j of lane i.
#include "sort.cuh"
#include "walk.cuh"

#ifndef WARPS
#define WARPS 4  // a block
#endif
#ifndef FEW
#define FEW 6  // candidates that are put into their places one by one
#endif

DEVICE constexpr int at_least(int count, int size) { return count <= size ? size : at_least(count, 2 * size); }
constexpr int ROWS = at_least(K, LANES) / LANES;  // of the list, one register a lane each
constexpr int BATCH = ROWS < 8 ? ROWS : 8;        // rows of candidates that are merged at once

// Exchange with another lane's element: one of the two keeps the lesser.
DEVICE void meet(real& d, int& row, real other_d, int other_row, bool lesser) {
  if (before(other_d, other_row, d, row) == lesser) d = other_d, row = other_row;
}

template <int COUNT> DEVICE void sort_lanes(Pairs<COUNT>& items, int lane, int from) {
  for (int step = from; step; step /= 2)
    FOR(j, COUNT) meet(items.d[j], items.row[j], shuffle_xor(items.d[j], step), shuffle_xor(items.row[j], step),
                       !(lane & step));
}

template <int STEP, int COUNT> DEVICE void bitonic_rows(Pairs<COUNT>& items) {
  if constexpr (STEP > 0) {
    FOR(j, COUNT) if (!(j & STEP)) items.exchange_at(j, j + STEP);
    bitonic_rows<STEP / 2>(items);
  }
}

// Sort by merging runs that double; in each the second half is met backwards, so that all runs ascend.
template <int HALF = 1, int COUNT> DEVICE void sort_runs(Pairs<COUNT>& items, int lane) {
  if constexpr (HALF < COUNT) {  // runs of HALF rows
    FOR(j, COUNT) if (!(j & HALF)) {
      const int k = j ^ (2 * HALF - 1);
      const real d = shuffle_xor(items.d[k], LANES - 1), e = shuffle_xor(items.d[j], LANES - 1);
      const int row = shuffle_xor(items.row[k], LANES - 1), other = shuffle_xor(items.row[j], LANES - 1);
      meet(items.d[j], items.row[j], d, row, true);
      meet(items.d[k], items.row[k], e, other, false);
    }
    bitonic_rows<HALF / 2>(items);
    sort_lanes(items, lane, LANES / 2);
    sort_runs<2 * HALF>(items, lane);
  }
}

template <int COUNT> DEVICE void sort_spread(Pairs<COUNT>& items, int lane) {
  for (int half = 1; half < LANES; half *= 2) {
    const int mirror = 2 * half - 1;
    FOR(j, COUNT) meet(items.d[j], items.row[j], shuffle_xor(items.d[j], mirror),
                       shuffle_xor(items.row[j], mirror), !(lane & half));
    sort_lanes(items, lane, half / 2);
  }
  sort_runs(items, lane);
}

struct Search {
  const Tree& tree;  // with buckets of up to 32 slots for leaves
  const Box own;     // the query
  const real nearer;
  const int lane;
  Pairs<ROWS> list;
  real limit;
  real floor;  // only what comes after this is wanted; -1 for all
  int floor_row;
  int count;
  real* pending_d;  // (BATCH + 1, LANES)
  int* pending_row;

  DEVICE void start(real bound, int missing) {
    FOR(j, ROWS) list.d[j] = bound, list.row[j] = missing;
    limit = bound;
    count = 0;
  }
  DEVICE int reach() const { return bits_above(limit * nearer); }
  DEVICE int open(int node, int) const {
    Box box;
    box.load(tree.boxes, node);
    if (FLOOR && tree.reach(own, box) * SLACK < floor) return NOTHING;
    return bits_below(tree.gap(own, box));
  }
  DEVICE bool needs(int) const { return true; }

  DEVICE void visit(int leaf) {
    const long long first = (long long)leaf * tree.leaf;
    const bool there = lane < tree.leaf;  // of 32 slots at most
    const real d = there ? tree.distance(own.middle, first + lane) : INFINITE;
    const bool near = there && d <= limit && (!FLOOR || d >= floor);
    if (!any_lane(near)) return;
    const int row = near ? tree.rows[first + lane] : NOTHING;
    const unsigned wanted = lanes_where(near && (!FLOOR || floor < 0 || before(floor, floor_row, d, row)));
    if (ROWS == 1)
      take(d, row, wanted);
    else
      keep(d, row, wanted);
  }

  // One candidate a lane, those of the lanes that are wanted.
  DEVICE void take(real d, int row, unsigned wanted) {
    if (__popc(wanted) <= FEW) {
      for (; wanted; wanted &= wanted - 1) {
        const int from = __ffs(wanted) - 1;
        const real new_d = shuffle(d, from), left_d = shuffle_up(list.d[0], 1);
        const int new_row = shuffle(row, from), left_row = shuffle_up(list.row[0], 1);
        const unsigned after = lanes_where(before(new_d, new_row, list.d[0], list.row[0]));
        if (after >> lane & 1) {
          const bool here = !(after << 1 >> lane & 1);  // the first of those that come after it
          list.d[0] = here ? new_d : left_d;
          list.row[0] = here ? new_row : left_row;
        }
      }
    } else {
      Pairs<1> candidates;
      candidates.d[0] = wanted >> lane & 1 ? d : INFINITE;
      candidates.row[0] = wanted >> lane & 1 ? row : NOTHING;
      sort_spread(candidates, lane);
      merge(candidates);
    }
    limit = shuffle(list.d[0], (K - 1) % LANES);
  }

  // The same with candidates that wait until there are many.
  DEVICE void keep(real d, int row, unsigned wanted) {
    const int place = count + __popc(wanted & ((1u << lane) - 1));
    if (wanted >> lane & 1) pending_d[place] = d, pending_row[place] = row;
    count += __popc(wanted);
    warp_barrier();
  }
  DEVICE void flush() {
    Pairs<BATCH> candidates;
    FOR(j, BATCH) {
      const int i = j * LANES + lane;
      candidates.d[j] = i < count ? pending_d[i] : INFINITE;
      candidates.row[j] = i < count ? pending_row[i] : NOTHING;
    }
    const int last = BATCH * LANES + lane;  // what is over is first of the next batch
    const real d = last < count ? pending_d[last] : INFINITE;
    const int row = last < count ? pending_row[last] : NOTHING;
    warp_barrier();
    pending_d[lane] = d, pending_row[lane] = row;
    warp_barrier();
    count = max(count - BATCH * LANES, 0);
    sort_spread(candidates, lane);
    merge(candidates);
    limit = shuffle(list.d[(K - 1) / LANES], (K - 1) % LANES);
  }
  template <int COUNT> DEVICE void merge(const Pairs<COUNT>& candidates) {
    FOR(i, COUNT) {
      const int j = ROWS - 1 - i;
      meet(list.d[j], list.row[j], shuffle_xor(candidates.d[i], LANES - 1), shuffle_xor(candidates.row[i], LANES - 1),
           true);
    }
    bitonic_rows<ROWS / 2>(list);
    sort_lanes(list, lane, LANES / 2);
  }
};

// `found` of shape (count, columns), of which columns `*first` to `*first + K` are written; with FLOOR, from
// the last neighbour found before, (count,), on. `last` may be read and written in place.
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
  const int count = sizes[0], bound_stride = sizes[3], rooted = sizes[4];
  int leaf = sizes[1], levels = sizes[2];
  while (2 * leaf <= LANES && levels > 1) leaf *= 2, levels--;
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = (long long)blockIdx.x * WARPS + warp;
  __shared__ Stack stacks[WARPS];
#if K > 32
  __shared__ real pending_d[WARPS][(BATCH + 1) * LANES];
  __shared__ int pending_row[WARPS][(BATCH + 1) * LANES];
#endif
  if (number >= count) return;
  const long long own = order[number];
  const real unit = *scale;
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, unit)};
  const real looser = power(1 + *eps);
  const int missing = *n;

  Search search{tree, {}, SLACK / looser, lane};
  Box& box = const_cast<Box&>(search.own);
  bool finite = true;
  FOR(a, M) {
    box.middle[a] = queries[own * M + a] * unit;
    box.half[a] = 0;
    finite &= fabs(box.middle[a]) < INFINITE;
  }
  const real bound = bounds[own * bound_stride];
  real limit = power(bound * unit);
  limit = limit > 0 ? below(limit) : real(0);  // the last power distance below the bound
  const bool wants = finite && bound > 0;
  search.start(wants ? limit : real(-1), missing);
#if K > 32
  search.pending_d = pending_d[warp];
  search.pending_row = pending_row[warp];
#endif
#if FLOOR
  const int column = *first, columns = sizes[5];
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
      if (ROWS > 1 && (end || search.count >= BATCH * LANES)) search.flush();
    } while (!end);
  }
  const real back = 1 / unit;  // exact: a power of two
  FOR(j, ROWS) {
    const int place = j * LANES + lane;
    const bool here = search.list.row[j] < missing;
    if (place < K && column + place < columns) {
      const long long to = own * columns + column + place;
      const real distance = rooted ? root(search.list.d[j]) * back : search.list.d[j];
      found[to] = here ? distance : INFINITE;
      found_rows[to] = here ? search.list.row[j] : missing;
    }
#if FLOOR
    if (place == K - 1) last[own] = search.list.d[j], last_row[own] = search.list.row[j];
#endif
  }
}
