// Split nodes of few slots down to the leaves: one a block, one level after another.
//
// A slot has a word: its place along the node's widest side and, in the lowest bits, where it was when the block began,
// so that equal points keep their order. Each thread holds EACH words in registers, side by side, of one node. A node
// has a span of a power of two; what the span has more than slots is empty, in a first child at the front and in a
// second one at the end, so that each half of a sorted span is the span of a child.
//
// A second child begins where the first one ends: the sides across are gone through backwards there. So slots that
// follow each other lie close together, whatever the size of a leaf. 32 of them are a packet where a tree's own points
// are the queries.
#include "fetch.cuh"
#include "keys.cuh"
#include "sort.cuh"

#ifndef BLOCKS
#define BLOCKS (M > 8 ? 1 : 2)  // on a multiprocessor, for which the compiler saves registers
#endif

constexpr int EACH = ROOM / THREADS;  // at most the span of a node above the leaves
DEVICE constexpr int bits_of(int size) { return size > 1 ? 1 + bits_of(size / 2) : 0; }
constexpr int BITS = 32 - bits_of(ROOM);                                        // for the place
constexpr int HELD = (48 * 1024 - 4 * ROOM) / int(M * sizeof(real)) / 4 * 4;  // slots whose points fit next to the words

static_assert(EACH % 4 == 0, "leaves have a multiple of four slots, which one store brings");
struct alignas(16) Four { int row[4]; };

template <int SIZE> struct Words {
  unsigned word[SIZE];
  DEVICE void exchange_at(int i, int j) {
    const unsigned least = min(word[i], word[j]);
    word[j] = max(word[i], word[j]);
    word[i] = least;
  }
};

// Compare with the words of the thread whose number differs in the bits of a mask, or these backwards; keep the
// lesser or the greater of each two.
DEVICE void compare_exchange(Words<EACH>& mine, unsigned* room, int mask, bool backwards, bool lesser) {
  unsigned other[EACH];
  if (mask < LANES) {
    FOR(k, EACH) other[k] = shuffle_xor(backwards ? mine.word[EACH - 1 - k] : mine.word[k], mask);
  } else {
    block_barrier();
    FOR(k, EACH) room[k * THREADS + threadIdx.x] = mine.word[k];
    block_barrier();
    FOR(k, EACH) other[k] = room[(backwards ? EACH - 1 - k : k) * THREADS + (threadIdx.x ^ mask)];
  }
  FOR(k, EACH) mine.word[k] = lesser ? min(mine.word[k], other[k]) : max(mine.word[k], other[k]);
}

// Sort each span, by merging runs that double: the second half of one is read backwards.
DEVICE void sort_spans(Words<EACH>& mine, unsigned* room, int span) {
  sort(mine);
  for (int threads = 2; threads * EACH <= span; threads *= 2) {  // of a run
    compare_exchange(mine, room, threads - 1, true, !(threadIdx.x & threads / 2));
    for (int apart = threads / 4; apart; apart /= 2) compare_exchange(mine, room, apart, false, !(threadIdx.x & apart));
    sort_bitonic<EACH / 2>(mine);
  }
}

// The least and the greatest of all threads of a node.
DEVICE void join(real (&low)[M], real (&high)[M], unsigned* room, int span) {
  const int threads = span / EACH, warps = THREADS / LANES;
  for (int by = 1; by < min(threads, LANES); by *= 2) FOR(a, M) {
    low[a] = fmin(low[a], shuffle_xor(low[a], by));
    high[a] = fmax(high[a], shuffle_xor(high[a], by));
  }
  if (threads <= LANES) return;
  real(*const edges)[2 * M] = reinterpret_cast<real(*)[2 * M]>(room);
  const int together = threads / LANES, warp = threadIdx.x / LANES;
  block_barrier();
  if (threadIdx.x % LANES == 0) FOR(a, M) edges[warp][a] = low[a], edges[warp][M + a] = high[a];
  block_barrier();
  const int other = (warp & -together) + threadIdx.x % together;
  FOR(a, M) low[a] = edges[other][a], high[a] = edges[other][M + a];
  for (int by = 1; by < together; by *= 2) FOR(a, M) {
    low[a] = fmin(low[a], shuffle_xor(low[a], by));
    high[a] = fmax(high[a], shuffle_xor(high[a], by));
  }
}

// `points` of shape (lines, M), in the user's units, of which the first `*n` count; `order` is that of the nodes which
// `done` splits have made. `columns` of shape (M, slots) and `rows` are the points, scaled, and their rows in the order
// of the leaves; a slot without a point has the row `*n`.
KERNEL(THREADS, BLOCKS)
split(const real* points, const int* n, const real* scale, const int* order, const int* sizes, real* columns, int* rows) {
  const int leaf = sizes[0], levels = sizes[1], done = sizes[2], count = *n;
  const int splits = levels - done, size = leaf << splits;
  const long long slots = (long long)leaf << levels, first = (long long)blockIdx.x * size;
  int leaf_span = 4;
  while (leaf_span < leaf) leaf_span *= 2;
  alignas(16) __shared__ unsigned room[ROOM];
  alignas(16) __shared__ real held[M * HELD];

  const real unit = *scale;
  real* const here = size <= HELD ? held : columns + first;
  const long long stride = size <= HELD ? HELD : slots;
#pragma unroll 4
  for (int i = threadIdx.x; i < size; i += THREADS) {
    real x[M];
    fetch(points, order[first + i], count, unit, x);
    FOR(a, M) here[a * stride + i] = x[a];
  }
  block_barrier();

  Words<EACH> mine;
  const int own = threadIdx.x * EACH;
  const bool idle = own >= leaf_span << splits;
  FOR(k, EACH) mine.word[k] = own + k - ((leaf_span - leaf) << splits);
  unsigned turned = 0;  // bits of the axes along which the node is gone through backwards
  for (int height = splits; height > 0; height--) {
    const int span = leaf_span << height, size_here = leaf << height, empty = span - size_here;
    const int from = (own & (span - 1)) - (own & span ? size_here : 0);  // counted from where it is empty
    real low[M], high[M];
    FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
    FOR(k, EACH) if (!idle && unsigned(from + k) >= unsigned(empty)) FOR(a, M) {
      const real x = here[a * stride + mine.word[k] % ROOM];
      low[a] = fmin(low[a], x);
      high[a] = fmax(high[a], x < INFINITE ? x : -INFINITE);
    }
    join(low, high, room, span);
    const Side side(low, high, 1);
    FOR(k, EACH) if (!idle) {
      const unsigned was = mine.word[k] % ROOM;
      if (unsigned(from + k) < unsigned(empty)) mine.word[k] = from + k < empty / 2 ? 0 : ~0u;
      else mine.word[k] = side.place(here[side.axis * stride + was], BITS, turned >> side.axis & 1) * ROOM + was;
    }
    sort_spans(mine, room, span);
    if (own & span / 2) turned ^= ~(1u << side.axis);
  }

  const int each = 2 * leaf, span = 2 * leaf_span;  // of the nodes above the leaves
  const int from = (own & (span - 1)) - (span - each) / 2;
  const long long to = first + own / span * each + from;  // of the first word
  FOR(k, EACH / 4) if (!idle && unsigned(from + 4 * k) < unsigned(each)) {
    Four four;
    FOR(i, 4) {
      const unsigned was = mine.word[4 * k + i] % ROOM;
      four.row[i] = here[was] < INFINITE ? order[first + was] : count;
    }
    *reinterpret_cast<Four*>(rows + to + 4 * k) = four;
  }
#pragma unroll 1
  for (int a = 0; a < M; a++) {
    real x[EACH];
    FOR(k, EACH) {
      const bool there = !idle && unsigned(from + k) < unsigned(each);
      x[k] = there ? here[a * stride + mine.word[k] % ROOM] : real(0);
    }
    block_barrier();  // they may lie where the results come
    FOR(k, EACH / WORDS) if (!idle && unsigned(from + k * WORDS) < unsigned(each)) {
      Vector some;
      FOR(i, WORDS) some.word[i] = x[k * WORDS + i];
      *reinterpret_cast<Vector*>(columns + a * slots + to + k * WORDS) = some;
    }
  }
}
