// The tree: 2**levels leaves of `leaf` slots each, node i's children are 2i and 2i + 1.
#pragma once
#include "metric.cuh"

// A node's box: its middle, and half its sides, rounded up. Boxes lie one after another, so that a few
// loads bring a whole one.
constexpr int BOX_WORDS = (2 * M + WORDS - 1) / WORDS * WORDS;

struct Box {
  real middle[M], half[M];

  DEVICE void load(const real* boxes, int node) {
    const Vector* from = reinterpret_cast<const Vector*>(boxes + (long long)node * BOX_WORDS);
    real word[BOX_WORDS];
    FOR(i, BOX_WORDS / WORDS) {
      const Vector v = from[i];
      FOR(j, WORDS) word[i * WORDS + j] = v.word[j];
    }
    FOR(a, M) {
      middle[a] = word[a];
      half[a] = word[M + a];
    }
  }
  DEVICE bool is_point() const {
    bool point = true;
    FOR(a, M) point &= half[a] == 0;
    return point;
  }
};

constexpr int EIGHT = 8;  // slots are measured at once; leaves have a multiple of four

struct Tree {
  const real* points;  // (M, slots)
  const int* rows;     // (slots)
  const real* boxes;   // (2 * leaves, BOX_WORDS)
  int leaf, levels;
  Period period;

  DEVICE long long slots() const { return (long long)leaf << levels; }

  // Numbers of slots stay below 2**31, where the one after the last may be.
  DEVICE unsigned first_slot(int node, int height) const { return ((unsigned(node) << height) - (1u << levels)) * leaf; }

  // Whether two nodes have the same box.
  DEVICE bool alike(int node, int other) const {
    const real *const one = boxes + (long long)node * BOX_WORDS, *const two = boxes + (long long)other * BOX_WORDS;
    bool same = true;
#pragma unroll 1
    for (int i = 0; i < 2 * M; i++) same &= one[i] == two[i];
    return same;
  }

  // The power distances from x to EIGHT slots; where not `all` count, the first four do, and the others are inf.
  DEVICE void distances(const real (&x)[M], unsigned slot, bool all, real (&out)[EIGHT]) const {
    const unsigned second = slot + (all ? 4 : 0);
    FOR(a, M) {
      FOR(i, EIGHT / WORDS) {
        const int word = i * WORDS;
        const real* from = points + a * slots() + (word < 4 ? slot : second) + word % 4;
        const Vector y = *reinterpret_cast<const Vector*>(from);
        FOR(j, WORDS) {
          real& total = out[word + j];
          const real difference = period.distance(a, x[a] - y.word[j]);
          total = a ? add_axis(total, difference) : power(difference);
        }
      }
    }
    FOR(i, 4) out[4 + i] = all ? out[4 + i] : INFINITE;
  }

  DEVICE real distance(const real (&x)[M], unsigned slot) const {
    real total = 0;
    FOR(a, M) {
      const real difference = period.distance(a, x[a] - points[a * slots() + slot]);
      total = a ? add_axis(total, difference) : power(difference);
    }
    return total;
  }

  // A power distance, but for SLACK, that no point of the box is nearer than.
  DEVICE real gap(const real (&x)[M], const Box& box) const {
    real total = 0;
    FOR(a, M) {
      const real side = fmax(fabs(period.distance(a, x[a] - box.middle[a])) - box.half[a], real(0));
      total = a ? add_axis(total, side) : power(side);
    }
    return total;
  }

  // The same between two boxes, and a power distance that no two of their points exceed.
  DEVICE real gap(const Box& one, const Box& two) const {
    real total = 0;
    FOR(a, M) {
      const real apart = fabs(period.distance(a, one.middle[a] - two.middle[a]));
      const real side = fmax(apart - period.sides(a, one.half[a] + two.half[a]), real(0));
      total = a ? add_axis(total, side) : power(side);
    }
    return total;
  }

  DEVICE real reach(const Box& one, const Box& two) const {
    real total = 0;
    FOR(a, M) {
      const real apart = fabs(period.distance(a, one.middle[a] - two.middle[a]));
      const real side = period.farthest(a, apart + period.sides(a, one.half[a] + two.half[a]));
      total = a ? add_axis(total, side) : power(side);
    }
    return total;
  }
};

DEVICE real least(const real (&d)[EIGHT]) {
  return fmin(fmin(fmin(d[0], d[1]), fmin(d[2], d[3])), fmin(fmin(d[4], d[5]), fmin(d[6], d[7])));
}

DEVICE void load_rows(const int* rows, unsigned slot, bool all, int (&out)[EIGHT]) {
  struct alignas(16) Four { int row[4]; };
  const Four first = *reinterpret_cast<const Four*>(rows + slot);
  const Four second = *reinterpret_cast<const Four*>(rows + slot + (all ? 4 : 0));
  FOR(i, 4) out[i] = first.row[i], out[4 + i] = second.row[i];
}

// Pairs (power distance, row) are ordered by both: of equally distant points the lowest row comes first.
DEVICE bool before(real a, int a_row, real b, int b_row) {
#if DOUBLE
  return a < b || (a == b && a_row < b_row);
#else  // neither is negative, so that their bits order like integers
  const unsigned long long one = (unsigned long long)__float_as_uint(a) << 32 | (unsigned)a_row;
  const unsigned long long two = (unsigned long long)__float_as_uint(b) << 32 | (unsigned)b_row;
  return one < two;
#endif
}
