// Sum the slots' weights within each of several radii of each query.
#include "radius.cuh"

// Whatever lies within a radius, or beyond it, as a whole is decided without a visit: for all lanes where a
// group of nodes is opened, each lane for itself before a node is entered.
struct Binning {
  const Tree& tree;
  const Box* around;
  const real (&x)[M];
  const WEIGHT* totals;  // (2 * leaves): the weight of each node
  const bool finite;
  real bound[BINS];  // power distances
  WEIGHT own[BINS];  // the sums of this lane
  WEIGHT all[BINS];  // and of the nodes that it decided for all lanes

  // Tell whether a node lies within or beyond each of the radii.
  DEVICE bool sure(real nearest, real farthest) const {
    bool sure = true;
    FOR(i, BINS) sure &= farthest * SLACK <= bound[i] || nearest > bound[i] * SLACK;
    return sure;
  }
  DEVICE void add(real farthest, int node, WEIGHT (&sums)[BINS]) const {
    if (farthest * SLACK > bound[BINS - 1]) return;
    const WEIGHT total = totals[node];
    FOR(i, BINS) if (farthest * SLACK <= bound[i]) sums[i] += total;
  }
  DEVICE int reach() const { return 0; }
  DEVICE int open(int node, int) {
    Box box;
    box.load(tree.boxes, node);
    const real nearest = fmin(tree.gap(around[0], box), tree.gap(around[1], box));
    const real farthest = fmax(tree.reach(around[0], box), tree.reach(around[1], box));
    if (!sure(nearest, farthest)) return 0;
    add(farthest, node, all);
    return NOTHING;
  }
  DEVICE bool needs(int node) {
    Box box, point;
    box.load(tree.boxes, node);
    FOR(a, M) point.middle[a] = x[a], point.half[a] = 0;
    const real farthest = tree.reach(point, box);
    if (any_lane(finite && !sure(tree.gap(x, box), farthest))) return true;
    add(farthest, node, own);
    return false;
  }
};

// `sums` of shape (BINS, count); the radii ascend.
KERNEL(WARPS * LANES, 1)
bins(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
     const real* queries, const real* bounds, const int* own, const real* radii, const WEIGHT* weights,
     const WEIGHT* totals, const int* sizes, WEIGHT* sums) {
  const int count = sizes[0], leaf = sizes[1], levels = sizes[2];
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = ((long long)blockIdx.x * WARPS + warp) * LANES + lane;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  if (number - lane >= count) return;
  const bool there = number < count;
  real x[M], bound;
  int slot;
  const bool finite = Queries{queries, bounds, own}.load(there ? number : count - 1, count, there, x, bound, slot);
  const Tree tree{points, rows, boxes, leaf, levels, Period(lengths, *scale)};
  Binning search{tree, boxes_around[warp], x, totals, finite};
  FOR(i, BINS) search.bound[i] = radii[i], search.own[i] = 0, search.all[i] = 0;
  if (any_lane(finite)) {
    around_sides(x, finite, slot < 0 ? ~slot : slot / leaf, boxes_around[warp]);
    Walk<IN_ORDER> walk(levels, lane, stacks[warp], search);
    for (int next; (next = walk.next(search)) >= 0;) {
      const long long first = (long long)next * leaf;
      for (int i = 0; i < leaf; i += 4) {
        FOR(j, 4) {
          const real distance = tree.distance(x, first + i + j);
          const WEIGHT weight = weights[first + i + j];
          FOR(b, BINS) if (distance <= search.bound[b]) search.own[b] += weight;
        }
      }
    }
  }
  FOR(i, BINS) {
    WEIGHT common = search.all[i];
    for (int by = 1; by < LANES; by *= 2) common += shuffle_xor(common, by);
    if (there) sums[(long long)i * count + number] = finite ? search.own[i] + common : 0;
  }
}
