#include <Eigen/Dense>
#include <catch2/catch.hpp>
#include <numeric>

#include "host/ensemble/weights.h"
#include "tests/unit/host/ensemble/made_forecasts.h"

using namespace tutti;

namespace {

// The least error over every set of members, each solved with the sum held at 1, of those without negative weights.
double least_error(const ErrorProducts& products) {
  const auto members = static_cast<unsigned>(products.members);
  double least = products(0, 0);
  for (unsigned set = 1; set < (1u << members); ++set) {
    std::vector<int64_t> in;
    for (unsigned m = 0; m < members; ++m)
      if (set >> m & 1) in.push_back(m);
    const auto n = static_cast<Eigen::Index>(in.size());
    Eigen::MatrixXd kkt = Eigen::MatrixXd::Zero(n + 1, n + 1);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j) kkt(i, j) = products(in[static_cast<size_t>(i)], in[static_cast<size_t>(j)]);
    kkt.row(n).head(n).setOnes();
    kkt.col(n).head(n).setOnes();
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n + 1);
    right(n) = 1;
    const Eigen::VectorXd w = kkt.fullPivLu().solve(right);
    if (w.head(n).minCoeff() < 0) continue;
    std::vector<double> weights(members);
    for (Eigen::Index i = 0; i < n; ++i) weights[static_cast<size_t>(in[static_cast<size_t>(i)])] = w(i);
    least = std::min(least, products.squared_error(weights));
  }
  return least;
}

// How far weights are from optimal: (Cw)_m = w'Cw where w_m > 0, and no less elsewhere; in units of the errors' sizes.
double kkt_violation(const ErrorProducts& products, const std::vector<double>& weights) {
  const double error = products.squared_error(weights);
  double size = 0, worst = 0;
  for (int64_t m = 0; m < products.members; ++m) size += weights[static_cast<size_t>(m)] * std::sqrt(products(m, m));
  for (int64_t m = 0; m < products.members; ++m) {
    double product = 0;
    for (int64_t i = 0; i < products.members; ++i) product += products(m, i) * weights[static_cast<size_t>(i)];
    const double slack = (product - error) / (size * std::sqrt(products(m, m)));
    worst = std::max(worst, weights[static_cast<size_t>(m)] > 0 ? std::abs(slack) : -slack);
  }
  return worst;
}

void check_lawful(const std::vector<double>& weights) {
  CHECK(*std::min_element(weights.begin(), weights.end()) >= 0);
  CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(1).epsilon(1e-14));
}

}  // namespace

TEST_CASE("two members without common errors are weighed by the inverse of their squared errors") {
  const auto w = stack_weights({2, {1, 0, 0, 3}});
  CHECK(w[0] == Approx(0.75).epsilon(1e-14));
  CHECK(w[1] == Approx(0.25).epsilon(1e-14));
}

TEST_CASE("a member that only adds error gets no weight") {
  CHECK(stack_weights({2, {1, 1.5, 1.5, 4}}) == std::vector<double>{1, 0});
}

TEST_CASE("a member that is worse alone is used where its errors cancel another's") {
  const auto w = stack_weights({2, {1, -1, -1, 4}});  // w0 = (4+1)/(1+4+2)
  CHECK(w[0] == Approx(5.0 / 7).epsilon(1e-14));
}

TEST_CASE("stack's weights are optimal, and reach the least error of all sets of members") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto products = error_products("stack", drawn_valid(1 + seed % 8, 40, seed));
    REQUIRE(products);
    const auto weights = stack_weights(*products);
    check_lawful(weights);
    CHECK(kkt_violation(*products, weights) < 1e-10);
    CHECK(products->squared_error(weights) == Approx(least_error(*products)).epsilon(1e-10));
  }
}

TEST_CASE("more members than windows still give optimal weights") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto products = error_products("stack", drawn_valid(8, 3, seed));
    REQUIRE(products);
    const auto weights = stack_weights(*products);
    check_lawful(weights);
    CHECK(kkt_violation(*products, weights) < 1e-10);
  }
}

TEST_CASE("members that are nearly alike still give optimal weights") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    ValidForecasts valid = drawn_valid(3, 50, seed);
    for (const double apart : {1e-3, 1e-6, 1e-9, 0.0})
      for (size_t m = 0; m < 3; ++m) {
        valid.members.push_back(valid.members[m]);
        for (size_t i = 0; i < 50; ++i) valid.members.back().point[i] += apart * std::sin(static_cast<double>(i + seed));
      }
    const auto products = error_products("stack", valid);
    REQUIRE(products);
    const auto weights = stack_weights(*products);
    check_lawful(weights);
    CHECK(kkt_violation(*products, weights) < 1e-10);
  }
}

TEST_CASE("a member that is far off doesn't blur the weights of the others") {
  ValidForecasts valid = drawn_valid(4, 40, 5);
  const auto without = error_products("stack", valid);
  valid.members.push_back(forecast_of(std::vector<double>(40, 1e9)));
  const auto with = error_products("stack", valid);
  REQUIRE((without && with));
  const auto weights = stack_weights(*without), more = stack_weights(*with);
  for (size_t m = 0; m < 4; ++m) CHECK(more[m] == Approx(weights[m]).margin(1e-9));
}

TEST_CASE("of members that are alike stack uses the first one named") {
  CHECK(stack_weights({3, {1, 1, 1, 1, 1, 1, 1, 1, 1}}) == std::vector<double>{1, 0, 0});
}

TEST_CASE("members without any error need no more than one of them") {
  CHECK(stack_weights({2, {0, 0, 0, 0}}) == std::vector<double>{1, 0});
}
