// Split nodes of few slots down to the leaves: one a block, in shared memory.
//
// A slot's word has its node, its place along that node's widest side, and in the lowest bits where it was when the
// block began: so equal points keep their order.
#include "keys.cuh"

constexpr int THREADS = 256;
constexpr int NODES = ROOM / 32;  // before the last sort, at the most
DEVICE constexpr int bits_of(int size) { return size > 1 ? 1 + bits_of(size / 2) : 0; }
constexpr int WAS_BITS = bits_of(ROOM);

// Sort the first `count` words, a power of two, by Batcher's bitonic network. Steps of up to 32 stay among the words of a warp.
DEVICE void sort_words(unsigned* words, int count) {
  for (int run = 2; run <= count; run *= 2)
    for (int step = run / 2; step; step /= 2) {
      for (int i = threadIdx.x; i < count / 2; i += THREADS) {
        const int one = 2 * i - (i & (step - 1)), two = one + step;
        const unsigned a = words[one], b = words[two];
        if ((a > b) == !(one & run)) words[one] = b, words[two] = a;
      }
      if (step > LANES || (step == 1 && run > LANES)) block_barrier();
      else warp_barrier();
    }
}

// `columns` of shape (M, slots), in the order of nodes that `done` splits have made, and `rows`; `sizes` has also how many
// splits each of the sorts makes. `order` are the rows in the order of the leaves.
KERNEL(THREADS, 1)
split(const real* columns, const int* rows, const int* sizes, int* order) {
  const int leaf = sizes[0], levels = sizes[1], done = sizes[2], sorts = sizes[3];
  const int size = leaf << (levels - done);
  const long long slots = (long long)leaf << levels, first = (long long)blockIdx.x * size;
  const real* points = columns + first;
  int room = 2 * LANES;
  while (room < size) room *= 2;
  __shared__ unsigned words[ROOM];
  __shared__ real lower[M * NODES], upper[M * NODES];

  for (int i = threadIdx.x; i < room; i += THREADS) words[i] = i;
  int made = 0;
  for (int sort = 0; sort < sorts; sort++) {
    const int each = size >> made;
    for (int i = threadIdx.x; i < M << made; i += THREADS) lower[i] = INFINITE, upper[i] = -INFINITE;
    block_barrier();
    for (int i = threadIdx.x * leaf; i < size; i += THREADS * leaf) {  // a leaf's slots are of one node
      real low[M], high[M];
      FOR(a, M) low[a] = INFINITE, high[a] = -INFINITE;
      for (int j = 0; j < leaf; j++) {
        const int was = words[i + j] % ROOM;
        FOR(a, M) {
          const real x = points[a * slots + was];
          low[a] = fmin(low[a], x);
          high[a] = fmax(high[a], x < INFINITE ? x : -INFINITE);
        }
      }
      FOR(a, M) lower_to(lower + (a << made) + i / each, low[a]), raise_to(upper + (a << made) + i / each, high[a]);
    }
    block_barrier();
    for (int i = threadIdx.x; i < room; i += THREADS) {
      const int node = i / each, was = words[i] % ROOM;
      const int bits = 32 - made - WAS_BITS;
      unsigned word = ~0u;
      if (i < size) {
        const Side side(lower + node, upper + node, 1 << made);
        word = (unsigned(node) << bits | side.place(points[side.axis * slots + was], bits)) * ROOM + was;
      }
      words[i] = word;
    }
    block_barrier();
    sort_words(words, room);
    block_barrier();
    made += sizes[4 + sort];
  }
  for (int i = threadIdx.x; i < size; i += THREADS) order[first + i] = rows[first + words[i] % ROOM];
}
