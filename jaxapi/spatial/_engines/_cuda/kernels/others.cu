// Find the nearest point of another component, of the slots that may decide which edge is a component's first.
#include "spanning.cuh"
#include "walk.cuh"

#ifndef WARPS
#define WARPS 2  // a block
#endif

struct Others {
  const Tree& tree;
  const Cores& cores;
  const Box* around;
  const real (&x)[M];
  const int *known, *labels;
  real* uppers;
  const bool active;
  const int own, all;      // the lane's component, and that of all lanes that search, else -2
  const real core, floor;  // nothing is nearer than the floor
  const real nearer;       // a box must be nearer than the limit by this factor
  real limit;              // the best so far: its distance, row and slot
  int row, near, reach_bits;

  DEVICE real reached() const { return limit < floor ? real(-1) : limit * nearer; }
  DEVICE int reach() const { return reach_bits; }
  DEVICE bool wants(real distance, int other) const { return before(distance, other, limit, row); }

  // Look no farther than what is known of the component; others search for it, too.
  DEVICE void update() {
    if (active) {
      const real upper = latest(uppers + own);
      if (upper < limit) limit = upper, row = NOTHING, near = -1;
      else if (near >= 0 && limit < upper) lower_to(uppers + own, limit);
    }
    reach_bits = warp_max(bits_above(reached()));
  }
  DEVICE int open(int node, int) const {
    if (known[node] == all) return NOTHING;
    Box box;
    box.load(tree.boxes, node);
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
  DEVICE bool needs(int node, int height, int, int&) const {
    Box box;
    box.load(tree.boxes, node);
    const real gap = tree.gap(x, box);
    bool near = gap <= reached() && known[node] != own;
    if (near && box.is_point()) {  // the first of its copies has the lowest row
      const unsigned first = tree.first_slot(node, height);
      near = wants(cores.mutual(core, first, gap), tree.rows[first]);
    }
    return any_lane(near);
  }
  DEVICE void visit(int leaf) {
    const unsigned first = unsigned(leaf) * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      const bool whole = i + 4 < tree.leaf;
      real distance[EIGHT];
      tree.distances(x, first + i, whole, distance);
      if (!any_lane(least(distance) <= reached())) continue;
      int rows[EIGHT], label[EIGHT];
      load_rows(tree.rows, first + i, whole, rows);
      load_rows(labels, first + i, whole, label);
      FOR(j, EIGHT) if (label[j] != own && distance[j] <= reached()) {
        const real mutual = cores.mutual(core, first + i + j, distance[j]);
        if (wants(mutual, rows[j])) limit = mutual, row = rows[j], near = first + i + j;
      }
    }
    update();
  }
};

// The arrays are those of `bounds`; `near` and `apart` are brought up to date where the component may need it.
KERNEL(WARPS * LANES, 1)
others(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
       const real* core_distances, const real* shortens, const int* labels, const int* known, const int* valid,
       const int* sizes, const real*, const int*, const real*, real* uppers, int* near, real* apart) {
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long number = (long long)blockIdx.x * (WARPS * LANES) + threadIdx.x;
  __shared__ Stack stacks[WARPS];
  __shared__ Box boxes_around[WARPS][2];
  const Tree tree{points, rows, boxes, sizes[0], sizes[1], Period(lengths, *scale)};
  const Cores cores{core_distances, shortens};
  const int slot = int(min(number, tree.slots() - 1)), own = labels[slot];
  const real floor = apart[slot], limit = fmin(latest(uppers + own), below(INFINITE));
  const bool active = number < *valid && !(near[slot] >= 0 && labels[near[slot]] != own) && floor <= limit;
  if (!any_lane(active)) return;
  real x[M];
  FOR(a, M) x[a] = active ? points[a * tree.slots() + slot] : INFINITE;
  around_sides(x, active, slot / tree.leaf, boxes_around[warp]);
  const int least = warp_min(active ? own : NOTHING), greatest = warp_max(active ? own : -1);
  const real nearer = CORES ? SLACK * SLACK / *shortens : SLACK;
  Others search{tree, cores, boxes_around[warp], x, known, labels, uppers, active, own, least == greatest ? least : -2,
                CORES ? core_distances[slot] : real(0), active ? floor : INFINITE, nearer, limit, NOTHING, -1, 0};
  search.update();
  Walk<NEAREST_FIRST> walk(tree.levels, lane, stacks[warp], search);
  for (int next; (next = walk.next(search)) >= 0;) search.visit(next);
  if (!active) return;
  near[slot] = search.near;
  apart[slot] = search.near >= 0 ? search.limit : fmax(floor, above(search.limit));
}
