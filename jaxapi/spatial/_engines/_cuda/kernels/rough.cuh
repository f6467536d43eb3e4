// Rough copies of points, from which every distance is estimated by a product of matrices: relative to the
// cloud's centre, scaled to about 1, in as many bits as the multipliers take.
//
// They come in tiles of 64 points and steps of 16 axes, (tiles, STEPS, 64, 16), so that what is multiplied
// at once lies together.
#pragma once
#include "metric.cuh"

constexpr int TILE = 64;       // points
constexpr int STEP = 16;       // axes: four lanes load 16 bytes each
constexpr int STEPS = (M + STEP - 1) / STEP;
constexpr float NOWHERE = 1e38f;  // what stands for half the square of a missing point

// Round to TF32's 11 significant bits.
DEVICE float rounded(float x) { return __int_as_float(__float_as_int(x) + 0x1000 & ~0x1fff); }

struct alignas(16) Four { float word[4]; };

// The points are dealt: a place is that of a point in this order, in which every part is a sample of all.
// `groups` has the group of 32 slots at each group of 32 places.
DEVICE long long slot_at(const int* groups, long long place) {
  return (long long)groups[place / LANES] * LANES + place % LANES;
}
