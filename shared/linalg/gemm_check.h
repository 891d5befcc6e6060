// What every matrix library behind gemm.h has in common: the check of shapes, and copies of operands that have no
// stride of 1, and the product over an axis of no length.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "shared/tensor/view.h"

namespace tutti {

template <class T>
void check_gemm_shapes(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c) {
  if (a.shape[1] == b.shape[0] && a.shape[0] == c.shape[0] && b.shape[1] == c.shape[1]) return;
  throw std::invalid_argument("gemm: " + shape_text(a.shape.data(), 2) + " by " + shape_text(b.shape.data(), 2) +
                              " does not give " + shape_text(c.shape.data(), 2));
}

// True where the matrix lies row by row or column by column, as matrix libraries want it.
template <class T>
bool has_unit_stride(const Matrix<T>& m) {
  return (m.strides[1] == 1 && m.strides[0] >= m.shape[1]) || (m.strides[0] == 1 && m.strides[1] >= m.shape[0]) ||
         (m.strides[1] == 1 && m.shape[0] == 1) || (m.strides[0] == 1 && m.shape[1] == 1);
}

// m itself, or a dense copy in storage.
template <class T>
Matrix<const T> with_unit_stride(const Matrix<const T>& m, std::vector<T>& storage) {
  if (has_unit_stride(m)) return m;
  storage.resize(static_cast<size_t>(m.size()));
  Matrix<T> copy(storage.data(), m.shape);
  for (int64_t i = 0; i < m.shape[0]; ++i)
    for (int64_t j = 0; j < m.shape[1]; ++j) copy(i, j) = m(i, j);
  return copy;
}

// m times factor; where that is 0, m is not read.
template <class T>
void scale(const Matrix<T>& m, T factor) {
  for (int64_t i = 0; i < m.shape[0]; ++i)
    for (int64_t j = 0; j < m.shape[1]; ++j) m(i, j) = factor == T(0) ? T(0) : factor * m(i, j);
}

template <class T>
void check_batched_shapes(const View<const T, 3>& a, const View<const T, 3>& b, const View<T, 3>& c) {
  if (a.shape[0] == b.shape[0] && a.shape[0] == c.shape[0]) return;
  throw std::invalid_argument("gemm: batches of " + std::to_string(a.shape[0]) + ", " + std::to_string(b.shape[0]) + " and " +
                              std::to_string(c.shape[0]) + " differ; share one matrix with broadcast()");
}

}  // namespace tutti
