// The nearest so far of one query, spread over the registers of a warp's lanes: element 32 * j + i is in
// register j of lane i.
#pragma once
#include "sort.cuh"

#ifndef FEW
#define FEW 6  // candidates that are put into their places one by one
#endif

constexpr int ROWS = at_least(K, LANES) / LANES;  // of the list, one register a lane each
constexpr int BATCH = ROWS < 8 ? ROWS : 8;        // rows of candidates that are merged at once

// Exchange with another lane's element: one of the two keeps the lesser.
DEVICE void compare_exchange(real& d, int& row, real other_d, int other_row, bool lesser) {
  if (before(other_d, other_row, d, row) == lesser) d = other_d, row = other_row;
}

template <int COUNT> DEVICE void sort_lanes(Pairs<COUNT>& items, int lane, int from) {
  for (int step = from; step; step /= 2)
    FOR(j, COUNT)
      compare_exchange(items.d[j], items.row[j], shuffle_xor(items.d[j], step), shuffle_xor(items.row[j], step),
                       !(lane & step));
}

template <int STEP, int COUNT> DEVICE void bitonic_rows(Pairs<COUNT>& items) {
  if constexpr (STEP > 0) {
    FOR(j, COUNT) if (!(j & STEP)) items.exchange_at(j, j + STEP);
    bitonic_rows<STEP / 2>(items);
  }
}

// Sort by merging runs that double; in each the second half is read backwards, so that all runs ascend.
template <int HALF = 1, int COUNT> DEVICE void sort_runs(Pairs<COUNT>& items, int lane) {
  if constexpr (HALF < COUNT) {  // runs of HALF rows
    FOR(j, COUNT) if (!(j & HALF)) {
      const int k = j ^ (2 * HALF - 1);
      const real d = shuffle_xor(items.d[k], LANES - 1), e = shuffle_xor(items.d[j], LANES - 1);
      const int row = shuffle_xor(items.row[k], LANES - 1), other = shuffle_xor(items.row[j], LANES - 1);
      compare_exchange(items.d[j], items.row[j], d, row, true);
      compare_exchange(items.d[k], items.row[k], e, other, false);
    }
    bitonic_rows<HALF / 2>(items);
    sort_lanes(items, lane, LANES / 2);
    sort_runs<2 * HALF>(items, lane);
  }
}

template <int COUNT> DEVICE void sort_spread(Pairs<COUNT>& items, int lane) {
  for (int half = 1; half < LANES; half *= 2) {
    const int mirror = 2 * half - 1;
    FOR(j, COUNT)
      compare_exchange(items.d[j], items.row[j], shuffle_xor(items.d[j], mirror), shuffle_xor(items.row[j], mirror),
                       !(lane & half));
    sort_lanes(items, lane, half / 2);
  }
  sort_runs(items, lane);
}

struct Waiting {  // candidates of a warp
  static constexpr int ROOM = ROWS == 1 ? 1 : (BATCH + 1) * LANES;
  real d[ROOM];
  int row[ROOM];
};

struct Nearest {
  Waiting& waiting;
  const int lane;
  Pairs<ROWS> list;
  real limit;  // of distances that are still wanted
  int count;   // of candidates that wait

  DEVICE Nearest(Waiting& waiting, int lane) : waiting(waiting), lane(lane), count(0) {}
  DEVICE void start(real bound, int missing) {
    FOR(j, ROWS) list.d[j] = bound, list.row[j] = missing;
    limit = bound;
  }
  DEVICE void update() { limit = shuffle(list.d[(K - 1) / LANES], (K - 1) % LANES); }

  // Take one candidate a lane, those of the lanes that are wanted.
  DEVICE void add(real d, int row, unsigned wanted) {
    if (ROWS == 1)
      take(d, row, wanted);
    else
      keep(d, row, wanted);
  }
  // Bring in what waits: at the end, or where there is no room for more.
  DEVICE void settle(bool end) {
    if (ROWS > 1 && (end || count >= BATCH * LANES)) flush();
  }

  DEVICE void take(real d, int row, unsigned wanted) {
    if (__popc(wanted) <= FEW) {
      for (; wanted; wanted &= wanted - 1) {
        const int from = __ffs(wanted) - 1;
        const real new_d = shuffle(d, from), left_d = shuffle_up(list.d[0], 1);
        const int new_row = shuffle(row, from), left_row = shuffle_up(list.row[0], 1);
        const unsigned after = lanes_where(before(new_d, new_row, list.d[0], list.row[0]));
        if (after >> lane & 1) {
          const bool here = !(after << 1 >> lane & 1);  // the first of those that come after it
          list.d[0] = here ? new_d : left_d;
          list.row[0] = here ? new_row : left_row;
        }
      }
    } else {
      Pairs<1> candidates;
      candidates.d[0] = wanted >> lane & 1 ? d : INFINITE;
      candidates.row[0] = wanted >> lane & 1 ? row : NOTHING;
      sort_spread(candidates, lane);
      merge(candidates);
    }
    update();
  }

  // The same with candidates that wait until there are many.
  DEVICE void keep(real d, int row, unsigned wanted) {
    const int place = count + __popc(wanted & ((1u << lane) - 1));
    if (wanted >> lane & 1) waiting.d[place] = d, waiting.row[place] = row;
    count += __popc(wanted);
    warp_barrier();
  }
  DEVICE void flush() {
    Pairs<BATCH> candidates;
    FOR(j, BATCH) {
      const int i = j * LANES + lane;
      candidates.d[j] = i < count ? waiting.d[i] : INFINITE;
      candidates.row[j] = i < count ? waiting.row[i] : NOTHING;
    }
    const int last = BATCH * LANES + lane;  // what is over is first of the next batch
    const real d = last < count ? waiting.d[last] : INFINITE;
    const int row = last < count ? waiting.row[last] : NOTHING;
    warp_barrier();
    waiting.d[lane] = d, waiting.row[lane] = row;
    warp_barrier();
    count = max(count - BATCH * LANES, 0);
    sort_spread(candidates, lane);
    merge(candidates);
    update();
  }
  template <int COUNT> DEVICE void merge(const Pairs<COUNT>& candidates) {
    FOR(i, COUNT) {
      const int j = ROWS - 1 - i;
      compare_exchange(list.d[j], list.row[j], shuffle_xor(candidates.d[i], LANES - 1),
                       shuffle_xor(candidates.row[i], LANES - 1), true);
    }
    bitonic_rows<ROWS / 2>(list);
    sort_lanes(list, lane, LANES / 2);
  }
};
