#include "plugins/mamba2/linear.h"

#include <cassert>

#include "shared/linalg/gemm.h"

namespace tutti::mamba2 {
namespace {

constexpr int64_t kOutputsPerTask = 32;  // rows of a weight's gradient that one task makes

template <class T>
View<T, 2> steps_of(const View<T, 3>& values, const Segment& segment) {
  return values[segment.row].slice(0, segment.begin, segment.end);
}

// [rows, steps, width] as [rows * steps, width].
template <class T>
View<T, 2> flat(const View<T, 3>& values) {
  assert(values.shape[0] <= 1 || values.strides[0] == values.shape[1] * values.strides[1]);
  return {values.data, {values.shape[0] * values.shape[1], values.shape[2]}, {values.strides[1], values.strides[2]}};
}

}  // namespace

template <class T>
void linear_forward(Executor& executor, const Segments& segments, View<const T, 3> x, Matrix<const T> weight, const T* bias,
                    View<T, 3> y) {
  executor.parallel_for(segments.count(), 1, [&](int64_t s, int64_t) {
    const Matrix<T> out = steps_of(y, segments[s]);
    gemm<T>(T(1), steps_of(x, segments[s]), weight.transposed(), T(0), out);
    if (!bias) return;
    for (int64_t t = 0; t < out.shape[0]; ++t)
      for (int64_t i = 0; i < out.shape[1]; ++i) out.data[t * out.strides[0] + i] += bias[i];
  });
}

template <class T>
void linear_backward_input(Executor& executor, const Segments& segments, View<const T, 3> d_y, Matrix<const T> weight,
                           View<T, 3> d_x) {
  executor.parallel_for(segments.count(), 1, [&](int64_t s, int64_t) {
    gemm<T>(T(1), steps_of(d_y, segments[s]), weight, T(0), steps_of(d_x, segments[s]));
  });
}

template <class T>
void linear_backward_weight(Executor& executor, View<const T, 3> d_y, View<const T, 3> x, Matrix<T> d_weight, T* d_bias) {
  const Matrix<const T> d_out = flat(d_y), in = flat(x);
  executor.parallel_for(d_weight.shape[0], kOutputsPerTask, [&](int64_t first, int64_t last) {
    gemm<T>(T(1), d_out.slice(1, first, last).transposed(), in, T(1), d_weight.slice(0, first, last));
    if (!d_bias) return;
    for (int64_t at = 0; at < d_out.shape[0]; ++at)
      for (int64_t i = first; i < last; ++i) d_bias[i] += d_out.data[at * d_out.strides[0] + i];
  });
}

#define TUTTI_INSTANTIATE(T)                                                                                         \
  template void linear_forward(Executor&, const Segments&, View<const T, 3>, Matrix<const T>, const T*, View<T, 3>); \
  template void linear_backward_input(Executor&, const Segments&, View<const T, 3>, Matrix<const T>, View<T, 3>);    \
  template void linear_backward_weight(Executor&, View<const T, 3>, View<const T, 3>, Matrix<T>, T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2
