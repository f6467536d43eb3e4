// What the 32 lanes of a warp do together. All else is plain C++, so that a host compiler takes the same
// sources once it is given these few functions (the tests have them, for 32 lanes in lockstep).
#pragma once
#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

DEVICE unsigned lanes_where(bool flag) { return __ballot_sync(~0u, flag); }
DEVICE bool any_lane(bool flag) { return __any_sync(~0u, flag); }
template <class T> DEVICE T shuffle(T value, int lane) { return __shfl_sync(~0u, value, lane); }
template <class T> DEVICE T shuffle_xor(T value, int mask) { return __shfl_xor_sync(~0u, value, mask); }
template <class T> DEVICE T shuffle_up(T value, int by) { return __shfl_up_sync(~0u, value, by); }
DEVICE void warp_barrier() { __syncwarp(); }

#if __CUDA_ARCH__ >= 800
DEVICE int warp_min(int value) { return __reduce_min_sync(~0u, value); }
DEVICE int warp_max(int value) { return __reduce_max_sync(~0u, value); }
DEVICE int warp_sum(int value) { return __reduce_add_sync(~0u, value); }
#else
DEVICE int warp_min(int value) {
  for (int by = 16; by; by /= 2) value = min(value, shuffle_xor(value, by));
  return value;
}
DEVICE int warp_max(int value) {
  for (int by = 16; by; by /= 2) value = max(value, shuffle_xor(value, by));
  return value;
}
DEVICE int warp_sum(int value) {
  for (int by = 16; by; by /= 2) value += shuffle_xor(value, by);
  return value;
}
#endif

#endif
