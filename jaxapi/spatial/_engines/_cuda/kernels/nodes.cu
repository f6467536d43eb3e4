// What a search reads of the nodes: their boxes as `Box` has them, and how a query goes down the tree.
#include "planes.cuh"
#include "tree.cuh"

// `lower` and `upper` of shape (M, 2 * leaves); `planes` of shape (leaves,), the first unused; `empty` of shape (2, M): an
// empty box, from which `extent` finds that of queries.
KERNEL(128, 1)
nodes(const real* lower, const real* upper, const real* scale, const real* lengths, const int* sizes, real* boxes,
      Plane* planes, real* empty) {
  const int leaves = 1 << sizes[0];
  const long long node = (long long)blockIdx.x * 128 + threadIdx.x, all = 2ll * leaves;
  if (node >= all) return;
  if (node == 0) FOR(a, M) empty[a] = INFINITE, empty[M + a] = -INFINITE;
  const Period period(lengths, *scale);
  FOR(a, M) {
    const real least = lower[a * all + node], greatest = upper[a * all + node];
    const bool empty = !(least <= greatest);
    const bool bounded = greatest - least < INFINITE;  // the boxes of a flat tree are not
    const real middle = empty || !bounded ? real(0) : least / 2 + greatest / 2;
    const real half = bounded ? fmax(greatest - middle, middle - least) * (1 + 8 * EPSILON) : INFINITE;
    boxes[node * BOX_WORDS + a] = middle;
    boxes[node * BOX_WORDS + M + a] = empty ? -INFINITE : period.sides(a, half);
  }
  for (int i = 2 * M; i < BOX_WORDS; i++) boxes[node * BOX_WORDS + i] = 0;  // loaded with the rest
  if (node >= leaves) return;
  // An inner node is split along the axis on which its children lie farthest apart, or overlap least, and
  // halfway between them.
  const long long left = 2 * node, right = left + 1;
  int axis = 0;
  bool turned = false;  // the first child is the upper one
  real apart = lower[right] - upper[left];
  FOR(a, M) {
    const real here = lower[a * all + right] - upper[a * all + left];
    const real back = lower[a * all + left] - upper[a * all + right];
    if (here > apart) apart = here, axis = a, turned = false;
    if (back > apart) apart = back, axis = a, turned = true;
  }
  const long long low = turned ? right : left, high = turned ? left : right;
  planes[node] = Plane{upper[axis * all + low] / 2 + lower[axis * all + high] / 2, turned ? ~axis : axis};
}
