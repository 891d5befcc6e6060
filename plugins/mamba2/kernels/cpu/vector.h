// One register of T, for the loops that a compiler doesn't turn into vector code by itself: everything that depends on
// the instruction set. Which set is chosen by the flags that a file is compiled with; without one of them a vector is one
// number. Intrinsics rather than a library, since so few operations are needed, and each must give the same bits at every width.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#define TUTTI_INLINE inline __attribute__((always_inline))

namespace tutti::mamba2::TUTTI_KERNELS {

// Registers hold numbers of T; fma(a, b, c) is a * b + c, rounded once. load_first and store_first touch the first
// count numbers only, the others are zero.
template <class T>
struct Vector;

#if defined(__AVX512F__)

constexpr bool kManyRegisters = true;  // 32, else 16

template <>
struct Vector<float> {
  static constexpr int64_t kLanes = 16;
  __m512 v;

  static TUTTI_INLINE __mmask16 first(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
  static TUTTI_INLINE Vector zero() { return {_mm512_setzero_ps()}; }
  static TUTTI_INLINE Vector broadcast(float x) { return {_mm512_set1_ps(x)}; }
  static TUTTI_INLINE Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static TUTTI_INLINE Vector load_first(const float* p, int64_t count) { return {_mm512_maskz_loadu_ps(first(count), p)}; }
  TUTTI_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  TUTTI_INLINE void store_first(float* p, int64_t count) const { _mm512_mask_storeu_ps(p, first(count), v); }
  static TUTTI_INLINE Vector product(Vector a, Vector b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static TUTTI_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Vector<double> {
  static constexpr int64_t kLanes = 8;
  __m512d v;

  static TUTTI_INLINE __mmask8 first(int64_t count) { return static_cast<__mmask8>((1u << count) - 1); }
  static TUTTI_INLINE Vector zero() { return {_mm512_setzero_pd()}; }
  static TUTTI_INLINE Vector broadcast(double x) { return {_mm512_set1_pd(x)}; }
  static TUTTI_INLINE Vector load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static TUTTI_INLINE Vector load_first(const double* p, int64_t count) { return {_mm512_maskz_loadu_pd(first(count), p)}; }
  TUTTI_INLINE void store(double* p) const { _mm512_storeu_pd(p, v); }
  TUTTI_INLINE void store_first(double* p, int64_t count) const { _mm512_mask_storeu_pd(p, first(count), v); }
  static TUTTI_INLINE Vector product(Vector a, Vector b) { return {_mm512_mul_pd(a.v, b.v)}; }
  static TUTTI_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
};

#elif defined(__AVX2__) && defined(__FMA__)

constexpr bool kManyRegisters = false;

template <>
struct Vector<float> {
  static constexpr int64_t kLanes = 8;
  __m256 v;

  static TUTTI_INLINE __m256i first(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static TUTTI_INLINE Vector zero() { return {_mm256_setzero_ps()}; }
  static TUTTI_INLINE Vector broadcast(float x) { return {_mm256_set1_ps(x)}; }
  static TUTTI_INLINE Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static TUTTI_INLINE Vector load_first(const float* p, int64_t count) { return {_mm256_maskload_ps(p, first(count))}; }
  TUTTI_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  TUTTI_INLINE void store_first(float* p, int64_t count) const { _mm256_maskstore_ps(p, first(count), v); }
  static TUTTI_INLINE Vector product(Vector a, Vector b) { return {_mm256_mul_ps(a.v, b.v)}; }
  static TUTTI_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Vector<double> {
  static constexpr int64_t kLanes = 4;
  __m256d v;

  static TUTTI_INLINE __m256i first(int64_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static TUTTI_INLINE Vector zero() { return {_mm256_setzero_pd()}; }
  static TUTTI_INLINE Vector broadcast(double x) { return {_mm256_set1_pd(x)}; }
  static TUTTI_INLINE Vector load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static TUTTI_INLINE Vector load_first(const double* p, int64_t count) { return {_mm256_maskload_pd(p, first(count))}; }
  TUTTI_INLINE void store(double* p) const { _mm256_storeu_pd(p, v); }
  TUTTI_INLINE void store_first(double* p, int64_t count) const { _mm256_maskstore_pd(p, first(count), v); }
  static TUTTI_INLINE Vector product(Vector a, Vector b) { return {_mm256_mul_pd(a.v, b.v)}; }
  static TUTTI_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
};

#else

constexpr bool kManyRegisters = false;

template <class T>
struct Vector {
  static constexpr int64_t kLanes = 1;
  T v;

  static TUTTI_INLINE Vector zero() { return {T(0)}; }
  static TUTTI_INLINE Vector broadcast(T x) { return {x}; }
  static TUTTI_INLINE Vector load(const T* p) { return {*p}; }
  static TUTTI_INLINE Vector load_first(const T* p, int64_t count) { return {count > 0 ? *p : T(0)}; }
  TUTTI_INLINE void store(T* p) const { *p = v; }
  TUTTI_INLINE void store_first(T* p, int64_t count) const {
    if (count > 0) *p = v;
  }
  static TUTTI_INLINE Vector product(Vector a, Vector b) { return {a.v * b.v}; }
  static TUTTI_INLINE Vector fma(Vector a, Vector b, Vector c) { return {std::fma(a.v, b.v, c.v)}; }
};

#endif

// body(constant i) for i = 0 … N-1, unrolled for certain.
template <class Body, int... I>
TUTTI_INLINE void unroll_each(std::integer_sequence<int, I...>, const Body& body) {
  (body(std::integral_constant<int, I>{}), ...);
}
template <int N, class Body>
TUTTI_INLINE void unroll(const Body& body) {
  unroll_each(std::make_integer_sequence<int, N>{}, body);
}

// a0 b0 a1 b1 … of the lower (Half 0) or upper halves of a and b.
template <int Half, class T, int... I>
TUTTI_INLINE Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I);
  return {__builtin_shufflevector(a.v, b.v, (Half * kLanes / 2 + I / 2 + I % 2 * kLanes)...)};
}

// Rows become columns, in log2(lanes) perfect shuffles.
template <class T>
TUTTI_INLINE void transpose(Vector<T> (&rows)[Vector<T>::kLanes]) {
  constexpr int kLanes = Vector<T>::kLanes;
  if constexpr (kLanes > 1) {
    constexpr auto order = std::make_integer_sequence<int, kLanes>{};
    unroll<std::countr_zero(unsigned{kLanes})>([&](auto) __attribute__((always_inline)) {
      Vector<T> shuffled[kLanes];
      unroll<kLanes / 2>([&](auto i) __attribute__((always_inline)) {
        shuffled[2 * i] = interleave<0>(rows[i], rows[i + kLanes / 2], order);
        shuffled[2 * i + 1] = interleave<1>(rows[i], rows[i + kLanes / 2], order);
      });
      unroll<kLanes>([&](auto i) __attribute__((always_inline)) { rows[i] = shuffled[i]; });
    });
  }
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
