// The kernels' sources for a host compiler: the functions of warp.cuh and the few intrinsics they use.
//
// The threads of a block are coroutines: at each thing that a warp does together a lane leaves its value and
// makes way for the next thread, and at a barrier until all have come. That all lanes of a warp do the same
// together is checked, and that all threads come to a barrier.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#define DEVICE inline
#define KERNEL(threads, blocks) extern "C" void
#define __shared__ static

using std::max;
using std::min;

namespace host {

constexpr int WARP = 32, MOST = 512;
constexpr size_t STACK = 1 << 17;

struct Lane {
  ucontext_t context;
  jmp_buf where;
  bool started, done;
  int barriers;           // come to so far
  int calls;              // things done together so far
  const char* kind[2];    // the last two,
  long long value[2];     // and what this lane left there
};
static Lane lanes[MOST];
static char stacks[MOST][STACK];
static int threads;
static ucontext_t outside;
static bool diverged;
static int current;

}  // namespace host

struct Index {
  unsigned x;
};
static Index threadIdx, blockIdx;

namespace host {

static void (*body)();

static void leave() { setcontext(&outside); }

static void enter(int lane) {
  current = lane;
  threadIdx.x = lane;
  if (lanes[lane].started) _longjmp(lanes[lane].where, 1);
  lanes[lane].started = true;
  setcontext(&lanes[lane].context);
}

static void next() {
  for (int i = 1; i <= threads; i++)
    if (!lanes[(current + i) % threads].done) enter((current + i) % threads);
  leave();
}

static void run_lane() {
  body();
  lanes[current].done = true;
  next();
}

// Leave a value where all lanes exchange values; afterwards theirs are in `values`.
static void together(const char* kind, long long value, long long (&values)[WARP]) {
  const int self = current, first = self - self % WARP, turn = lanes[self].calls++ % 2, calls = lanes[self].calls;
  lanes[self].kind[turn] = kind;
  lanes[self].value[turn] = value;
  if (!_setjmp(lanes[self].where)) next();
  for (int i = 0; i < WARP; i++) {
    const Lane& lane = lanes[first + i];
    if (lane.calls < calls || lane.kind[turn] != kind) {
      diverged = true;
      leave();
    }
    values[i] = lane.value[turn];
  }
}

// Wait until all threads of the block have come.
static void barrier() {
  const int self = current, mine = ++lanes[self].barriers;
  while (true) {
    bool all = true;
    for (int i = 0; i < threads; i++) {
      all &= lanes[i].barriers >= mine;
      diverged |= lanes[i].done && lanes[i].barriers < mine;
    }
    if (diverged) leave();
    if (all) return;
    if (!_setjmp(lanes[self].where)) next();
  }
}

static void run_block() {
  for (int i = 0; i < threads; i++) {
    Lane& lane = lanes[i];
    lane.started = lane.done = false;
    lane.calls = lane.barriers = 0;
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = stacks[i];
    lane.context.uc_stack.ss_size = STACK;
    lane.context.uc_link = nullptr;
    makecontext(&lane.context, run_lane, 0);
  }
  volatile bool back = false;
  getcontext(&outside);
  if (!back) {
    back = true;
    enter(0);
  }
}

// An argument from its address: an array, or a number by value.
template <class T> T argument(void* address, std::true_type) { return static_cast<T>(address); }
template <class T> T argument(void* address, std::false_type) { return *static_cast<T*>(address); }

template <class... Arguments> struct Call {
  static void (*kernel)(Arguments...);
  static void** arguments;
  template <size_t... i> static void with(std::index_sequence<i...>) {
    kernel(argument<Arguments>(arguments[i], std::is_pointer<Arguments>{})...);
  }
  static void make() { with(std::index_sequence_for<Arguments...>{}); }
};
template <class... Arguments> void (*Call<Arguments...>::kernel)(Arguments...);
template <class... Arguments> void** Call<Arguments...>::arguments;

// Run a kernel block after block; 0, or 1 where lanes did not do the same together.
template <class... Arguments>
int run(void (*kernel)(Arguments...), void** arguments, long long blocks, int block_threads) {
  threads = block_threads;
  Call<Arguments...>::kernel = kernel;
  Call<Arguments...>::arguments = arguments;
  body = Call<Arguments...>::make;
  diverged = false;
  for (long long block = 0; block < blocks && !diverged; block++) {
    blockIdx.x = block;
    run_block();
  }
  return diverged;
}

template <class To, class From> To cast(From from) {
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

template <class T> long long pack(T value) {
  long long packed = 0;
  memcpy(&packed, &value, sizeof(T));
  return packed;
}

template <class T> T unpack(long long packed) {
  T value;
  memcpy(&value, &packed, sizeof(T));
  return value;
}

}  // namespace host

inline unsigned lanes_where(bool flag) {
  long long flags[32];
  host::together("lanes_where", flag, flags);
  unsigned word = 0;
  for (int i = 0; i < 32; i++) word |= unsigned(flags[i]) << i;
  return word;
}
inline bool any_lane(bool flag) {
  long long flags[32];
  host::together("any_lane", flag, flags);
  for (long long each : flags)
    if (each) return true;
  return false;
}
template <class T> T shuffle(T value, int lane) {
  long long values[32];
  host::together("shuffle", host::pack(value), values);
  return host::unpack<T>(values[lane % 32]);
}
template <class T> T shuffle_xor(T value, int mask) {
  const int lane = threadIdx.x % 32;
  long long values[32];
  host::together("shuffle_xor", host::pack(value), values);
  return host::unpack<T>(values[lane ^ mask]);
}
template <class T> T shuffle_up(T value, int by) {
  const int lane = threadIdx.x % 32;
  long long values[32];
  host::together("shuffle_up", host::pack(value), values);
  return host::unpack<T>(values[lane < by ? lane : lane - by]);
}
inline void warp_barrier() {
  long long values[32];
  host::together("warp_barrier", 0, values);
}
using Address = char*;
inline Address address_of(const void* shared) { return (char*)shared; }
template <class T> void put(Address at, T value) { memcpy(at, &value, sizeof(T)); }
template <class T> T taken(Address at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> void lower_to(T* at, T value) { *at = min(*at, value); }
template <class T> void raise_to(T* at, T value) { *at = max(*at, value); }
inline void block_barrier() { host::barrier(); }
inline void begin_copy(void* shared, const void* from) { memcpy(shared, from, 16); }
inline void await_copies() {}
// The multipliers see 11 bits of each factor.
inline void add_product(float (&sum)[4], float a, float a_below, float a_on, float a_below_on, float b, float b_on) {
  const float own[6] = {a, a_below, a_on, a_below_on, b, b_on};
  long long values[32];
  host::together("add_product", reinterpret_cast<long long>(own), values);
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  const auto of = [&](int lane, int i) {
    return host::cast<float>(host::cast<int>(reinterpret_cast<const float*>(values[lane])[i]) & ~0x1fff);
  };
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 8; k++)
      sum[i] += of(4 * row + k % 4, i / 2 + 2 * (k / 4)) * of(4 * (column + i % 2) + k % 4, 4 + k / 4);
  host::together("multiplied", 0, values);
}
inline int warp_min(int value) {
  long long values[32];
  host::together("warp_min", value, values);
  for (long long each : values) value = min<int>(value, each);
  return value;
}
inline int warp_max(int value) {
  long long values[32];
  host::together("warp_max", value, values);
  for (long long each : values) value = max<int>(value, each);
  return value;
}
inline int warp_sum(int value) {
  long long values[32];
  host::together("warp_sum", value, values);
  value = 0;
  for (long long each : values) value += each;
  return value;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __float_as_int(float x) { return host::cast<int>(x); }
inline unsigned __float_as_uint(float x) { return host::cast<unsigned>(x); }
inline float __int_as_float(int x) { return host::cast<float>(x); }
inline long long __double_as_longlong(double x) { return host::cast<long long>(x); }
inline double __longlong_as_double(long long x) { return host::cast<double>(x); }
inline float __double2float_rd(double x) {
  const float y = float(x);
  return y > x ? nextafterf(y, -INFINITY) : y;
}
inline float __double2float_ru(double x) {
  const float y = float(x);
  return y < x ? nextafterf(y, INFINITY) : y;
}
