#include "plugins/mamba2/linear.h"

#include <algorithm>
#include <cassert>

#include "shared/linalg/gemm.h"

namespace tutti::mamba2 {
namespace {

constexpr int64_t kOutputsPerTask = 32;   // rows of a weight's gradient that one task makes
constexpr int64_t kColumnsPerTask = 256;  // of an activation: their part of the weight stays in a core's cache

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

// Calls body(segment, first, last) for blocks of width columns. Blocks are the same for every batch, so that the bits are,
// and all segments meet one part of the weight before the next.
template <class Body>
void for_each_block(Executor& executor, const Segments& segments, int64_t width, Body body) {
  const int64_t blocks = (width + kColumnsPerTask - 1) / kColumnsPerTask, count = segments.count();
  executor.parallel_for(blocks * count, 1, [&](int64_t task, int64_t) {
    const int64_t first = task / count * kColumnsPerTask;
    body(segments[task % count], first, std::min(first + kColumnsPerTask, width));
  });
}

}  // namespace

template <class T>
void linear_forward(Executor& executor, const Segments& segments, View<const T, 3> x, Matrix<const T> weight, const T* bias,
                    View<T, 3> y) {
  for_each_block(executor, segments, y.shape[2], [&](const Segment& segment, int64_t first, int64_t last) {
    const Matrix<T> out = steps_of(y, segment).slice(1, first, last);
    gemm<T>(T(1), steps_of(x, segment), weight.slice(0, first, last).transposed(), T(0), out);
    if (!bias) return;
    for (int64_t t = 0; t < out.shape[0]; ++t)
      for (int64_t i = first; i < last; ++i) out.data[t * out.strides[0] + i - first] += bias[i];
  });
}

template <class T>
void linear_backward_input(Executor& executor, const Segments& segments, View<const T, 3> d_y, Matrix<const T> weight,
                           View<T, 3> d_x) {
  for_each_block(executor, segments, d_x.shape[2], [&](const Segment& segment, int64_t first, int64_t last) {
    gemm<T>(T(1), steps_of(d_y, segment), weight.slice(1, first, last), T(0), steps_of(d_x, segment).slice(1, first, last));
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
