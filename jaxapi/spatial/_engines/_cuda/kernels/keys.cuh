// What sorts the points of a node along its widest side.
#pragma once
#include "metric.cuh"

// A node's widest side; the first one of equals.
struct Side {
  int axis;
  real start, size;

  DEVICE Side(const real* lower, const real* upper, long long stride) : axis(0), start(0), size(-1) {
    FOR(a, M) {
      const real least = lower[a * stride], greatest = upper[a * stride];
      const real width = least < greatest ? greatest - least : real(0);
      if (width > size) axis = a, start = least, size = width;
    }
  }
  // The place along it in so many bits, or counted backwards; a slot without a point comes last.
  DEVICE unsigned place(real x, int bits, bool backwards = false) const {
    const unsigned top = (1u << bits) - 1;
    const real fraction = (x - start) / (size > 0 ? size : real(1));
    if (!(x < INFINITE)) return top;
    const unsigned place = unsigned(fmin(fraction * real(top - 1), real(top - 1)));
    return backwards ? top - 1 - place : place;
  }
};
