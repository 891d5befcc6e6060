// A sum in several running totals side by side, which become lanes of vector registers. The order of the additions
// depends on count alone.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::mamba2::TUTTI_KERNELS {

// The sum of term(i), i = 0 … count-1.
template <class T, class Term>
inline T sum_in_lanes(int64_t count, Term term) {
  constexpr int64_t kLanes = 16;
  std::array<T, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  for (int64_t lane = 0; i < count; ++i, ++lane) sums[lane] += term(i);
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  return sums[0];
}

template <class T>
inline T dot(const T* a, const T* b, int64_t count) {
  return sum_in_lanes<T>(count, [&](int64_t i) { return a[i] * b[i]; });
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
