// Make the rough copies of the points.
#include "rough.cuh"

// `tiles` of shape (tiles, STEPS, TILE, STEP), `halves` (tiles, TILE) half the squares of their lengths.
KERNEL(128, 1)
rough(const real* points, const int* groups, const real* centre, const real* unit, const int* sizes, float* tiles,
      float* halves) {
  const long long slots = sizes[0], places = sizes[1];
  const long long place = (long long)blockIdx.x * 128 + threadIdx.x;
  if (place >= places) return;
  const long long slot = slot_at(groups, place);
  const bool there = slot < slots && points[slot] < INFINITE;
  float square = 0;
  for (int step = 0; step < STEPS; step++) {
    Four* to = reinterpret_cast<Four*>(tiles + ((place / TILE * STEPS + step) * TILE + place % TILE) * STEP);
    FOR(i, STEP / 4) {
      Four four;
      FOR(j, 4) {
        const int axis = step * STEP + 4 * i + j;
        const bool here = there && axis < M;
        const float x = here ? rounded(float((points[axis * slots + slot] - centre[axis]) * *unit)) : 0;
        square += x * x;
        four.word[j] = x;
      }
      to[i] = four;
    }
  }
  halves[place] = there ? square / 2 : NOWHERE;
}
