// The order of queries: a key for each, of the leaf that it falls in and, below that, its place on a Morton
// curve through the leaf's cell. A cell is the part of the queries' own box that the splits leave to a node.
//
// Far from all points the splits tell queries apart badly, and a great many share a leaf. Those that are far from the
// node some levels above their leaf come behind the others of that node, by their place on a curve through its cell.
#include "planes.cuh"
#include "tree.cuh"

// A query is far that is farther from the node than so much of half its widest side.
constexpr real FAR = real(0.5);

DEVICE bool is_far(const real (&x)[M], const Box& box) {
  real out = 0, widest = 0;
  FOR(a, M) {
    out = fmax(out, fabs(x[a] - box.middle[a]) - box.half[a]);
    widest = fmax(widest, box.half[a]);
  }
  return out > widest * FAR;
}

// The number of the part of [low, high] that x is in, of 2**bits.
DEVICE int place(real x, real low, real high, int bits) {
  const real half = high / 2 - low / 2;
  const real part = (x / 2 - low / 2) / (half > 0 ? half : real(1)) * (1 << bits);
  return min(max(int(part), 0), (1 << bits) - 1);
}

// `box` of shape (2, M): the queries' own, in their units, as they are. The sizes tell how many levels above the
// leaf the node is, and how many bits for each of how many axes a place has in the cells of both.
KERNEL(128, 1)
order(const real* boxes, const Plane* planes, const real* scale, const real* box, const real* queries, const int* sizes,
      unsigned* keys, int* numbers, int* leaves) {
  const int count = sizes[0], levels = sizes[1], above = sizes[2], rest = 31 - levels;
  const long long own = (long long)blockIdx.x * 128 + threadIdx.x;
  if (own >= count) return;
  const real unit = *scale;
  real x[M], low[M], high[M], node_low[M], node_high[M];
  bool finite = true;
  FOR(a, M) {
    x[a] = queries[own * M + a] * unit;
    finite &= fabs(x[a]) < INFINITE;
    low[a] = box[a] * unit;
    high[a] = box[M + a] * unit;
  }
  FOR(a, M) x[a] = finite ? x[a] : real(0);
  int node = 1;
  for (int level = 0; level < levels; level++) {
    if (level == levels - above) FOR(a, M) node_low[a] = low[a], node_high[a] = high[a];
    const Plane plane = planes[node];
    const bool turned = plane.axis < 0;
    const int axis = turned ? ~plane.axis : plane.axis;
    bool beyond = x[0] > plane.at;
    FOR(a, M) if (a == axis) {
      beyond = x[a] > plane.at;
      if (beyond) low[a] = fmax(low[a], plane.at);
      else high[a] = fmin(high[a], plane.at);
    }
    node = 2 * node + (beyond != turned);
  }
  const int leaf = node - (1 << levels);
  Box around;
  around.load(boxes, node >> above);
  const bool far = is_far(x, around);
  const int bits = sizes[far ? 5 : 3], axes = sizes[far ? 6 : 4], left = (far ? rest + above : rest) - bits * axes;
  int places[M];
  FOR(a, M) places[a] = place(x[a], far ? node_low[a] : low[a], far ? node_high[a] : high[a], bits);
  unsigned key = (leaf >> above) * 2 + far;
  if (!far) key = key << above | (leaf & ((1 << above) - 1));
  for (int bit = bits; bit-- > 0;) FOR(a, M) if (a < axes) key = key << 1 | (places[a] >> bit & 1);
  keys[own] = key << left;
  numbers[own] = int(own);
  leaves[own] = leaf;
}
