// Every distance, roughly: which points may be among a query's nearest.
//
// A warp has 32 queries x and multiplies them with 64 points y at once. What it computes is x y - y y / 2,
// which is greatest for the nearest point; where it is not less than a query's threshold, the point is a
// candidate. `closest.cu` finds thresholds that leave no neighbor out, and looks at the candidates. These come
// in lists, one for each lane that looks for them, so that no lane waits for another's place.
#include "rough.cuh"

#ifndef WARPS
#define WARPS 8  // a block, with as many tiles of queries
#endif

constexpr int PIECES = (STEPS + 3) / 4;                // of the axes: registers hold so much of the queries
constexpr int PIECE = (STEPS + PIECES - 1) / PIECES;   // steps in a piece; the last has what is left
constexpr int WIDTH = PIECES * PIECE * STEP;           // of a rough query
constexpr int ROWS = 2, COLUMNS = TILE / 8;            // products of 16 queries and 8 points

// What a block has in shared memory of the points: a piece that is used and one that is being copied.
struct Shared {
  alignas(16) float points[2][PIECE * TILE * STEP];
  alignas(16) float halves[2][TILE];

  DEVICE void begin(const float* tiles, const float* square_halves, long long tile, int piece) {
    const int steps = PIECE < STEPS - piece * PIECE ? PIECE : STEPS - piece * PIECE;
    const float* from = tiles + (tile * STEPS + piece * PIECE) * TILE * STEP;
    float* to = points[(tile * PIECES + piece) % 2];
    for (int i = threadIdx.x; i < steps * TILE * STEP / 4; i += WARPS * LANES) begin_copy(to + 4 * i, from + 4 * i);
    if (piece == 0 && threadIdx.x < TILE / 4)
      begin_copy(halves[tile % 2] + 4 * threadIdx.x, square_halves + tile * TILE + 4 * threadIdx.x);
  }
};

// `queries` (padded to whole blocks, WIDTH); `thresholds` (count); `range` the first place and the one after the
// last of this round; `counts` (count, splits, 4) and `found` (count, splits, 4, room): what finds no room is
// counted only.
KERNEL(WARPS * LANES, 1)
candidates(const float* tiles, const float* halves, const float* queries, const float* thresholds, const int* range,
           const int* sizes, int* counts, int* found) {
  const int count = sizes[0], room = sizes[1], splits = sizes[2];
  const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES, row = lane / 4, column = lane % 4;
  const int blocks = (count + WARPS * LANES - 1) / (WARPS * LANES);
  const long long first = ((long long)(blockIdx.x % blocks) * WARPS + warp) * LANES;
  __shared__ Shared shared;
  // All blocks that run at a time look at the same points.
  const int begin = range[0] / TILE, end = (range[1] + TILE - 1) / TILE;
  const int share = (end - begin + splits - 1) / splits;
  const int split = blockIdx.x / blocks, from = begin + split * share, to = min(from + share, end);

  float threshold[ROWS][2];
  int held[ROWS][2] = {};
  const auto list_of = [&](long long query) { return (query * splits + split) * 4 + column; };
  FOR(i, ROWS) FOR(half, 2) {
    const long long query = first + 16 * i + 8 * half + row;
    threshold[i][half] = query < count ? thresholds[query] : float(INFINITE);
  }
  Four x[ROWS][2][PIECE];
  if (from < to) shared.begin(tiles, halves, from, 0);
  for (int tile = from; tile < to; tile++) {
    float sum[ROWS][COLUMNS][4];
    FOR(piece, PIECES) {
      await_copies();
      block_barrier();  // the copies are there, and nobody uses any longer what is copied over now
      const bool last = piece + 1 == PIECES;
      if (!last || tile + 1 < to) shared.begin(tiles, halves, last ? tile + 1 : tile, last ? 0 : piece + 1);
      if (PIECES > 1 || tile == from) FOR(i, ROWS) FOR(half, 2) FOR(step, PIECE) {
        const float* query = queries + (first + 16 * i + 8 * half + row) * WIDTH;
        x[i][half][step] = reinterpret_cast<const Four*>(query + (piece * PIECE + step) * STEP)[column];
      }
      if (piece == 0) FOR(j, COLUMNS) {
        const float* half = shared.halves[tile % 2] + 8 * j + 2 * column;
        FOR(i, ROWS) FOR(k, 4) sum[i][j][k] = -half[k % 2];
      }
      const float* points = shared.points[((long long)tile * PIECES + piece) % 2];
      FOR(step, PIECE) if (piece * PIECE + step < STEPS) FOR(j, COLUMNS) {
        const Four y = reinterpret_cast<const Four*>(points + (step * TILE + 8 * j + row) * STEP)[column];
        FOR(part, 2) FOR(i, ROWS)
          add_product(sum[i][j], x[i][0][step].word[2 * part], x[i][1][step].word[2 * part],
                      x[i][0][step].word[2 * part + 1], x[i][1][step].word[2 * part + 1], y.word[2 * part],
                      y.word[2 * part + 1]);
      }
    }
    FOR(i, ROWS) FOR(half, 2) {
      float greatest = sum[i][0][2 * half];
      FOR(j, COLUMNS) FOR(k, 2) greatest = fmaxf(greatest, sum[i][j][2 * half + k]);
      if (greatest < threshold[i][half]) continue;
      int* list = found + list_of(first + 16 * i + 8 * half + row) * room;
      FOR(j, COLUMNS) FOR(k, 2) if (sum[i][j][2 * half + k] >= threshold[i][half]) {
        if (held[i][half] < room) list[held[i][half]] = tile * TILE + 8 * j + 2 * column + k;
        held[i][half]++;
      }
    }
  }
  FOR(i, ROWS) FOR(half, 2) {
    const long long query = first + 16 * i + 8 * half + row;
    if (query < count) counts[list_of(query)] = held[i][half];
  }
}
