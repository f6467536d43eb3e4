// What the radius searches share: 32 queries a warp, one to each lane, go together through all leaves that
// one of them can reach, in the order of the slots.
#pragma once
#include "walk.cuh"

#ifndef WARPS
#define WARPS 2  // a block
#endif
#ifndef WRITES
#define WRITES 0
#endif

// Which slots count as a query's neighbors: all; all but its own; those after its own.
enum Relation { ANY, OTHER, LATER };

// A warp's queries: one to each lane.
struct Packet {
  const int count, warp, lane;
  const long long number;  // of this lane's query
  const bool there;
  const long long place;   // the same, or that of the last query
  const Tree tree;
  real x[M], bound;        // scaled; a neighbor has a power distance up to the bound
  bool finite;
  int slot;                // the query's own; from outside ~leaf, the leaf that it falls in, or -1

  // `queries` of shape (M, count); `sizes` has the number of queries, of slots in a leaf, and of levels.
  DEVICE Packet(const real* points, const int* rows, const real* boxes, const real* scale, const real* lengths,
                const real* queries, const real* bounds, const int* own, const int* sizes)
      : count(sizes[0]), warp(threadIdx.x / LANES), lane(threadIdx.x % LANES),
        number((long long)blockIdx.x * (WARPS * LANES) + threadIdx.x), there(number < count),
        place(there ? number : count - 1),
        tree{points, rows, boxes, sizes[1], sizes[2], Period(lengths, *scale)}, finite(there) {
    FOR(a, M) {
      x[a] = queries[a * (long long)count + place];
      finite &= fabs(x[a]) < INFINITE;
    }
    FOR(a, M) x[a] = finite ? x[a] : real(0);
    bound = finite ? bounds[place] : real(-1);
    slot = own[place];
  }
  DEVICE bool none() const { return number - lane >= count; }
  DEVICE void surround(bool marked, Box (&boxes)[2]) const {
    around_sides(x, marked, slot < 0 ? ~slot : slot / tree.leaf, boxes);
  }
};

// A visitor that looks for the leaves within the lanes' bounds.
struct Within {
  const Tree& tree;
  const Box* around;
  const real (&x)[M];
  real bound;  // of this lane
  const int slot, first_slot;  // the query's own, and the least of the packet's
  const int reach_bits;

  DEVICE Within(const Packet& packet, Box (&around)[2])
      : tree(packet.tree), around(around), x(packet.x), bound(packet.bound), slot(packet.slot),
        first_slot(warp_min(packet.slot)), reach_bits(warp_max(bits_above(packet.bound * SLACK))) {
    packet.surround(bound >= 0, around);
  }
  DEVICE int reach() const { return reach_bits; }
  DEVICE bool passed(int node, int height) const {  // all slots come before those wanted
    if (RELATION != LATER) return false;
    return tree.first_slot(node + 1, height) <= unsigned(first_slot + 1);
  }
  DEVICE int open(int node, int height) const {
    Box box;
    box.load(tree.boxes, node);
    if (passed(node, height)) return NOTHING;
    return bits_below(fmin(tree.gap(around[0], box), tree.gap(around[1], box)));
  }
  DEVICE bool needs(int node, int, int, int&) const {
    Box box;
    box.load(tree.boxes, node);
    return any_lane(tree.gap(x, box) <= bound * SLACK);
  }
  // Tell whether a slot at a power distance is a neighbor.
  DEVICE bool hit(real distance, unsigned number) const {
    return distance <= bound &&
           (RELATION == ANY || (RELATION == OTHER ? int(number) != slot : int(number) > slot));
  }
};

// What is written of each neighbor: its row and distance; also the row of the query; or a pair of both rows.
enum { NEIGHBORS, EDGES, PAIRS };

struct alignas(8) Pair { int low, high; };

// Where this lane writes.
struct Lines {
  int* rows;
  real* distances;
  int* queries;
  Pair* pairs;
  const int query;
  const real back;  // from scaled distances to the user's; exact, a power of two

  DEVICE Lines(int query, real scale) : query(query), back(1 / scale) {}
  template <class Place> DEVICE void write(Place position, real distance, int row) const {
    if (WRITES == PAIRS) {
      pairs[position] = Pair{min(query, row), max(query, row)};
    } else {
      rows[position] = row;
      distances[position] = root(distance) * back;
      if (WRITES == EDGES) queries[position] = query;
    }
  }
};

// Write this lane's neighbors from a position on, in the order of the slots, none at or past `stop`; return
// where they end, or would end. With STOPS a lane that has no room for more may leave off.
template <bool STOPS, class Place>
DEVICE Place write_neighbors(Within& search, Stack& stack, Place position, Place stop, const Lines& lines) {
  const Tree& tree = search.tree;
  Walk<IN_ORDER> walk(tree.levels, threadIdx.x % LANES, stack, search);
  for (int next; (next = walk.next(search)) >= 0;) {
    const unsigned first = unsigned(next) * tree.leaf;
    for (int i = 0; i < tree.leaf; i += EIGHT) {
      const bool all = i + 4 < tree.leaf;
      real distance[EIGHT];
      tree.distances(search.x, first + i, all, distance);
      if (!any_lane(least(distance) <= search.bound)) continue;
      int row[EIGHT];
      load_rows(tree.rows, first + i, all, row);
      FOR(j, EIGHT) if (search.hit(distance[j], first + i + j)) {
        if (position < stop) lines.write(position, distance[j], row[j]);
        position++;
      }
    }
    if (STOPS && position >= stop) search.bound = -1;
  }
  return position;
}
