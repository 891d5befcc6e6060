// Least squares from sums alone: rows are added a block at a time and forgotten, then the best linear map is found by
// Cholesky. All in f64. With weights n, features x and answers y of the rows, it minimises
//
//     sum n |y - W x - b|^2 + penalty (sum n) |W|^2,
//
// so the penalty is by row, does not depend on how many there are, and leaves the intercept b alone. W and b solve
// (A'NA + penalty (sum n) D) [W b]' = A'NY, with A = [x 1], and D the identity but for a 0 at the intercept.
#pragma once

#include "shared/parallel/executor.h"
#include "shared/result.h"
#include "shared/tensor/tensor.h"
#include "shared/tensor/view.h"

namespace tutti::baselines {

class NormalEquations {
 public:
  NormalEquations(int64_t features, int64_t answers);

  // Columns of a row: the features, a 1, the answers; all of them times the root of the row's weight.
  int64_t width() const { return features_ + 1 + answers_; }

  // rows: [n, width()]. The bits do not depend on the executor.
  void add(Matrix<const double> rows, Executor& executor);
  void clear();

  struct Solution {
    Tensor map;                 // [features + 1, answers] f64: W' above b
    double mean_squared_error;  // over the rows added
  };
  // An error where the sums determine no map, which a higher penalty cures.
  Result<Solution> solve(double penalty) const;

  // [features + 1 + 1, width()] f64, the whole state: above the products A'N [A Y], of which the part left of the
  // diagonal is unused; in the last row first sum n |y|^2, then zeros.
  Tensor& sums() { return sums_; }

 private:
  int64_t features_, answers_;
  Tensor sums_;
};

}  // namespace tutti::baselines
