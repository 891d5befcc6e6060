// A batch of products is that many products, whatever the matrix library.
#include "shared/linalg/gemm.h"
#include "shared/linalg/gemm_check.h"

namespace tutti {

template <class T>
void gemm(T alpha, View<const T, 3> a, View<const T, 3> b, T beta, View<T, 3> c) {
  check_batched_shapes(a, b, c);
  for (int64_t i = 0; i < c.shape[0]; ++i) gemm<T>(alpha, a[i], b[i], beta, c[i]);
}

template void gemm(float, View<const float, 3>, View<const float, 3>, float, View<float, 3>);
template void gemm(double, View<const double, 3>, View<const double, 3>, double, View<double, 3>);

}  // namespace tutti
