// Split nodes of few slots down to the leaves: one a block, in shared memory, one level after another.
//
// A node's slots begin a span of a power of two; the spans lie one after another. A slot's word has its place along
// the node's widest side and, in the lowest bits, where it was when the block began: so equal points keep their order.
#include "keys.cuh"

constexpr int NODES = 64;                  // above the leaves, at the most
constexpr int WORDS_EACH = ROOM / THREADS; // of a thread
DEVICE constexpr int bits_of(int size) { return size > 1 ? 1 + bits_of(size / 2) : 0; }
constexpr int BITS = 32 - bits_of(ROOM);  // for the place

struct alignas(16) Words { unsigned word[4]; };  // of slots of one leaf

// Sort runs of `length`, a power of two, among `count` words, by Batcher's bitonic network. Steps of up to 32 stay
// among the words of a warp.
DEVICE void sort_runs(unsigned* words, int count, int length) {
  for (int run = 2; run <= length; run *= 2)
    for (int step = run / 2; step; step /= 2) {
      for (int i = threadIdx.x; i < count / 2; i += THREADS) {
        const int one = 2 * i - (i & (step - 1)), two = one + step;
        const unsigned a = words[one], b = words[two];
        const bool ascends = run == length || !(one & run);
        if ((a > b) == ascends) words[one] = b, words[two] = a;
      }
      if (step > LANES || (step == 1 && run > LANES)) block_barrier();
      else warp_barrier();
    }
}

// `columns` of shape (M, slots), in the order of nodes that `done` splits have made, and `rows`. `order` are the rows
// in the order of the leaves.
KERNEL(THREADS, 1)
split(const real* columns, const int* rows, const int* sizes, int* order) {
  const int leaf = sizes[0], levels = sizes[1], done = sizes[2];
  const int splits = levels - done, size = leaf << splits;
  const long long slots = (long long)leaf << levels, first = (long long)blockIdx.x * size;
  const real* points = columns + first;
  int leaf_span = 4;
  while (leaf_span < leaf) leaf_span *= 2;
  const int room = leaf_span << splits;
  __shared__ Words words[ROOM / 4];
  __shared__ real lower[M * NODES], upper[M * NODES];
  unsigned* const word = words[0].word;

  for (int i = threadIdx.x; i < room; i += THREADS) word[i] = i;
  block_barrier();
  for (int made = 0; made < splits; made++) {
    const int each = size >> made, span = room >> made, shift = 31 - __clz(span);
    unsigned mine[WORDS_EACH];  // those of the second child leave the end of the first one's
    FOR(k, WORDS_EACH) {
      const int i = threadIdx.x + k * THREADS, node = i >> shift, place = i & (span - 1);
      const int was = made ? (node >> 1 << (shift + 1)) + (node & 1) * each + place : i;
      mine[k] = i < room && place < each ? word[was] % ROOM : 0;
    }
    block_barrier();
    FOR(k, WORDS_EACH) if (threadIdx.x + k * THREADS < room) word[threadIdx.x + k * THREADS] = mine[k];
    for (int i = threadIdx.x; i < M << made; i += THREADS) lower[i] = INFINITE, upper[i] = -INFINITE;
    block_barrier();
    const bool together = span >= 4 * LANES;  // the slots of a warp are of one node
    for (int from = 0; from < room; from += 4 * THREADS) {
      const int i = from + 4 * threadIdx.x;
      real low[M], high[M];
      FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
      if (i < room && (i & (span - 1)) < each) {
        const Words four = words[i / 4];
        FOR(j, 4) FOR(a, M) {
          const real x = points[a * slots + four.word[j]];
          low[a] = fmin(low[a], x);
          high[a] = fmax(high[a], x < INFINITE ? x : -INFINITE);
        }
      }
      if (together) for (int by = LANES / 2; by; by /= 2) FOR(a, M) {
        low[a] = fmin(low[a], shuffle_xor(low[a], by));
        high[a] = fmax(high[a], shuffle_xor(high[a], by));
      }
      if (i >= room || (together && threadIdx.x % LANES)) continue;
      FOR(a, M) lower_to(lower + (a << made) + (i >> shift), low[a]), raise_to(upper + (a << made) + (i >> shift), high[a]);
    }
    block_barrier();
    for (int i = threadIdx.x; i < room; i += THREADS) {
      const int node = i >> shift;
      const Side side(lower + node, upper + node, 1 << made);
      const int was = word[i];
      word[i] = (i & (span - 1)) < each ? side.place(points[side.axis * slots + was], BITS) * ROOM + was : ~0u;
    }
    block_barrier();
    sort_runs(word, room, span);
    block_barrier();
  }
  const int each = 2 * leaf, span = 2 * leaf_span;  // of the nodes above the leaves
  for (int i = threadIdx.x; i < size; i += THREADS)
    order[first + i] = rows[first + word[i / each * span + i % each] % ROOM];
}
