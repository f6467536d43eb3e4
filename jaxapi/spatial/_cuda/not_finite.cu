// Write a 1 to `found`, in the host's memory, where one of `count` numbers is not finite.
#include "metric.cuh"

constexpr int THREADS = 256, EACH = 16;  // numbers of a thread; the caller has the same

KERNEL(THREADS, 1) not_finite(const real* numbers, long long count, int* found) {
  const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x;
  bool any = false;
  FOR(i, EACH) {
    const long long place = first + i * THREADS;
    if (place < count) any |= !(numbers[place] - numbers[place] == 0);
  }
  if (any) *found = 1;
}
