// Running sums of counts: where the results of each query begin. They end at the largest number of 32 bits.
#include "warp.cuh"

using Sum = unsigned long long;
constexpr Sum LARGEST = 0x7fffffff;
constexpr int THREADS = 256, EACH = 16, WARPS = THREADS / LANES;  // a block; numbers of a thread

// Of one number of each thread of a block: the sum up to it and, in `whole`, of all.
DEVICE Sum sum_up_to(Sum value, Sum (&of_warps)[WARPS], Sum& whole) {
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  for (int by = 1; by < LANES; by *= 2) {
    const Sum before = shuffle_up(value, by);
    if (lane >= by) value += before;
  }
  block_barrier();  // who has read what is there of the last time
  if (lane == LANES - 1) of_warps[warp] = value;
  block_barrier();
  whole = 0;
  for (int i = 0; i < WARPS; i++) {
    if (i < warp) value += of_warps[i];
    whole += of_warps[i];
  }
  return value;
}

// `counts` of shape (sizes[0],). First the `totals` of the blocks; then, from these, `ends` of shape (sizes[0] + 1,):
// 0, and the sums up to each count.
KERNEL(THREADS, 1)
#if BLOCKS
sums(const unsigned* counts, const int* sizes, unsigned* totals) {
#else
sums(const unsigned* counts, const unsigned* totals, const int* sizes, unsigned* ends) {
#endif
  __shared__ Sum of_warps[WARPS];
  const long long size = sizes[0], first = ((long long)blockIdx.x * THREADS + threadIdx.x) * EACH;
  unsigned own[EACH];
  Sum sum = 0, whole;
#pragma unroll
  for (int i = 0; i < EACH; i++) sum += own[i] = first + i < size ? counts[first + i] : 0;
#if BLOCKS
  sum_up_to(sum, of_warps, whole);
  if (threadIdx.x == 0) totals[blockIdx.x] = whole < LARGEST ? whole : LARGEST;
#else
  Sum before = 0, start;
  for (int i = threadIdx.x; i < (int)blockIdx.x; i += THREADS) before += totals[i];
  sum_up_to(before, of_warps, start);
  Sum end = start + sum_up_to(sum, of_warps, whole) - sum;
  if (blockIdx.x == 0 && threadIdx.x == 0) ends[0] = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    end += own[i];
    if (first + i < size) ends[first + i + 1] = end < LARGEST ? end : LARGEST;
  }
#endif
}
