// A point of the user's, by its row.
#pragma once
#include "metric.cuh"

// The scaled coordinates of a row of `points` (lines, M), of which the first `count` count; inf, and false, for what
// is not there or not finite.
DEVICE bool fetch(const real* points, int row, int count, real scale, real (&x)[M]) {
  bool finite = row < count;
  FOR(a, M) {
    x[a] = row < count ? points[(long long)row * M + a] : real(0);
    finite &= fabs(x[a]) < INFINITE;
  }
  FOR(a, M) x[a] = finite ? x[a] * scale : INFINITE;
  return finite;
}
