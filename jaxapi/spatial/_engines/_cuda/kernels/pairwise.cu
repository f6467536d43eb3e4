// The sums, or the greatest, of the terms of all pairs of rows. A block has a tile of rows of either side, some
// coordinates of which lie in shared memory at a time; a thread has ROWS x COLUMNS pairs.
#include "metric.cuh"

constexpr int ACROSS = 16, DOWN = 16, ROWS = 8, COLUMNS = 4, DEPTH = 16;
constexpr int HEIGHT = DOWN * ROWS, WIDTH = ACROSS * COLUMNS;

// Add a term. What is NaN stays NaN.
DEVICE void add_term(real& total, real one, real other, real weight) {
  const real apart = one - other;
#if TERM == 0
  total = fma(WEIGHTED ? apart * apart : apart, WEIGHTED ? weight : apart, total);
#elif TERM == 1
  total = WEIGHTED ? fma(real(fabs(apart)), weight, total) : total + fabs(apart);
#elif TERM == 2
  const real size = WEIGHTED && !(weight > 0) ? real(0) : real(fabs(apart));
  total = size > total || size != size ? size : total;
#else
  total += one != other ? (WEIGHTED ? weight : real(1)) : real(0);
#endif
}

// Bring coordinates from `first` on of some rows, 0 where there are none.
template <int SIZE>
DEVICE void bring(const real* x, long long row, long long rows, int first, int m, real (&tile)[DEPTH][SIZE + WORDS]) {
  const int axis = threadIdx.x % DEPTH;
  for (int i = threadIdx.x / DEPTH; i < SIZE; i += ACROSS * DOWN / DEPTH)
    tile[axis][i] = row + i < rows && first + axis < m ? x[(row + i) * m + first + axis] : real(0);
}

// `a` of shape (rows, m), `b` of shape (columns, m), `weights` of shape (m,), `totals` of shape (rows, columns).
KERNEL(ACROSS * DOWN, DOUBLE ? 1 : 2)
pairwise(const real* a, const real* b, const real* weights, const int* sizes, real* totals) {
  const int rows = sizes[0], columns = sizes[1], m = sizes[2], tiles = (columns + WIDTH - 1) / WIDTH;
  const long long top = (long long)(blockIdx.x / tiles) * HEIGHT, left = (long long)(blockIdx.x % tiles) * WIDTH;
  const int down = threadIdx.x / ACROSS, across = threadIdx.x % ACROSS;
  alignas(16) __shared__ real ones[DEPTH][HEIGHT + WORDS];
  alignas(16) __shared__ real others[DEPTH][WIDTH + WORDS];
  real total[ROWS][COLUMNS] = {};
  for (int first = 0; first < m; first += DEPTH) {
    bring<HEIGHT>(a, top, rows, first, m, ones);
    bring<WIDTH>(b, left, columns, first, m, others);
    block_barrier();
    real part[ROWS][COLUMNS] = {};  // sums of few, so that few roundings follow one another
#pragma unroll 4
    for (int k = 0; k < DEPTH; k++) {
      const real weight = WEIGHTED && first + k < m ? weights[first + k] : real(0);
      real one[ROWS], other[COLUMNS];
      FOR(i, ROWS) one[i] = ones[k][down * ROWS + i];
      FOR(j, COLUMNS) other[j] = others[k][across + j * ACROSS];
      FOR(i, ROWS) FOR(j, COLUMNS) add_term(part[i][j], one[i], other[j], weight);
    }
    FOR(i, ROWS) FOR(j, COLUMNS) {
      if (TERM == 2) add_term(total[i][j], part[i][j], real(0), real(1));
      else total[i][j] += part[i][j];
    }
    block_barrier();
  }
  FOR(i, ROWS) FOR(j, COLUMNS) {
    const long long row = top + down * ROWS + i, column = left + across + j * ACROSS;
    if (row < rows && column < columns) totals[row * columns + column] = total[i][j];
  }
}
