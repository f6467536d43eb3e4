// Sort each query's neighbors by (distance, row), one query a warp, and fill up the rest of its line.
#include "spread.cuh"

#ifndef WARPS
#define WARPS 4  // a block
#endif

// Sort a line of up to 32 * COUNT neighbors, in as few rows of registers as hold them.
template <int COUNT>
DEVICE void sort_line(int held, int limit, int missing, int lane, int* found_rows, real* found) {
  if constexpr (COUNT < ROWS) {
    if (held > COUNT * LANES) return sort_line<2 * COUNT>(held, limit, missing, lane, found_rows, found);
  }
  Pairs<COUNT> items;
  FOR(j, COUNT) {
    const int place = j * LANES + lane;
    items.d[j] = place < held ? found[place] : INFINITE;
    items.row[j] = place < held ? found_rows[place] : missing;
  }
  sort_spread(items, lane);
  FOR(j, COUNT) {
    const int place = j * LANES + lane;
    if (place < limit) found[place] = items.d[j], found_rows[place] = items.row[j];
  }
  for (int place = COUNT * LANES + lane; place < limit; place += LANES)
    found[place] = INFINITE, found_rows[place] = missing;
}

// `found_rows` and `found` of shape (count, limit), of which each query has `counts`; in place. K is limit or more.
KERNEL(WARPS * LANES, 1)
sorted(const int* n, const int* counts, const int* sizes, const int*, const real*, int* found_rows, real* found) {
  const int count = sizes[0], limit = sizes[1];
  const int lane = threadIdx.x % LANES;
  const long long own = (long long)blockIdx.x * WARPS + threadIdx.x / LANES;
  if (own >= count) return;
  sort_line<1>(min(counts[own], limit), limit, *n, lane, found_rows + own * limit, found + own * limit);
}
