// Sum the slots' weights within each of several radii of each query.
#include "radius.cuh"

// Each lane has a histogram of its own in shared memory: the weights between one radius and the next. A node
// that falls into one bin as a whole is not visited: for all lanes where a group of nodes is opened, each
// lane for itself before a node is entered.
struct Binning {
  enum { OUTSIDE = -1, UNSURE = -2 };

  const Tree& tree;
  const Box* around;
  const real (&x)[M];
  const WEIGHT* totals;  // (2 * leaves): the weight of each node
  const bool finite;
  const real* bounds;  // (LANES), ascending power distances, then inf
  const real last;     // the greatest bound
  WEIGHT* own;         // (BINS, LANES), of this lane
  WEIGHT* all;         // the same of what counts for all lanes

  // The first radius that reaches a power distance, which the last one does.
  DEVICE int bin(real distance) const {
    int bin = 0;
    FOR(i, 5) {
      const int step = 16 >> i;
      if (distance > bounds[bin + step - 1]) bin += step;
    }
    return bin;
  }
  DEVICE int bin_of_node(real nearest, real farthest) const {
    nearest *= 2 - SLACK;
    farthest *= SLACK;
    if (nearest > last) return OUTSIDE;
    if (farthest > last) return UNSURE;
    const int found = bin(nearest);
    return found == bin(farthest) ? found : UNSURE;
  }
  DEVICE int reach() const { return 0; }
  DEVICE int open(int node, int) const {
    Box box;
    box.load(tree.boxes, node);
    const real nearest = fmin(tree.gap(around[0], box), tree.gap(around[1], box));
    const real farthest = fmax(tree.reach(around[0], box), tree.reach(around[1], box));
    const int bin = bin_of_node(nearest, farthest);
    if (bin >= 0) all[bin * LANES] += totals[node];
    return bin == UNSURE ? 0 : NOTHING;
  }
  DEVICE bool needs(int node, int, int, int&) const {
    Box box, point;
    box.load(tree.boxes, node);
    FOR(a, M) point.middle[a] = x[a], point.half[a] = 0;
    const int bin = finite ? bin_of_node(tree.gap(x, box), tree.reach(point, box)) : OUTSIDE;
    if (any_lane(bin == UNSURE)) return true;
    if (bin >= 0) own[bin * LANES] += totals[node];
    return false;
  }
};

// `sums` of shape (BINS, count); the radii ascend.
KERNEL(WARPS * LANES, 1)
bins(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
     const real* queries, const real* bounds, const int* own, const real* radii, const WEIGHT* weights,
     const WEIGHT* totals, const int* sizes, WEIGHT* sums) {
  const Packet packet(points, rows, boxes, scale, lengths, queries, bounds, own, sizes);
  const int warp = packet.warp, lane = packet.lane;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  __shared__ real ascending[WARPS][LANES];
  __shared__ WEIGHT histograms[WARPS][2][BINS * LANES];
  if (packet.none()) return;
  const Tree& tree = packet.tree;
  WEIGHT *const mine = histograms[warp][0] + lane, *const common = histograms[warp][1] + lane;
  FOR(i, BINS) mine[i * LANES] = common[i * LANES] = 0;
  ascending[warp][lane] = lane < BINS ? radii[lane] : INFINITE;
  warp_barrier();
  if (any_lane(packet.finite)) {
    packet.surround(packet.finite, boxes_around[warp]);
    Binning search{tree, boxes_around[warp], packet.x, totals, packet.finite, ascending[warp], radii[BINS - 1],
                   mine, common};
    Walk<IN_ORDER> walk(tree.levels, lane, stacks[warp], search);
    for (int next; (next = walk.next(search)) >= 0;) {
      const unsigned first = unsigned(next) * tree.leaf;
      for (int i = 0; i < tree.leaf; i += EIGHT) {
        real distance[EIGHT];
        tree.distances(packet.x, first + i, i + 4 < tree.leaf, distance);
        FOR(j, EIGHT) if (distance[j] <= search.last)
          mine[search.bin(distance[j]) * LANES] += weights[first + i + j];
      }
    }
  }
  WEIGHT sum = 0;
  FOR(i, BINS) {
    WEIGHT of_all = common[i * LANES];
    for (int by = 1; by < LANES; by *= 2) of_all += shuffle_xor(of_all, by);
    sum += mine[i * LANES] + of_all;
    if (packet.there) sums[(long long)i * packet.count + packet.number] = packet.finite ? sum : 0;
  }
}
