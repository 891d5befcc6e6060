#include "plugins/mamba2/linear.h"

#include <stdexcept>

namespace tutti::mamba2 {
namespace {

template <class T, class U, class V>
void check(const Segments& segments, const View<T, 3>& inputs, const View<U, 3>& outputs, const Matrix<V>& weight) {
  const auto lies_well = [&](const auto& v) {
    return v.shape[0] == segments.rows() && v.shape[1] == segments.steps() && has_one_stride(v);
  };
  if (lies_well(inputs) && lies_well(outputs) && weight.is_dense() && weight.shape[0] == outputs.shape[2] &&
      weight.shape[1] == inputs.shape[2])
    return;
  throw std::invalid_argument("linear: " + shape_text(inputs.shape.data(), 3) + " by the transposed weight " +
                              shape_text(weight.shape.data(), 2) + " does not give " + shape_text(outputs.shape.data(), 3) +
                              ", or one of them isn't dense");
}

template <class T>
Linear<T> layer(const Matrix<const T>& weight, const T* bias) {
  return {weight.shape[1], weight.shape[0], weight.data, bias};
}

}  // namespace

template <class T>
void linear_forward(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> x,
                    Matrix<const T> weight, const T* bias, View<T, 3> y, Scratch<T>& scratch) {
  check(segments, x, y, weight);
  kernels.linear_forward(executor, segments, layer(weight, bias), x.data, x.strides[1], y.data, y.strides[1], scratch);
}

template <class T>
void linear_backward_input(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> d_y,
                           Matrix<const T> weight, View<T, 3> d_x, Scratch<T>& scratch) {
  check(segments, d_x, d_y, weight);
  kernels.linear_backward_input(executor, segments, layer<T>(weight, nullptr), d_y.data, d_y.strides[1], d_x.data,
                                d_x.strides[1], scratch);
}

template <class T>
void linear_backward_weight(const Kernels<T>& kernels, Executor& executor, const Segments& segments, View<const T, 3> d_y,
                            View<const T, 3> x, Matrix<T> d_weight, T* d_bias, Scratch<T>& scratch) {
  check(segments, x, d_y, d_weight);
  kernels.linear_backward_weight(executor, segments, layer<T>(d_weight, nullptr), x.data, x.strides[1], d_y.data,
                                 d_y.strides[1], d_weight.data, d_bias, scratch);
}

#define TUTTI_INSTANTIATE(T)                                                                                                    \
  template void linear_forward(const Kernels<T>&, Executor&, const Segments&, View<const T, 3>, Matrix<const T>, const T*,      \
                               View<T, 3>, Scratch<T>&);                                                                        \
  template void linear_backward_input(const Kernels<T>&, Executor&, const Segments&, View<const T, 3>, Matrix<const T>,         \
                                      View<T, 3>, Scratch<T>&);                                                                 \
  template void linear_backward_weight(const Kernels<T>&, Executor&, const Segments&, View<const T, 3>, View<const T, 3>,       \
                                       Matrix<T>, T*, Scratch<T>&)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2
