// What the 32 lanes of a warp do together, and the warps of a block. All else is plain C++, so that a host compiler takes the same
// sources once it is given these few functions (the tests have them, for 32 lanes in lockstep).
#pragma once

constexpr int LANES = 32;

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
#ifdef ITEMS
// The kernel, written behind this source (`_compile.py`), calls it for each item of a batch, on arrays of that item.
#define KERNEL(threads, blocks) \
  constexpr int MOST_THREADS = threads, LEAST_BLOCKS = blocks; \
  DEVICE void
struct Array {
  char* at;
  template <class T> DEVICE operator T*() const { return reinterpret_cast<T*>(at); }
};
#else
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif

DEVICE unsigned lanes_where(bool flag) { return __ballot_sync(~0u, flag); }
DEVICE bool any_lane(bool flag) { return __any_sync(~0u, flag); }
template <class T> DEVICE T shuffle(T value, int lane) { return __shfl_sync(~0u, value, lane); }
template <class T> DEVICE T shuffle_xor(T value, int mask) { return __shfl_xor_sync(~0u, value, mask); }
template <class T> DEVICE T shuffle_up(T value, int by) { return __shfl_up_sync(~0u, value, by); }
DEVICE void warp_barrier() { __syncwarp(); }
DEVICE void block_barrier() { __syncthreads(); }

// Lower or raise a number that others lower or raise, too. The bits of numbers of one sign order like integers; what
// is read first may be out of date, and saves most of the work where it is not.
DEVICE void lower_to(float* at, float value) {
  if (!(value < *at)) return;
  value += 0;  // there is one zero
  if (value >= 0) atomicMin(reinterpret_cast<int*>(at), __float_as_int(value));
  else atomicMax(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
}
DEVICE void lower_to(double* at, double value) {
  if (!(value < *at)) return;
  value += 0;
  if (value >= 0) atomicMin(reinterpret_cast<long long*>(at), __double_as_longlong(value));
  else atomicMax(reinterpret_cast<unsigned long long*>(at), (unsigned long long)__double_as_longlong(value));
}
DEVICE void raise_to(float* at, float value) {
  if (!(value > *at)) return;
  value += 0;
  if (value >= 0) atomicMax(reinterpret_cast<int*>(at), __float_as_int(value));
  else atomicMin(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
}
DEVICE void raise_to(double* at, double value) {
  if (!(value > *at)) return;
  value += 0;
  if (value >= 0) atomicMax(reinterpret_cast<long long*>(at), __double_as_longlong(value));
  else atomicMin(reinterpret_cast<unsigned long long*>(at), (unsigned long long)__double_as_longlong(value));
}

DEVICE void lower_to(int* at, int value) { atomicMin(at, value); }
DEVICE void lower_to(unsigned long long* at, unsigned long long value) {
  if (value < *at) atomicMin(at, value);
}

// A place in shared memory, which a lane keeps as a number: the compiler works pointers out again each time.
using Address = unsigned;
DEVICE Address address_of(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
DEVICE void put(Address at, unsigned short value) { asm volatile("st.shared.b16 [%0], %1;" ::"r"(at), "h"(value) : "memory"); }
DEVICE void put(Address at, int value) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(value) : "memory"); }
DEVICE void put(Address at, float value) { put(at, __float_as_int(value)); }
DEVICE void put(Address at, double value) { asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(value) : "memory"); }
DEVICE void take(Address at, unsigned short& value) { asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(at) : "memory"); }
DEVICE void take(Address at, int& value) { asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(at) : "memory"); }
DEVICE void take(Address at, float& value) { asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(at) : "memory"); }
DEVICE void take(Address at, double& value) { asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(at) : "memory"); }
template <class T> DEVICE T taken(Address at) {
  T value;
  take(at, value);
  return value;
}

#if __CUDA_ARCH__ >= 800
DEVICE int warp_min(int value) { return __reduce_min_sync(~0u, value); }
DEVICE int warp_max(int value) { return __reduce_max_sync(~0u, value); }
DEVICE int warp_sum(int value) { return __reduce_add_sync(~0u, value); }

// Add the product of matrices (16, 8) and (8, 8), of which each lane holds a few elements: of row lane / 4 and
// the row 8 below of one, of column lane / 4 of the other, and of both those at lane % 4 and 4 further on.
// Of the sum it holds columns 2 * (lane % 4) and the next, of its two rows. Factors have TF32's 11 bits.
DEVICE void add_product(float (&sum)[4], float a, float a_below, float a_on, float a_below_on, float b, float b_on) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(__float_as_uint(a)), "r"(__float_as_uint(a_below)), "r"(__float_as_uint(a_on)),
                 "r"(__float_as_uint(a_below_on)), "r"(__float_as_uint(b)), "r"(__float_as_uint(b_on)));
}

// Copy 16 bytes to shared memory while other work goes on, and wait for all such copies of this lane.
DEVICE void begin_copy(void* shared, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(shared)), "l"(from)
               : "memory");
}
DEVICE void await_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
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
