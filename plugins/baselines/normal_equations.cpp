#include "plugins/baselines/normal_equations.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "shared/linalg/gemm.h"

namespace tutti::baselines {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int64_t kRowsOfSums = 64;  // rows of the sums to one product: enough for it to run at full speed

}  // namespace

NormalEquations::NormalEquations(int64_t features, int64_t answers)
    : features_(features), answers_(answers), sums_(Tensor::of<double>({features + 2, features + 1 + answers})) {}

void NormalEquations::add(Matrix<const double> rows, Executor& executor) {
  const Matrix<double> sums = sums_.view<double, 2>();
  const int64_t unknowns = features_ + 1;
  executor.parallel_for(unknowns, kRowsOfSums, [&](int64_t first, int64_t last) {
    const Matrix<const double> left = rows.slice(1, first, last);
    const Matrix<const double> right = rows.slice(1, first, width());
    gemm<double>(1, left.transposed(), right, 1, sums.slice(0, first, last).slice(1, first, width()));
  });
  for (int64_t n = 0; n < rows.shape[0]; ++n)
    for (int64_t j = unknowns; j < width(); ++j) sums(unknowns, 0) += rows(n, j) * rows(n, j);
}

void NormalEquations::clear() { std::fill_n(sums_.data<double>(), sums_.size(), 0.0); }

Result<NormalEquations::Solution> NormalEquations::solve(double penalty) const {
  const int64_t unknowns = features_ + 1;
  const Eigen::Map<const RowMajor> sums(sums_.data<double>(), unknowns + 1, width());
  const double weight = sums(features_, features_), squares = sums(unknowns, 0);
  if (!(weight > 0)) return bad_state("there is nothing to solve before a training step");

  const auto products = sums.topRightCorner(unknowns, answers_);
  RowMajor gram = sums.topLeftCorner(unknowns, unknowns).selfadjointView<Eigen::Upper>();
  gram.diagonal().head(features_).array() += penalty * weight;
  const Eigen::LLT<RowMajor> cholesky(gram);

  Solution solution{Tensor::of<double>({unknowns, answers_}), 0};
  Eigen::Map<RowMajor> map(solution.map.data<double>(), unknowns, answers_);
  map = cholesky.solve(products);
  if (cholesky.info() != Eigen::Success || !map.allFinite())
    return bad_input("the training rows determine no linear map; raise ridge, and see that the data are finite");

  const double explained = map.cwiseProduct(products).sum() + penalty * weight * map.topRows(features_).squaredNorm();
  solution.mean_squared_error = std::max(0.0, squares - explained) / (weight * static_cast<double>(answers_));
  return solution;
}

}  // namespace tutti::baselines
