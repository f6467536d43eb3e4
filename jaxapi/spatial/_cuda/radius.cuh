// What the radius searches share: 32 queries a warp, one to each lane, go together through all leaves that
// one of them can reach, in the order of the slots.
#pragma once
#include "walk.cuh"

#ifndef WARPS
#define WARPS 2  // a block
#endif

// Which slots count as a query's neighbours: all; all but its own; those after its own.
enum Relation { ANY, OTHER, LATER };

struct Queries {
  const real* points;  // (M, count), scaled
  const real* bounds;  // (count): a neighbour has a power distance up to this
  const int* own;      // (count): the query's slot; from outside ~leaf, the leaf that it falls in, or -1

  DEVICE bool load(long long place, long long count, bool there, real (&x)[M], real& bound, int& slot) const {
    bool finite = there;
    FOR(a, M) {
      x[a] = points[a * count + place];
      finite &= fabs(x[a]) < INFINITE;
    }
    FOR(a, M) x[a] = finite ? x[a] : real(0);
    bound = finite ? bounds[place] : real(-1);
    slot = own[place];
    return finite;
  }
};

// A visitor that looks for the leaves within the lanes' bounds.
struct Within {
  const Tree& tree;
  const Box* around;
  const real (&x)[M];
  real bound;  // of this lane
  const int slot, first_slot;  // the query's own, and the least of the packet's
  int reach_bits;

  DEVICE void update() { reach_bits = warp_max(bits_above(bound * SLACK)); }
  DEVICE int reach() const { return reach_bits; }
  DEVICE bool passed(int node, int height) const {  // all slots come before those wanted
    if (RELATION != LATER) return false;
    return tree.first_slot(node + 1, height) <= first_slot + 1;
  }
  DEVICE int open(int node, int height) const {
    Box box;
    box.load(tree.boxes, node);
    if (passed(node, height)) return NOTHING;
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
  DEVICE bool needs(int node, int) const {
    Box box;
    box.load(tree.boxes, node);
    return any_lane(tree.gap(x, box) <= bound * SLACK);
  }
  // Tell whether a slot at a power distance is a neighbour.
  DEVICE bool hit(real distance, long long number) const {
    return distance <= bound &&
           (RELATION == ANY || (RELATION == OTHER ? number != slot : number > slot));
  }
};

// Write this lane's neighbours from a position on, in the order of the slots, none at or past `stop`; return
// where they end, or would end. With STOPS a lane that has no room for more may leave off.
template <bool STOPS, class Place>
DEVICE Place write_neighbours(Within& search, int levels, Stack& stack, Place position, Place stop, real back,
                              int* found_rows, real* found) {
  const Tree& tree = search.tree;
  Walk<IN_ORDER> walk(levels, threadIdx.x % LANES, stack, search);
  for (int next; (next = walk.next(search)) >= 0;) {
    const long long first = (long long)next * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      const bool all = i + 4 < tree.leaf;
      real distance[EIGHT];
      tree.distances(search.x, first + i, all, distance);
      real nearest = distance[0];
      FOR(j, EIGHT) nearest = fmin(nearest, distance[j]);
      if (!any_lane(nearest <= search.bound)) continue;
      int row[EIGHT];
      load_rows(tree.rows, first + i, all, row);
      FOR(j, EIGHT) if (search.hit(distance[j], first + i + j)) {
        if (position < stop) {
          found_rows[position] = row[j];
          found[position] = root(distance[j]) * back;
        }
        position++;
      }
    }
    if (STOPS && position >= stop) search.bound = -1;
  }
  return position;
}
