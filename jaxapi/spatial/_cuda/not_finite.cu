// Write a 1 to `found` where one of `count` numbers is not finite. Both lie in the host's memory.
#include "metric.cuh"

constexpr int THREADS = 256, EACH = 16;  // numbers of a thread; the caller has the same

KERNEL(THREADS, 1) not_finite(const real* numbers, const long long* count, int* found) {
  const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x, end = *count;
  bool any = false;
  FOR(i, EACH) {
    const long long place = first + i * THREADS;
    if (place < end) any |= !(numbers[place] - numbers[place] == 0);
  }
  if (any) *found = 1;
}
