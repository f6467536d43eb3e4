// Nearest neighbors, 32 queries a warp: neighbors in the order of the leaves are a packet, one to each lane,
// and walk the tree together.
#include "sort.cuh"
#include "walk.cuh"

// Resident on a multiprocessor, for which the compiler saves registers: measured in 3-D, k = 1, 8, 16 and 32.
#ifndef BLOCKS
#if DOUBLE
#define BLOCKS (M != 3 ? 1 : K == 1 ? 12 : K <= 8 ? 8 : K <= 16 ? 8 : 6)
#else
#define BLOCKS (M > 4 ? 1 : K == 1 ? 18 : K <= 8 ? (M > 3 ? 14 : 16) : K <= 16 ? 10 : 8)
#endif
#endif

constexpr int BATCH = K <= 8 ? 8 : 16;  // candidates that are merged at once
constexpr int SIZE = at_least(K, BATCH);
constexpr int ROOM = BATCH + EIGHT;  // for candidates that wait

// What a lane keeps: its neighbors so far, sorted, in registers, and a stack of candidates in shared memory.
// When one lane has more than a batch, all lanes sort up to so many of theirs and merge them into their lists.
struct Neighbors {
  static constexpr int STRIDE = LANES * sizeof(real), ROWS = ROOM * STRIDE;
  using Waiting = char[2 * ROWS];  // distances, then rows, an element a lane

  Pairs<SIZE> list;
  const Address bottom;  // of this lane's stack
  Address top;

  DEVICE Neighbors(const char* waiting, int lane, real bound, int missing)
      : bottom(address_of(waiting) + lane * sizeof(real)), top(bottom) {
    FOR(i, SIZE) list.d[i] = bound, list.row[i] = missing;
  }
  DEVICE real limit() const { return list.d[K - 1]; }
  DEVICE bool wants(real distance, int row) const { return before(distance, row, limit(), list.row[K - 1]); }
  DEVICE void take(const real (&distance)[EIGHT], const int (&row)[EIGHT]) {
    FOR(i, EIGHT) if (wants(distance[i], row[i])) {
      put(top, distance[i]);
      put(top + ROWS, row[i]);
      top += STRIDE;
    }
  }
  DEVICE int held() const { return int(top - bottom); }  // in bytes
  DEVICE bool full() const { return held() > BATCH * STRIDE; }
  DEVICE void flush() {
    Pairs<BATCH> candidates;
    FOR(i, BATCH) {
      const int back = (i + 1) * STRIDE;
      const bool there = back <= held();
      candidates.d[i] = there ? taken<real>(top - back) : INFINITE;
      candidates.row[i] = there ? taken<int>(top - back + ROWS) : NOTHING;
    }
    top -= min(held(), BATCH * STRIDE);
    sort(candidates);
    merge(list, candidates);
  }
};

// One neighbor needs no list.
struct Neighbor {
  using Waiting = char[1];
  Pairs<1> list;

  DEVICE Neighbor(const char*, int, real bound, int missing) { list.d[0] = bound, list.row[0] = missing; }
  DEVICE real limit() const { return list.d[0]; }
  DEVICE bool wants(real distance, int row) const { return before(distance, row, list.d[0], list.row[0]); }
  DEVICE void take(const real (&distance)[EIGHT], const int (&row)[EIGHT]) {
    FOR(i, EIGHT) if (wants(distance[i], row[i]))
      list.d[0] = distance[i], list.row[0] = row[i];
  }
  DEVICE bool full() const { return true; }
  DEVICE void flush() {}
};

template <bool ONE> struct Choice { using type = Neighbors; };
template <> struct Choice<true> { using type = Neighbor; };
using Best = Choice<K == 1>::type;

#if K <= 8
DEVICE real factor(real x) { return x; }
#else  // long lists leave few registers: it takes one if it is rounded up
DEVICE float factor(real x) { return float_above(x); }
#endif

struct Search {
  const Tree& tree;
  const Box* around;  // two boxes around the packet's queries
  const real (&x)[M];
  const decltype(factor(0)) nearer;  // a box must be nearer than the limit by this factor
  Best& best;
  int reach_bits;

  DEVICE void update() { reach_bits = warp_max(bits_above(best.limit() * nearer)); }
  DEVICE int reach() const { return reach_bits; }
  DEVICE int open(int node, int) const {
    Box box;
    box.load(tree.boxes, node);
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
  DEVICE bool needs(int node, int height, int own, int& waiting) const {
    Box box;
    box.load(tree.boxes, node);
    const real gap = tree.gap(x, box);
    if (!any_lane(gap <= best.limit() * nearer)) return false;
    // A point's gap is its distance: is the lowest row of its copies, which is the first one's, low enough?
    if (!box.is_point() || any_lane(best.wants(gap, tree.rows[tree.first_slot(node, height)]))) return true;
    // Nor are those of its copies that follow; in float64 there are no registers left to see that.
    if (!DOUBLE && own > node && waiting != NOTHING && tree.alike(own, node)) waiting = NOTHING;
    return false;
  }
  // Visit a leaf, or none at the end: what is left to do then is done here, so that its code is there once.
  DEVICE void visit(int leaf) {
    const bool end = leaf < 0;
    const unsigned first = unsigned(leaf) * tree.leaf;
    for (int i = 0; i < (end ? 1 : tree.leaf); i += EIGHT) {
      if (!end) {
        const bool all = i + 4 < tree.leaf;
        real distance[EIGHT];
        tree.distances(x, first + i, all, distance);
        if (!any_lane(least(distance) <= best.limit())) continue;
        int row[EIGHT];
        load_rows(tree.rows, first + i, all, row);
        best.take(distance, row);
        if (!any_lane(best.full())) continue;
      }
      best.flush();
      update();
    }
  }
};

// A power distance within which x has K points, from the slots around its own leaf: these make groups, and
// the K-th least of the groups' nearest points will do. Without it, a lane whose own leaf is far from the
// packet's would ask for everything in between.
DEVICE real home_bound(const Tree& tree, const real (&x)[M], int home) {
  constexpr int GROUPS = at_least(K, EIGHT), ENOUGH = K >= LANES ? K : 4 * K < LANES ? 4 * K : LANES;
  int leaves = 1;
  while (leaves * tree.leaf < ENOUGH && leaves < 1 << tree.levels) leaves *= 2;
  const long long first = (long long)(home & -leaves) * tree.leaf;
  const int slots = leaves * tree.leaf;
  Numbers<GROUPS> nearest;
  FOR(g, GROUPS) nearest.d[g] = INFINITE;
  for (int i = 0; i < slots; i += GROUPS) FOR(g, GROUPS / EIGHT) {
    const int slot = i + EIGHT * g;
    if (slot < slots) {
      real distance[EIGHT];
      tree.distances(x, first + slot, slot + 4 < slots, distance);
      FOR(j, EIGHT) nearest.d[EIGHT * g + j] = fmin(nearest.d[EIGHT * g + j], distance[j]);
    }
  }
  sort(nearest);
  return nearest.d[K - 1];
}

// Store a line, 16 bytes at once where all lines begin at a multiple of them.
template <int COUNT, class T, int SIZE> DEVICE void store(T* to, const T (&from)[SIZE]) {
  constexpr int AT_ONCE = 16 / sizeof(T);
  if constexpr (COUNT % AT_ONCE == 0) {
    struct alignas(16) Words { T word[AT_ONCE]; };
    FOR(i, COUNT / AT_ONCE) {
      Words words;
      FOR(j, AT_ONCE) words.word[j] = from[i * AT_ONCE + j];
      reinterpret_cast<Words*>(to)[i] = words;
    }
  } else {
    FOR(i, COUNT) to[i] = from[i];
  }
}

// `found` of shape (count, K); `bounds` of shape (count,) or one for all, which `bound_stride` tells. What the source
// does not have is not read: `order`, `queries`, and `leaves`, the leaf that each query falls in.
KERNEL(WARPS * LANES, BLOCKS)
packets(const real* points, const int* rows, const real* boxes, const int* n, const real* scale, const real* queries,
        const real* bounds, const real* eps, const real* lengths, const int* order, const int* leaves,
        const int* sizes, real* found, int* found_rows) {
  const int count = sizes[0], leaf = sizes[1], levels = sizes[2], bound_stride = sizes[3];
  const int rooted = sizes[4], source = sizes[5], first = sizes[6];
  const bool of_tree = source >= POINTS;
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = ((long long)blockIdx.x * WARPS + warp) * LANES;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  alignas(8) __shared__ Best::Waiting waiting[WARPS];
  if (number >= count) return;
  const long long place = number + lane < count ? number + lane : count - 1;
  const long long own = source == ORDERED || source == POINTS ? order[place] : int(place);
  const int missing = *n;
  const bool there = number + lane < count && (source != POINTS || own < missing);  // some slots have no point
  const real unit = *scale;
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, unit)};

  real x[M];
  bool finite = true;
  FOR(a, M) {
    x[a] = of_tree ? points[a * tree.slots() + first + place] : queries[own * M + a] * unit;
    finite &= fabs(x[a]) < INFINITE;
  }
  const real bound = bounds[own * bound_stride];
  const bool wants = there && finite && bound > 0;
  real limit = power(bound * unit);
  limit = limit > 0 ? below(limit) : real(0);  // the last power distance below the bound
  const real looser = power(1 + *eps);
  const int home = of_tree ? int((first + place) / leaf) : source == ORDERED ? leaves[own] : 0;
  // A lane that wants nothing is infinitely far from everything.
  FOR(a, M) x[a] = wants ? x[a] : INFINITE;
  limit = wants ? fmin(limit, home_bound(tree, x, home) * looser) : real(0);

  Best best(waiting[warp], lane, limit, missing);
  if (any_lane(wants)) {
    around_sides(x, wants, home, boxes_around[warp]);
    Search search{tree, boxes_around[warp], x, factor(SLACK / looser), best, 0};
    search.update();
    Walk<NEAREST_FIRST> walk(levels, lane, stacks[warp], search);
    int next;
    do {
      next = walk.next(search);
      search.visit(next);
    } while (next >= 0);
  }
  if (!there) return;
  const real back = 1 / unit;  // exact: a power of two
  FOR(i, K) {
    const bool here = best.list.row[i] < missing;
    const real distance = rooted ? root(best.list.d[i]) * back : best.list.d[i];
    best.list.d[i] = here ? distance : INFINITE;
    best.list.row[i] = here ? best.list.row[i] : missing;
  }
  store<K>(found + own * K, best.list.d);
  store<K>(found_rows + own * K, best.list.row);
}
