// A linear layer y = x W^T + b over the steps of a batch, and its backward pass. Weights lie [out, in] as in PyTorch.
//
// Activations are [rows, steps, width] with a dense last axis. Each segment is some products of its own, whose shapes
// don't depend on the batch, so a row's bits don't either. Sums over the batch run in one order at any number of threads.
#pragma once

#include "plugins/mamba2/segments.h"
#include "shared/parallel/executor.h"
#include "shared/tensor/view.h"

namespace tutti::mamba2 {

// y = x W^T + bias inside segments; bias [out], or null. x [rows, steps, in], weight [out, in], y [rows, steps, out].
template <class T>
void linear_forward(Executor& executor, const Segments& segments, View<const T, 3> x, Matrix<const T> weight, const T* bias,
                    View<T, 3> y);

// d_x = d_y W inside segments.
template <class T>
void linear_backward_input(Executor& executor, const Segments& segments, View<const T, 3> d_y, Matrix<const T> weight,
                           View<T, 3> d_x);

// d_weight += d_y^T x and d_bias += the sum of d_y, over all steps: both operands must be finite or zero outside
// segments, one of them zero. x and d_y rows must follow each other without a gap. d_bias [out], or null.
template <class T>
void linear_backward_weight(Executor& executor, View<const T, 3> d_y, View<const T, 3> x, Matrix<T> d_weight, T* d_bias);

}  // namespace tutti::mamba2
