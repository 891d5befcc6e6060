#include <algorithm>
#include <cmath>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/elementwise.h"
#include "plugins/mamba2/kernels/cpu/lanes.h"
#include "plugins/mamba2/kernels/cpu/tasks.h"

namespace tutti::mamba2::TUTTI_KERNELS {

template <class T>
void norm_forward(Executor& executor, const Segments& segments, const Norm<T>& a, T* out, int64_t out_stride, T* rstd) {
  const int64_t size = a.features / a.groups;
  executor.parallel_for(segments.count(), 1, [&](int64_t task, int64_t) {
    const Segment& segment = segments[task];
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t g = 0; g < a.groups; ++g) {
        const int64_t at = segment.row * segments.steps() + t;
        const T* y = a.y + at * a.features + g * size;
        const T* z = a.z ? a.z + at * a.z_stride + g * size : nullptr;
        const T* weight = a.weight ? a.weight + g * size : nullptr;
        T* v = out + at * out_stride + g * size;
        const bool gate_first = z && !(a.norm_before_gate && weight);
        if (gate_first)
          for (int64_t i = 0; i < size; ++i) v[i] = y[i] * fast_silu(z[i]);
        else
          std::copy_n(y, size, v);
        if (!weight) continue;
        const T r = rstd[at * a.groups + g] = T(1) / std::sqrt(dot(v, v, size) / static_cast<T>(size) + a.epsilon);
        for (int64_t i = 0; i < size; ++i) v[i] *= r * weight[i];
        if (z && a.norm_before_gate)
          for (int64_t i = 0; i < size; ++i) v[i] *= fast_silu(z[i]);
      }
  });
}

// With v what is normalised, n = v * rstd and d_n its gradient: d_v = rstd * (d_n - n * mean(d_n * n)). The weight's
// gradient is summed for each segment, then over segments.
template <class T>
void norm_backward(Executor& executor, const Segments& segments, const Norm<T>& a, const T* rstd, const T* d_out,
                   int64_t out_stride, const NormGradient<T>& gradient, Scratch<T>& scratch) {
  const int64_t size = a.features / a.groups, S = a.features;
  const int64_t workers = count_workers(executor, segments.count());
  T* d_weights = scratch.reserve((segments.count() + 4 * workers) * S);  // [segments, S]
  T* memory = d_weights + segments.count() * S;
  for_each_task(executor, segments.count(), [&](int64_t task, int64_t worker) {
    const Segment& segment = segments[task];
    T* d_weight = d_weights + task * S;
    T *gate = memory + worker * 4 * S, *slope = gate + S, *n = slope + S, *d_n = n + S;
    std::fill_n(d_weight, S, T(0));
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t g = 0; g < a.groups; ++g) {
        const int64_t at = segment.row * segments.steps() + t, first = g * size;
        const T *y = a.y + at * S + first, *d = d_out + at * out_stride + first;
        const T* z = a.z ? a.z + at * a.z_stride + first : nullptr;
        T *d_y = gradient.y + at * S + first, *d_z = z ? gradient.z + at * a.z_stride + first : nullptr;
        for (int64_t i = 0; i < size; ++i) gate[i] = T(1);
        for (int64_t i = 0; z && i < size; ++i) {
          const T s = fast_sigmoid(z[i]);
          gate[i] = z[i] * s, slope[i] = silu_slope(z[i], s);
        }
        if (!a.weight) {
          for (int64_t i = 0; i < size; ++i) d_y[i] = d[i] * gate[i];
          for (int64_t i = 0; z && i < size; ++i) d_z[i] = d[i] * y[i] * slope[i];
          continue;
        }
        const T* weight = a.weight + first;
        const T r = rstd[at * a.groups + g];
        // inner gates what is normalised, outer what came of it; one of them is 1
        const auto pass = [&](auto inner, auto outer) {
          for (int64_t i = 0; i < size; ++i) n[i] = y[i] * inner(i) * r;
          for (int64_t i = 0; i < size; ++i) d_n[i] = d[i] * outer(i) * weight[i];
          for (int64_t i = 0; i < size; ++i) d_weight[first + i] += d[i] * outer(i) * n[i];
          const T mean = dot(d_n, n, size) / static_cast<T>(size);
          for (int64_t i = 0; i < size; ++i) d_n[i] = r * (d_n[i] - n[i] * mean);  // now of v
          for (int64_t i = 0; i < size; ++i) d_y[i] = d_n[i] * inner(i);
        };
        const auto gated = [&](int64_t i) { return gate[i]; };
        const auto one = [](int64_t) { return T(1); };
        if (a.norm_before_gate) {
          pass(one, gated);
          for (int64_t i = 0; z && i < size; ++i) d_z[i] = d[i] * weight[i] * n[i] * slope[i];
        } else {
          pass(gated, one);
          for (int64_t i = 0; z && i < size; ++i) d_z[i] = d_n[i] * y[i] * slope[i];
        }
      }
  });
  if (!gradient.weight) return;
  for (int64_t s = 0; s < segments.count(); ++s)
    for (int64_t i = 0; i < S; ++i) gradient.weight[i] += d_weights[s * S + i];
}

#define TUTTI_INSTANTIATE(T)                                                                                                   \
  template void norm_forward(Executor&, const Segments&, const Norm<T>&, T*, int64_t, T*);                                     \
  template void norm_backward(Executor&, const Segments&, const Norm<T>&, const T*, const T*, int64_t, const NormGradient<T>&, \
                              Scratch<T>&)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::TUTTI_KERNELS
