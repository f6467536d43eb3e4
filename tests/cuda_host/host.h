// The kernels' sources for a host compiler: the functions of warp.cuh and the few intrinsics they use.
//
// The 32 lanes of a warp are coroutines in lockstep: at each thing they do together a lane leaves its value
// and makes way for the next. That all lanes do the same together is checked.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#define DEVICE inline
#define KERNEL(threads, blocks) extern "C" void
#define __shared__ static

using std::max;
using std::min;

namespace host {

constexpr int LANES = 32;
constexpr size_t STACK = 1 << 17;

struct Lane {
  ucontext_t context;
  jmp_buf where;
  bool started, done;
  int calls;              // things done together so far
  const char* kind[2];    // the last two,
  long long value[2];     // and what this lane left there
};
static Lane lanes[LANES];
static char stacks[LANES][STACK];
static ucontext_t outside;
static bool diverged;
static int current;

}  // namespace host

struct Index {
  unsigned x;
};
static Index threadIdx, blockIdx;

namespace host {

static unsigned first_thread;
static void (*body)();

static void leave() { setcontext(&outside); }

static void enter(int lane) {
  current = lane;
  threadIdx.x = first_thread + lane;
  if (lanes[lane].started) _longjmp(lanes[lane].where, 1);
  lanes[lane].started = true;
  setcontext(&lanes[lane].context);
}

static void next() {
  for (int i = 1; i <= LANES; i++)
    if (!lanes[(current + i) % LANES].done) enter((current + i) % LANES);
  leave();
}

static void run_lane() {
  body();
  lanes[current].done = true;
  next();
}

// Leave a value where all lanes meet; afterwards theirs are in `values`.
static void together(const char* kind, long long value, long long (&values)[LANES]) {
  const int self = current, turn = lanes[self].calls++ % 2, calls = lanes[self].calls;
  lanes[self].kind[turn] = kind;
  lanes[self].value[turn] = value;
  if (!_setjmp(lanes[self].where)) next();
  for (int i = 0; i < LANES; i++) {
    if (lanes[i].calls < calls || lanes[i].kind[turn] != kind) {
      diverged = true;
      leave();
    }
    values[i] = lanes[i].value[turn];
  }
}

static void run_warp() {
  for (int i = 0; i < LANES; i++) {
    Lane& lane = lanes[i];
    lane.started = lane.done = false;
    lane.calls = 0;
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

template <class... Arguments> struct Call {
  static void (*kernel)(Arguments...);
  static void** arguments;
  template <size_t... i> static void with(std::index_sequence<i...>) {
    kernel(static_cast<Arguments>(arguments[i])...);
  }
  static void make() { with(std::index_sequence_for<Arguments...>{}); }
};
template <class... Arguments> void (*Call<Arguments...>::kernel)(Arguments...);
template <class... Arguments> void** Call<Arguments...>::arguments;

// Run a kernel warp after warp; 0, or 1 where lanes did not do the same together.
template <class... Arguments>
int run(void (*kernel)(Arguments...), void** arguments, long long blocks, int threads) {
  Call<Arguments...>::kernel = kernel;
  Call<Arguments...>::arguments = arguments;
  body = Call<Arguments...>::make;
  diverged = false;
  for (long long block = 0; block < blocks && !diverged; block++)
    for (int thread = 0; thread < threads && !diverged; thread += LANES) {
      blockIdx.x = block;
      first_thread = thread;
      run_warp();
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
