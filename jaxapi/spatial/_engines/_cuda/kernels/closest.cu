// Look at the candidates of every query, one query a warp: measure them exactly, keep the nearest, and find
// the threshold for the next candidates.
#include "rough.cuh"
#include "spread.cuh"

#ifndef WARPS
#define WARPS 4  // a block
#endif

// How many times a length a rounded difference from the centre may be off: half a unit of TF32's last place,
// and a little.
constexpr float ROUNDING = 1.01f / 2048;
// The same of a product's sum, times what it adds up: the multipliers cut off the terms of every eight below
// the last place of the greatest, and squares are rounded once for each axis.
constexpr float SUMMING = (1.625f * M + 16) * 1.1920929e-7f;

// Points and queries come in lines that are filled up with zeros.
constexpr int LINE = (M + WORDS - 1) / WORDS;

// The least x y - y y / 2, of rough x and y, that a point within the distance `limit` has; `square` is x x.
//
// The rough x is off by at most ROUNDING times its length, and y likewise, which is at most as long as x and
// `limit` together. So the rough points are at most so much farther apart than the exact ones.
DEVICE float threshold_of(real limit, real unit, float square) {
  if (!(limit >= 0)) return float(INFINITE);  // nothing is wanted
  const float within = float(sqrt(limit) * unit) * (1 + 1e-6f) + 1e-18f;
  const float length = sqrtf(square) * (1 + 2 * ROUNDING), other = length + within;
  const float apart = within + ROUNDING * (length + other);
  const float least = (square - apart * apart) / 2 - SUMMING * (length * other + other * other / 2) - 1e-34f;
  return square < NOWHERE && least > -NOWHERE ? least : -float(INFINITE);
}

DEVICE real distance(const Vector* x, const Vector* y) {
  real total = 0;
#pragma unroll 4
  for (int i = 0; i < LINE; i++) {
    const Vector one = x[i], two = y[i];
    FOR(j, WORDS) total = add_axis(total, one.word[j] - two.word[j]);
  }
  return total;
}

// `points` (slots, LINE) and `queries` (count, LINE) are scaled, `squares` (count) those of rough queries;
// `range` has the first place and the one after the last of those looked through; `stage` tells whether this
// is the first round, where all are looked at, and whether the last. So does a query of which a list of
// candidates had no room. In place: `found` and `found_rows` (count, K), before the last round power distances.
KERNEL(WARPS * LANES, 1)
closest(const Vector* points, const int* rows, const int* n, const real* scale, const Vector* queries,
        const real* bounds, const int* groups, const float* squares, const real* unit, const int* list_sizes,
        const int* lists, const int* range, const int* stage, const int* sizes, const real*, const int*,
        float* thresholds, real* found, int* found_rows) {
  const int count = sizes[0], room = sizes[1], list_count = sizes[2], bound_stride = sizes[4], rooted = sizes[5];
  const long long slots = sizes[3];
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const long long own = (long long)blockIdx.x * WARPS + warp;
  __shared__ Waiting waiting[WARPS];
  if (own >= count) return;
  const int missing = *n, from = range[0];
  const Vector* x = queries + own * LINE;
  Nearest best(waiting[warp], lane);
  bool all = stage[0];
  if (stage[0]) {
    bool finite = true;
    for (int i = lane; i < LINE; i += LANES) FOR(j, WORDS) finite &= fabs(x[i].word[j]) < INFINITE;
    const real bound = bounds[own * bound_stride];
    real limit = power(bound * *scale);
    limit = limit > 0 ? below(limit) : real(0);  // the last power distance below the bound
    best.start(!any_lane(!finite) && bound > 0 ? limit : real(-1), missing);
  } else {
    FOR(j, ROWS) {
      const int place = j * LANES + lane;
      best.list.d[j] = place < K ? found[own * K + place] : INFINITE;
      best.list.row[j] = place < K ? found_rows[own * K + place] : NOTHING;
    }
    best.update();
    for (int i = lane; i < list_count; i += LANES) all |= list_sizes[own * list_count + i] > room;
    all = any_lane(all);
  }

  const auto look = [&](bool there, int place) {
    const long long slot = there ? slot_at(groups, place) : slots;
    const real d = slot < slots ? distance(x, points + slot * LINE) : INFINITE;
    const bool near = slot < slots && d <= best.limit;
    if (any_lane(near)) best.add(d, near ? rows[slot] : NOTHING, lanes_where(near));
    best.settle(false);
  };
  if (all && best.limit >= 0)
    for (int place = from; place < range[1]; place += LANES) look(place + lane < range[1], place + lane);
  if (!all) for (int first = 0; first < list_count; first += LANES) {
    const long long list = own * list_count + first + lane;
    const int size = first + lane < list_count ? list_sizes[list] : 0;
    for (int i = 0; any_lane(i < size); i++) look(i < size, i < size ? lists[list * room + i] : 0);
  }
  best.settle(true);

  const real back = 1 / *scale;  // exact: a power of two
  FOR(j, ROWS) {
    const int place = j * LANES + lane;
    real d = best.list.d[j];
    int row = best.list.row[j];
    if (stage[1]) {
      const bool here = row < missing;
      d = here ? (rooted ? root(d) * back : d) : INFINITE;
      row = here ? row : missing;
    }
    if (place < K) found[own * K + place] = d, found_rows[own * K + place] = row;
  }
  if (lane == 0) thresholds[own] = threshold_of(best.limit, *unit, squares[own]);
}
