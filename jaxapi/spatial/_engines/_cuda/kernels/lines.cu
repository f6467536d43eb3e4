// The first lines of an array, and behind them what stands for none. Inputs come with another length at each call, and
// the program that this kernel is part of is the same: no memory behind the first lines is read.
#include "warp.cuh"

constexpr int THREADS = 256, EACH = 8;  // a block; numbers of a thread
using From = FROM;
using To = TO;

#if FROM_HALF == 11  // float16, by its bits: the number of bits of its significand
DEVICE float number(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
  const float finite = __int_as_float(size << 13) * __int_as_float(0x77800000);  // times 2**112
  const unsigned value = size < 0x7c00u ? __float_as_uint(finite) : 0x7f800000u | size << 13;
  return __int_as_float(sign | value);
}
#elif FROM_HALF == 8  // bfloat16
DEVICE float number(unsigned short bits) { return __int_as_float((unsigned)bits << 16); }
#else
DEVICE From number(From x) { return x; }
#endif

// The numbers at an address, of two words, to `out` of shape (sizes[0], width); the width is sizes[1]. XLA waits for
// whatever `after` is.
KERNEL(THREADS, 1)
lines(const unsigned* address, const From* after, const int* count, const int* sizes, To* out) {
  const From* x = (const From*)((unsigned long long)address[1] << 32 | address[0]);
  const long long width = sizes[1], all = sizes[0] * width, there = *count * width;
  const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const long long place = first + i * THREADS;
    if (place >= all) return;
    out[place] = place < there ? To(number(x[place])) : To(MISSING);
  }
}
