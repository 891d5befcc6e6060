#include <Eigen/Core>
#include <cmath>

#include "shared/linalg/gemm.h"
#include "shared/linalg/gemm_check.h"

namespace tutti {
namespace {

using Eigen::Dynamic;
using Eigen::OuterStride;

template <class T>
using RowMajor = Eigen::Matrix<T, Dynamic, Dynamic, Eigen::RowMajor>;
template <class T>
using ColMajor = Eigen::Matrix<T, Dynamic, Dynamic, Eigen::ColMajor>;

// Calls body with an Eigen map of a matrix that has a stride of 1.
template <class T, class Body>
void with_map(const Matrix<T>& m, Body body) {
  using Element = std::remove_const_t<T>;
  using Rows = std::conditional_t<std::is_const_v<T>, const RowMajor<Element>, RowMajor<Element>>;
  using Columns = std::conditional_t<std::is_const_v<T>, const ColMajor<Element>, ColMajor<Element>>;
  if (m.strides[1] == 1 && (m.strides[0] >= m.shape[1] || m.shape[0] == 1))
    body(Eigen::Map<Rows, 0, OuterStride<>>(m.data, m.shape[0], m.shape[1], OuterStride<>(m.strides[0])));
  else
    body(Eigen::Map<Columns, 0, OuterStride<>>(m.data, m.shape[0], m.shape[1], OuterStride<>(m.strides[1])));
}

// Eigen computes products with m + k + n below this coefficient by coefficient, in an order that depends on where the
// operands lie in memory; these are made by plain loops instead, so that the same shapes give the same bits.
constexpr int64_t kSmall = EIGEN_GEMM_TO_COEFFBASED_THRESHOLD;

template <class T>
void multiply_small(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      T sum = T(0);
      for (int64_t k = 0; k < a.shape[1]; ++k) sum = std::fma(a(i, k), b(k, j), sum);
      T& result = c(i, j);
      result = beta == T(0) ? alpha * sum : std::fma(alpha, sum, beta * result);
    }
}

template <class Product, class T, class C>
void assign(const Product& product, T beta, C& c) {
  if (beta == T(0)) {
    c.noalias() = product;
  } else {
    if (beta != T(1)) c *= beta;
    c.noalias() += product;
  }
}

// Without a factor Eigen multiplies a single row or column as it lies; with one it allocates a copy first.
template <class T, class A, class B, class C>
void multiply(T alpha, const A& a, const B& b, T beta, C& c) {
  if (alpha == T(1))
    assign(a * b, beta, c);
  else
    assign(alpha * a * b, beta, c);
}

}  // namespace

template <class T>
void gemm(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  check_gemm_shapes(a, b, c);
  if (!has_unit_stride(c)) throw std::invalid_argument("gemm: the result has no stride of 1");
  if (c.size() == 0) return;
  if (a.shape[1] == 0) return scale(c, beta);
  if (c.shape[0] + c.shape[1] + a.shape[1] < kSmall) return multiply_small(alpha, a, b, beta, c);
  std::vector<T> copy_a, copy_b;
  a = with_unit_stride(a, copy_a);
  b = with_unit_stride(b, copy_b);
  with_map(c, [&](auto map_c) {
    with_map(a, [&](auto map_a) { with_map(b, [&](auto map_b) { multiply(alpha, map_a, map_b, beta, map_c); }); });
  });
}

const char* gemm_library() { return "eigen"; }

template void gemm(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);

}  // namespace tutti
