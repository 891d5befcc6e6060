// Wolfe's algorithm keeps a corral: a few members whose errors, seen as points, are affinely independent, with the point
// of their hull nearest to the origin inside it. Each round takes in the member that lies furthest on the origin's side of
// that point, walks towards the nearest point of the corral's affine hull, and drops members whose weight falls to 0.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "host/ensemble/weights.h"

namespace tutti {
namespace {

constexpr double kTolerance = 1e-12;  // of what the product of two errors could be at most: that of their sizes

// Weights, summing to 1 and of either sign, of the point of the corral's affine hull nearest to the origin: those in
// proportion to u of (C + c 11') u = 1 for any c > 0, which makes the matrix positive definite.
Eigen::VectorXd nearest_in_affine_hull(const ErrorProducts& products, const std::vector<int64_t>& corral) {
  const auto n = static_cast<Eigen::Index>(corral.size());
  double c = 0;
  for (const int64_t m : corral) c = std::max(c, products(m, m));
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      matrix(i, j) = products(corral[static_cast<size_t>(i)], corral[static_cast<size_t>(j)]) + c;
  const Eigen::LDLT<Eigen::MatrixXd> ldlt(matrix);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  Eigen::VectorXd u = ldlt.solve(ones);
  u += ldlt.solve(ones - matrix * u);  // one step of refinement, for members that are nearly alike
  return u / u.sum();
}

// (Cw)_m: the product of a member's error and the combination's.
double product_with(const ErrorProducts& products, int64_t m, const std::vector<double>& weights) {
  double sum = 0;
  for (int64_t i = 0; i < products.members; ++i) sum += products(m, i) * weights[static_cast<size_t>(i)];
  return sum;
}

// Root of the member's mean squared error.
double size_of(const ErrorProducts& products, int64_t m) { return std::sqrt(products(m, m)); }

// The member that lies furthest on the origin's side of the combination with these weights and this error, or -1.
int64_t furthest_on_this_side(const ErrorProducts& products, const std::vector<double>& weights, double error) {
  double size = 0;
  for (int64_t m = 0; m < products.members; ++m) size += weights[static_cast<size_t>(m)] * size_of(products, m);
  int64_t furthest = -1;
  double least = error;
  for (int64_t m = 0; m < products.members; ++m) {
    const double product = product_with(products, m, weights);
    if (product < least && product < error - kTolerance * size * size_of(products, m)) least = product, furthest = m;
  }
  return furthest;
}

// Moves weights to the nearest point of the corral's affine hull, or as far that way as the hull goes; at its border the
// members without weight leave the corral, and the walk goes on from there.
void walk(const ErrorProducts& products, std::vector<int64_t>& corral, std::vector<double>& weights) {
  for (;;) {
    const Eigen::VectorXd nearest = nearest_in_affine_hull(products, corral);
    if (!nearest.allFinite()) return;
    double step = 1;
    size_t leaving = corral.size();
    for (size_t i = 0; i < corral.size(); ++i) {
      const double from = weights[static_cast<size_t>(corral[i])], to = nearest(static_cast<Eigen::Index>(i));
      if (to > 0) continue;
      const double reached = from > 0 ? from / (from - to) : 0;
      if (reached < step || leaving == corral.size()) step = std::min(step, reached), leaving = i;
    }
    for (size_t i = 0; i < corral.size(); ++i) {
      double& weight = weights[static_cast<size_t>(corral[i])];
      weight = std::max(0.0, weight + step * (nearest(static_cast<Eigen::Index>(i)) - weight));
    }
    if (leaving == corral.size()) return;
    weights[static_cast<size_t>(corral[leaving])] = 0;
    std::erase_if(corral, [&](int64_t m) { return weights[static_cast<size_t>(m)] == 0; });
  }
}

}  // namespace

std::vector<double> stack_weights(const ErrorProducts& products) {
  int64_t best = 0;
  for (int64_t m = 1; m < products.members; ++m)
    if (products(m, m) < products(best, best)) best = m;
  std::vector<int64_t> corral = {best};
  std::vector<double> weights(static_cast<size_t>(products.members));
  weights[static_cast<size_t>(best)] = 1;
  double error = products(best, best);

  for (;;) {
    const int64_t entering = furthest_on_this_side(products, weights, error);
    if (entering < 0 || std::find(corral.begin(), corral.end(), entering) != corral.end()) return weights;
    std::vector<double> next = weights;
    corral.push_back(entering);
    walk(products, corral, next);
    double sum = 0;
    for (const double weight : next) sum += weight;
    for (double& weight : next) weight /= sum;
    const double next_error = products.squared_error(next);
    if (!(next_error < error)) return weights;  // what is left to gain is below the resolution of the products
    weights = std::move(next), error = next_error;
  }
}

}  // namespace tutti
