// Split nodes of few slots down to the leaves: one a block, in shared memory, one level after another.
//
// A slot's word has its node, its place along that node's widest side, and in the lowest bits where it was when the
// block began: so equal points keep their order.
#include "keys.cuh"

constexpr int NODES = ROOM / 32;  // above the leaves, at the most
DEVICE constexpr int bits_of(int size) { return size > 1 ? 1 + bits_of(size / 2) : 0; }
constexpr int WAS_BITS = bits_of(ROOM);

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
  const int size = leaf << (levels - done);
  const long long slots = (long long)leaf << levels, first = (long long)blockIdx.x * size;
  const real* points = columns + first;
  int room = 2 * LANES;
  while (room < size) room *= 2;
  __shared__ Words words[ROOM / 4];
  __shared__ real lower[M * NODES], upper[M * NODES];
  unsigned* const word = words[0].word;

  for (int i = threadIdx.x; i < room; i += THREADS) word[i] = i;
  for (int made = 0; made < levels - done; made++) {
    const int each = size >> made;
    for (int i = threadIdx.x; i < M << made; i += THREADS) lower[i] = INFINITE, upper[i] = -INFINITE;
    block_barrier();
    const bool together = each % (4 * LANES) == 0;  // the slots of a warp are of one node
    for (int from = 0; from < size; from += 4 * THREADS) {
      const int i = from + 4 * threadIdx.x;
      real low[M], high[M];
      FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
      if (i < size) {
        const Words four = words[i / 4];
        FOR(j, 4) FOR(a, M) {
          const real x = points[a * slots + four.word[j] % ROOM];
          low[a] = fmin(low[a], x);
          high[a] = fmax(high[a], x < INFINITE ? x : -INFINITE);
        }
      }
      if (together) for (int by = LANES / 2; by; by /= 2) FOR(a, M) {
        low[a] = fmin(low[a], shuffle_xor(low[a], by));
        high[a] = fmax(high[a], shuffle_xor(high[a], by));
      }
      if (i >= size || (together && threadIdx.x % LANES)) continue;
      FOR(a, M) lower_to(lower + (a << made) + i / each, low[a]), raise_to(upper + (a << made) + i / each, high[a]);
    }
    block_barrier();
    const int bits = 32 - made - WAS_BITS;
    for (int i = threadIdx.x; i < room; i += THREADS) {
      const int node = i / each, was = word[i] % ROOM;
      if (i >= size) {
        word[i] = ~0u;
        continue;
      }
      const Side side(lower + node, upper + node, 1 << made);
      word[i] = (unsigned(node) << bits | side.place(points[side.axis * slots + was], bits)) * ROOM + was;
    }
    block_barrier();
    sort_runs(word, room, each & (each - 1) ? room : each);
    block_barrier();
  }
  for (int i = threadIdx.x; i < size; i += THREADS) order[first + i] = rows[first + word[i] % ROOM];
}
