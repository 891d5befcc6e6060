// Linear layers over typed views, so that no operand can come the wrong way round: the kernels' linear operations with the
// shapes of their operands checked.
//
// Activations are [rows, steps, width] with a dense last axis and no gap between rows; weights lie [out, in]. Only
// steps inside segments are read and written. Throws std::invalid_argument where shapes don't fit.
#pragma once

#include "plugins/mamba2/kernels/kernels.h"
#include "shared/tensor/view.h"

namespace tutti::mamba2 {

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
