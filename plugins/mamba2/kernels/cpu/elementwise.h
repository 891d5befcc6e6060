// The functions of activation.h written so that a loop over them becomes vector code: no branch, no call, no table. exp
// takes the nearest multiple of ln 2 off its argument and sums the Taylor series of the rest; log1p is the series of the
// inverse hyperbolic tangent. exp is within 1 ulp of the true value, the others within 3; infinities, NaN, zero and
// subnormal numbers come out of exp as from the standard library. Multiplications and additions are fused by
// hand, so that the vector body and the scalar end of a loop give the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tutti::mamba2::TUTTI_KERNELS {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  using Bits = int32_t;
  static constexpr float kLowest = -104, kHighest = 89;  // 0 and infinity from there on
  static constexpr float kRound = 0x1.8p23F;             // adding it rounds to an integer, found in the low bits
  static constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;  // the first times an exponent is exact
  static constexpr Bits kBias = 127, kMantissa = 23;
  static constexpr int kTerms = 7, kAtanhTerms = 9;  // rests 0.35^8/8! and 9^-9/19
};
template <>
struct ExpConstants<double> {
  using Bits = int64_t;
  static constexpr double kLowest = -746, kHighest = 710;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
  static constexpr Bits kBias = 1023, kMantissa = 52;
  static constexpr int kTerms = 13, kAtanhTerms = 17;  // rests 0.35^14/14! and 9^-17/35
};

// The product of the first numbers, inverted.
constexpr double inverse_factorial(int n) { return n < 2 ? 1.0 : inverse_factorial(n - 1) / n; }

// sum of r^k / k!, k = First … Last.
template <int First, int Last, class T>
inline T exp_series(T r) {
  if constexpr (First == Last)
    return static_cast<T>(inverse_factorial(Last));
  else
    return std::fma(r, exp_series<First + 1, Last>(r), static_cast<T>(inverse_factorial(First)));
}

// sum of q^k / (2 k + 1), k = First … Last.
template <int First, int Last, class T>
inline T atanh_series(T q) {
  if constexpr (First == Last)
    return T(1) / T(2 * Last + 1);
  else
    return std::fma(q, atanh_series<First + 1, Last>(q), T(1) / T(2 * First + 1));
}

template <class T>
inline T fast_exp(T v) {
  using K = ExpConstants<T>;
  using Bits = typename K::Bits;
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074);
  v = v < K::kLowest ? K::kLowest : v;  // NaN stays
  v = v > K::kHighest ? K::kHighest : v;
  const T rounded = std::fma(v, kLog2E, K::kRound), exponent = rounded - K::kRound, half = std::fma(exponent, T(0.5), K::kRound);
  const T r = std::fma(exponent, -K::kLn2Low, std::fma(exponent, -K::kLn2High, v));
  const Bits zero = std::bit_cast<Bits>(K::kRound), whole = std::bit_cast<Bits>(rounded) - zero;
  const Bits first = std::bit_cast<Bits>(half) - zero, second = whole - first;  // 2^whole may leave the range, its halves don't
  const auto power = [](Bits n) { return std::bit_cast<T>(static_cast<Bits>((n + K::kBias) << K::kMantissa)); };
  return exp_series<0, K::kTerms>(r) * power(first) * power(second);
}

template <class T>
inline T fast_sigmoid(T v) {
  return T(1) / (T(1) + fast_exp(-v));
}

template <class T>
inline T fast_silu(T v) {
  return v / (T(1) + fast_exp(-v));
}

// The derivative of silu where s is the sigmoid of v.
template <class T>
inline T silu_slope(T v, T s) {
  return s * std::fma(v, T(1) - s, T(1));
}

// log(1 + exp(v)).
template <class T>
inline T fast_softplus(T v) {
  const T u = fast_exp(-std::abs(v)), s = u / (T(2) + u), q = s * s;  // log1p(u) = 2 atanh(s), s up to 1/3
  const T log1p = std::fma(T(2) * s * q, atanh_series<1, ExpConstants<T>::kAtanhTerms - 1>(q), T(2) * s);
  return (v < T(0) ? T(0) : v) + log1p;
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
