// The seam to the matrix library: dense products over strided views, in f32 and f64. Transposing is
// view.transposed(), sharing one matrix over a batch is broadcast(matrix, batch): shapes are checked, so an operand
// the wrong way round can't pass. Runs on the calling thread; the same shapes give the same bits,
// wherever the matrices lie. A row's bits may depend on the number of rows beside it: where an answer must not depend on
// its batch, multiply [1,k] rows or a batch of matrices, not all rows as one matrix.
//
// Eigen by default; OpenBLAS with -DTUTTI_BLAS=openblas, held to one thread.
#pragma once

#include "shared/tensor/view.h"

namespace tutti {

// c = alpha * a b + beta * c, with a [m,k], b [k,n], c [m,n]. Where beta is 0, c is not read. In c one of the two
// strides must be 1; operands with no stride of 1 are copied first. c may not overlap a or b. Throws
// std::invalid_argument where shapes don't fit. T: float or double.
template <class T>
void gemm(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);

// The same for each of a batch: a [batch,m,k], b [batch,k,n], c [batch,m,n].
template <class T>
void gemm(T alpha, View<const T, 3> a, View<const T, 3> b, T beta, View<T, 3> c);

// "eigen" or "openblas".
const char* gemm_library();

}  // namespace tutti
