// The scan as its recurrence, with a block of the state in registers: some n by a vector of p, over some steps.
//   h[n,p] = decay h[n,p] + B[n] in[p],   out[p] = out[p] + sum_n C[n] h[n,p]
// Every out is one chain of fused multiply-adds in the order of n, so the bits don't depend on the blocks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/mamba2/kernels/cpu/vector.h"

namespace tutti::mamba2::TUTTI_KERNELS {

constexpr int kStateRows = kManyRegisters ? 16 : 8;  // of the state in registers

// Operands of some steps of one head.
template <class T>
struct Recurrence {
  int64_t steps, P, N;
  const T *B, *C;  // [steps, N], a step every stride elements
  int64_t stride;
  const T* decay;  // [steps]
  const T* in;     // [steps, P], dense
  T* out;          // [steps, P], a step every out_row elements; added to
  int64_t out_row;
  T* h;            // [N, P]; read and updated
};

// n = first … first+Rows-1 by the vector that begins at p, of which the first count numbers exist where Partial.
template <int Rows, bool Partial, class T>
void run_recurrence(const Recurrence<T>& a, int64_t first, int64_t p, int64_t count) {
  using V = Vector<T>;
  const auto load = [&](const T* from) __attribute__((always_inline)) {
    if constexpr (Partial) return V::load_first(from, count);
    else return V::load(from);
  };
  const auto store = [&](V v, T* to) __attribute__((always_inline)) {
    if constexpr (Partial) v.store_first(to, count);
    else v.store(to);
  };
  V h[Rows];
  unroll<Rows>([&](auto n) __attribute__((always_inline)) { h[n] = load(a.h + (first + n) * a.P + p); });
  const T *B = a.B + first, *C = a.C + first, *in = a.in + p;
  T* out = a.out + p;
  for (int64_t t = 0; t < a.steps; ++t) {
    const V input = load(in), decay = V::broadcast(a.decay[t]);
    V sum = load(out);
    unroll<Rows>([&](auto n) __attribute__((always_inline)) {
      h[n] = V::fma(V::broadcast(B[n]), input, V::product(decay, h[n]));
      sum = V::fma(V::broadcast(C[n]), h[n], sum);
    });
    store(sum, out);
    B += a.stride, C += a.stride, in += a.P, out += a.out_row;
  }
  unroll<Rows>([&](auto n) __attribute__((always_inline)) { store(h[n], a.h + (first + n) * a.P + p); });
}

template <int Rows, class T>
void run_recurrence(const Recurrence<T>& a, int64_t first) {
  int64_t p = 0;
  for (; p + Vector<T>::kLanes <= a.P; p += Vector<T>::kLanes) run_recurrence<Rows, false>(a, first, p, 0);
  if (p < a.P) run_recurrence<Rows, true>(a, first, p, a.P - p);
}

template <class T>
void run_recurrence(const Recurrence<T>& a) {
  int64_t n = 0;
  for (; n + kStateRows <= a.N; n += kStateRows) run_recurrence<kStateRows>(a, n);
  if (kStateRows > 8 && n + 8 <= a.N) run_recurrence<8>(a, n), n += 8;
  if (n + 4 <= a.N) run_recurrence<4>(a, n), n += 4;
  if (n + 2 <= a.N) run_recurrence<2>(a, n), n += 2;
  if (n < a.N) run_recurrence<1>(a, n);
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
