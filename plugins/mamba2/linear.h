// Linear layers over typed views, so that no operand can come the wrong way round: the kernels' linear operations with the
// shapes of their operands checked.
//
// Activations are [rows, steps, width] with one stride; weights lie [out, in]. Only
// steps inside segments are read and written. Throws std::invalid_argument where shapes don't fit.
#pragma once

#include "plugins/mamba2/kernels/kernels.h"
#include "shared/tensor/view.h"

namespace tutti::mamba2 {

// Whether a view [rows, steps, width] has a dense last axis and one distance from step to step, also between rows: what
// kernels read and write.
template <class T>
bool has_one_stride(const View<T, 3>& v) {
  return (v.shape[2] == 1 || v.strides[2] == 1) && (v.shape[0] <= 1 || v.strides[0] == v.shape[1] * v.strides[1]);
}

// y = x W^T + bias; bias [out], or null. x [rows, steps, in], weight [out, in], y [rows, steps, out].
template <class T>
void linear_forward(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> x,
                    Matrix<const T> weight, const T* bias, View<T, 3> y, Scratch<T>& scratch);

// d_x = d_y W.
template <class T>
void linear_backward_input(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> d_y,
                           Matrix<const T> weight, View<T, 3> d_x, Scratch<T>& scratch);

// d_weight += d_y^T x and d_bias += the sum of d_y, over all steps in their order. d_bias [out], or null.
template <class T>
void linear_backward_weight(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> d_y,
                            View<const T, 3> x, Matrix<T> d_weight, T* d_bias, Scratch<T>& scratch);

}  // namespace tutti::mamba2
