// Sorting networks over pairs (distance, row) in registers: all indices are known when it is compiled.
#pragma once
#include "tree.cuh"

DEVICE constexpr int at_least(int count, int size) { return count <= size ? size : at_least(count, 2 * size); }

DEVICE void exchange(real& d, int& row, real& e, int& other) {
  const bool swap = before(e, other, d, row);
  const real least = swap ? e : d, greatest = swap ? d : e;
  const int first = swap ? other : row, second = swap ? row : other;
  d = least, row = first, e = greatest, other = second;
}

// The numbers alone.
template <int SIZE> struct Numbers {
  real d[SIZE];
  DEVICE void exchange_at(int i, int j) {
    const real least = fmin(d[i], d[j]);
    d[j] = fmax(d[i], d[j]);
    d[i] = least;
  }
};

template <int SIZE> struct Pairs {
  real d[SIZE];
  int row[SIZE];
  DEVICE void exchange_at(int i, int j) { exchange(d[i], row[i], d[j], row[j]); }
};

// Batcher's odd-even merge sort.
template <int WIDTH = 1, int STEP = WIDTH, template <int> class Items, int SIZE> DEVICE void sort(Items<SIZE>& items) {
  if constexpr (WIDTH < SIZE) {
    FOR(i, SIZE - STEP) {
      const int from = i - STEP % WIDTH;
      if (from >= 0 && from / STEP % 2 == 0 && i / (2 * WIDTH) == (i + STEP) / (2 * WIDTH))
        items.exchange_at(i, i + STEP);
    }
    if constexpr (STEP > 1)
      sort<WIDTH, STEP / 2>(items);
    else
      sort<2 * WIDTH, 2 * WIDTH>(items);
  }
}

// Sort what ascends up to one place and then descends, or the other way round.
template <int STEP, template <int> class Items, int SIZE> DEVICE void sort_bitonic(Items<SIZE>& items) {
  if constexpr (STEP > 0) {
    FOR(i, SIZE) if (!(i & STEP)) items.exchange_at(i, i + STEP);
    sort_bitonic<STEP / 2>(items);
  }
}

// Merge sorted candidates into a sorted list that is as long or longer; the greatest are lost.
template <int SIZE, int COUNT> DEVICE void merge(Pairs<SIZE>& list, const Pairs<COUNT>& candidates) {
  FOR(i, COUNT) {  // the list's end is compared with the nearest candidates: of each pair the nearer stays
    const int j = SIZE - 1 - i;
    if (before(candidates.d[i], candidates.row[i], list.d[j], list.row[j]))
      list.d[j] = candidates.d[i], list.row[j] = candidates.row[i];
  }
  sort_bitonic<SIZE / 2>(list);
}
