// Numbers and Minkowski distances. A distance is built up axis by axis as a power distance, in which
// comparing is cheap: the sum of |d|**p for p = 1, 2, 3 and 4; for others, whose powers of small distances would
// vanish or roots be inexact, the distance itself, combined pairwise; for p = inf the maximum.
//
// The compiler contracts nothing (--fmad=false): fused multiply-adds are written out, so that a distance
// has the same bits wherever it is computed.
#pragma once
#include "warp.cuh"

#if DOUBLE
using real = double;
struct alignas(16) Vector { double word[2]; };
// Coarse tests work on the upper 32 bits, rounded down or up, which order like integers; `number_of` them is a number.
DEVICE int upper_bits(double x) { return int(__double_as_longlong(x) >> 32); }
DEVICE bool has_lower_bits(double x) { return unsigned(__double_as_longlong(x)) != 0; }
DEVICE int bits_below(double x) { return upper_bits(x) + (x < 0 && has_lower_bits(x)); }
DEVICE int bits_above(double x) { return upper_bits(x) + (x > 0 && has_lower_bits(x)); }
DEVICE double number_of(int bits) { return __longlong_as_double((long long)bits << 32); }
DEVICE float float_above(double x) { return __double2float_ru(x); }
DEVICE double below(double x) { return __longlong_as_double(__double_as_longlong(x) - 1); }
DEVICE double above(double x) { return __longlong_as_double(__double_as_longlong(x) + 1); }
constexpr double EPSILON = 2.220446049250313e-16;
#else
using real = float;
struct alignas(16) Vector { float word[4]; };
DEVICE int bits_below(float x) { return __float_as_int(x); }
DEVICE int bits_above(float x) { return __float_as_int(x); }
DEVICE float number_of(int bits) { return __int_as_float(bits); }
DEVICE float float_above(float x) { return x; }
DEVICE float below(float x) { return __int_as_float(__float_as_int(x) - 1); }
DEVICE float above(float x) { return __int_as_float(__float_as_int(x) + 1); }
constexpr float EPSILON = 1.1920929e-7f;
#endif

constexpr int M = DIMENSIONS;
constexpr int WORDS = sizeof(Vector) / sizeof(real);  // that one load brings
constexpr int NOTHING = 0x7fffffff;                   // no gap and no row is greater
#define INFINITE (real(__int_as_float(0x7f800000)))
#define FOR(i, count) _Pragma("unroll") for (int i = 0; i < (count); i++)

// The norm: P is its order; 0 stands for infinity.
#define SUMMED (P == 1 || P == 2 || P == 3 || P == 4)

DEVICE real power(real difference) {
  if (P == 2) return difference * difference;
  const real size = fabs(difference);
  if (P == 3) return size * size * size;
  return P == 4 ? (size * size) * (size * size) : size;
}

// Add one axis to a power distance.
DEVICE real add_axis(real total, real difference) {
  if (P == 2) return fma(difference, difference, total);
  const real term = power(difference);
  if (SUMMED) return total + term;
  const real large = fmax(total, term);
  if (P == 0) return large;
  const real ratio = fmin(total, term) / (large > 0 && large < INFINITE ? large : real(1));
  return large * pow(1 + pow(ratio, real(P)), real(1) / real(P));
}

DEVICE real root(real power_distance) {
  if (P == 2) return sqrt(power_distance);
  if (P == 3) return cbrt(power_distance);
  return P == 4 ? sqrt(sqrt(power_distance)) : power_distance;
}

// A box's distance and a point's are rounded differently: with some slack no neighbor is lost.
constexpr real SLACK = 1 + 16 * (M + 2) * EPSILON;

// The lengths of the periodic axes, inf for one that is not periodic.
struct Period {
#if PERIODIC
  real length[M];
  DEVICE Period(const real* lengths, real scale) {
    FOR(a, M) length[a] = lengths[a] > 0 ? lengths[a] * scale : INFINITE;
  }
  DEVICE real distance(int axis, real difference) const {
    const real size = fabs(difference);
    return fmin(size, fabs(length[axis] - size));
  }
  DEVICE real farthest(int axis, real distance) const { return fmin(distance, length[axis] / 2); }
  // The sides of boxes, with what the way around may be off: it is as inexact as the whole length.
  DEVICE real sides(int axis, real half) const {
    return half > 0 && length[axis] < INFINITE ? half + 4 * EPSILON * length[axis] : half;
  }
#else
  DEVICE Period(const real*, real) {}
  DEVICE real distance(int, real difference) const { return difference; }
  DEVICE real sides(int, real half) const { return half; }
  DEVICE real farthest(int, real distance) const { return distance; }
#endif
};
