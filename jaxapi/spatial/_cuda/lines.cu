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

// `x` of shape (count, width) at least, `out` of shape (sizes[0], width); the width is sizes[1].
KERNEL(THREADS, 1)
lines(const From* x, const int* count, const int* sizes, To* out) {
  const long long width = sizes[1], all = sizes[0] * width, there = *count * width;
  const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const long long place = first + i * THREADS;
    if (place >= all) return;
#if INTEGERS
    out[place] = place < there ? To(number(x[place])) : To(MISSING);
#else
    out[place] = place < there ? To(number(x[place])) : To(__int_as_float(0x7fc00000));
#endif
  }
}
