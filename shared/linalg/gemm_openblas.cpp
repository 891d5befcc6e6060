#include <cblas.h>

#include <algorithm>
#include <limits>

#include "shared/linalg/gemm.h"
#include "shared/linalg/gemm_check.h"

namespace tutti {
namespace {

void hold_to_one_thread() {
  [[maybe_unused]] static const bool once = (openblas_set_num_threads(1), true);
}

template <class T>
bool lies_row_by_row(const Matrix<T>& m) {
  return m.strides[1] == 1 && (m.strides[0] >= m.shape[1] || m.shape[0] == 1);
}

blasint as_blasint(int64_t number) {
  if (number > std::numeric_limits<blasint>::max()) throw std::invalid_argument("gemm: a matrix is too large for OpenBLAS");
  return static_cast<blasint>(number);
}

// How a matrix lies in memory, in BLAS's words.
struct Layout {
  bool rows;
  blasint leading;

  template <class T>
  explicit Layout(const Matrix<T>& m) : rows(lies_row_by_row(m)) {
    const int line = rows ? 0 : 1;  // the axis between two lines; a single line may have any stride
    leading = as_blasint(std::max({m.strides[line], m.shape[1 - line], int64_t{1}}));
  }
};

void multiply(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, float alpha, const float* a,
              blasint lda, const float* b, blasint ldb, float beta, float* c, blasint ldc) {
  cblas_sgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void multiply(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, double alpha, const double* a,
              blasint lda, const double* b, blasint ldb, double beta, double* c, blasint ldc) {
  cblas_dgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

template <class T>
void gemm(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  check_gemm_shapes(a, b, c);
  if (!has_unit_stride(c)) throw std::invalid_argument("gemm: the result has no stride of 1");
  if (c.size() == 0) return;
  if (a.shape[1] == 0) return scale(c, beta);
  hold_to_one_thread();
  std::vector<T> copy_a, copy_b;
  a = with_unit_stride(a, copy_a);
  b = with_unit_stride(b, copy_b);
  const Layout layout_a(a), layout_b(b), layout_c(c);
  const auto as_c_lies = [&](const Layout& layout) { return layout.rows == layout_c.rows ? CblasNoTrans : CblasTrans; };
  multiply(layout_c.rows ? CblasRowMajor : CblasColMajor, as_c_lies(layout_a), as_c_lies(layout_b), as_blasint(c.shape[0]),
           as_blasint(c.shape[1]), as_blasint(a.shape[1]), alpha, a.data, layout_a.leading, b.data, layout_b.leading, beta, c.data,
           layout_c.leading);
}

const char* gemm_library() { return "openblas"; }

template void gemm(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);

}  // namespace tutti
