// One warp walks the tree: the traversal that all searches share.
//
// The nodes are met in groups of 32, those five levels below one node, a lane for each. A lane finds how far
// its node is from the box around the warp's queries; the nodes within reach wait in its registers and, for
// the groups above, in shared memory. Before a node is entered the visitor looks closer.
#pragma once
#include "tree.cuh"

constexpr int SPLITS = 5;
constexpr int DEPTHS = 6;  // groups above the leaves', in a tree of 2**31 slots

// Measures are not negative. Those in shared memory have the 16 bits below the sign: that is a little less, never more.
using Stack = unsigned short[DEPTHS * LANES];

enum Order { NEAREST_FIRST, IN_ORDER };

// Whose neighbors are searched, and in which order.
enum Source {
  ORDERED,       // queries, in an order
  AS_THEY_COME,  // queries
  POINTS,        // the tree's points, slot by slot: `order` has their rows, where their results go
  SLOTS,         // the same from one slot on, and so do their results
};

// The visitor has
//   int open(int node, int height)  once for each node: a measure of the lane's, so many levels above the
//                                   leaves; NOTHING to leave it out
//   int reach()                     the greatest measure of nodes to be visited now
//   bool needs(int node, int height, int own, int& waiting)  all lanes: look closer; may leave out, by NOTHING in
//                                   its place, what waits of the lane's own node
template <Order order> struct Walk {
  const int levels, lane;
  Address top;  // of the stack (DEPTHS, LANES), this lane's place
  int depth, base, height, waiting;

  template <class Visitor>
  DEVICE Walk(int levels, int lane, Stack& stack, Visitor& visitor)
      : levels(levels), lane(lane), top(address_of(stack + lane)), depth(0) {
    base = first_group();
    height = levels - (levels - 1) % SPLITS - 1;
    waiting = lane < base ? visitor.open(base + lane, height) : NOTHING;  // which may count what it leaves out
  }

  DEVICE int first_group() const { return 2 << (levels - 1) % SPLITS; }

  // Return the next leaf, -1 at the end.
  template <class Visitor> DEVICE int next(Visitor& visitor) {
    while (true) {
      unsigned chosen;
      if (order == NEAREST_FIRST) {
        const int nearest = warp_min(waiting);
        chosen = nearest <= visitor.reach() ? lanes_where(waiting == nearest) : 0;
      } else {
        chosen = lanes_where(waiting <= visitor.reach());
      }
      if (!chosen) {
        if (!depth) return -1;
        depth--;
        height += SPLITS;
        top -= sizeof(Stack) / DEPTHS;
        waiting = taken<unsigned short>(top) << 15;
        base = depth ? base >> SPLITS & -LANES : first_group();
        continue;
      }
      const int child = __ffs(chosen) - 1, node = base + child;
      if (lane == child) waiting = NOTHING;
      if (!visitor.needs(node, height, base + lane, waiting)) continue;
      if (!height) return node - (1 << levels);
      put(top, (unsigned short)(waiting >> 15));
      top += sizeof(Stack) / DEPTHS;
      depth++;
      height -= SPLITS;
      base = node << SPLITS;
      waiting = visitor.open(base + lane, height);
    }
  }
};

// The bits of a coarse number as integers in the order of the numbers, negative ones too.
DEVICE int in_order(int bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

// The box around the queries of the lanes that are marked; an empty one where none is.
DEVICE Box around(const real (&x)[M], bool marked) {
  Box box;
  FOR(a, M) {
    const int least = warp_min(marked ? in_order(bits_below(x[a])) : NOTHING);
    const int greatest = warp_max(marked ? in_order(bits_above(x[a])) : ~NOTHING);
    const real low = number_of(in_order(least)), high = number_of(in_order(greatest));
    const bool empty = least > greatest;
    box.middle[a] = empty ? real(0) : low / 2 + high / 2;
    box.half[a] = empty ? -INFINITE : fmax(high - box.middle[a], box.middle[a] - low) * (1 + 8 * EPSILON);
  }
  return box;
}

// Two boxes around the packet's queries: those on each side of the highest split among them, since neighbors
// in the order of the leaves may lie far apart there.
DEVICE void around_sides(const real (&x)[M], bool marked, int home, Box (&boxes)[2]) {
  const int apart = shuffle(home, 0) ^ shuffle(home, LANES - 1);
  const bool right = apart > 0 && home >> (31 - __clz(apart)) & 1;
  const Box one = around(x, marked && !right), two = around(x, marked && right);
  if (threadIdx.x % LANES == 0) boxes[0] = one, boxes[1] = two;
  warp_barrier();
}
