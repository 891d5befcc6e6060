#include <catch2/catch.hpp>

#include "host/ensemble/weights.h"
#include "tests/unit/host/ensemble/made_forecasts.h"

using namespace tutti;

namespace {

double mse(const std::vector<double>& p, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += (p[i] - y[i]) * (p[i] - y[i]);
  return sum / static_cast<double>(y.size());
}

// Caruana et al. 2004, section 2, on the forecasts themselves.
std::vector<double> direct_greedy(const ValidForecasts& valid, int picks) {
  const size_t members = valid.members.size();
  std::vector<double> average(valid.truth.value.size());
  std::vector<size_t> order;
  std::vector<double> trajectory;
  for (int s = 0; s < picks; ++s) {
    std::vector<double> errors;
    std::vector<std::vector<double>> candidates;
    for (const Forecast& member : valid.members) {
      std::vector<double> candidate = average;
      for (size_t i = 0; i < candidate.size(); ++i) candidate[i] = (s * average[i] + member.point[i]) / (s + 1);
      errors.push_back(mse(candidate, valid.truth.value));
      candidates.push_back(std::move(candidate));
    }
    const size_t best = static_cast<size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
    average = candidates[best];
    order.push_back(best);
    trajectory.push_back(errors[best]);
  }
  const auto length = std::min_element(trajectory.begin(), trajectory.end()) - trajectory.begin() + 1;
  std::vector<double> weights(members);
  for (std::ptrdiff_t i = 0; i < length; ++i) weights[order[static_cast<size_t>(i)]] += 1.0 / static_cast<double>(length);
  return weights;
}

}  // namespace

TEST_CASE("greedy picks what helps most and keeps the shortest run of picks that is best") {
  // Errors (3,0), (0,1), (5,5). The second member alone has mse 0.5, and half of the first makes it worse. A tenth of the
  // first gives (0.3,0.9), mse 0.45, which no other share reaches.
  const auto shared = error_products("greedy", valid_of({{3, 0}, {0, 1}, {5, 5}}, {0, 0}));
  REQUIRE(shared);
  CHECK(greedy_weights(*shared) == std::vector<double>{0.1, 0.9, 0});

  const auto alone = error_products("greedy", valid_of({{3, 3}, {1, 1}, {5, 5}}, {0, 0}));
  REQUIRE(alone);
  CHECK(greedy_weights(*alone) == std::vector<double>{0, 1, 0});
}

TEST_CASE("members whose errors cancel are picked in turn") {
  const auto products = error_products("greedy", valid_of({{1, 1}, {-1, -1}}, {0, 0}));
  REQUIRE(products);
  CHECK(greedy_weights(*products) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("of members that are alike the one picked before stays, and the first one named starts") {
  const auto products = error_products("greedy", valid_of({{1, 0}, {0, 1}, {1, 0}, {0, 1}}, {0, 0}));
  REQUIRE(products);
  CHECK(greedy_weights(*products) == std::vector<double>{0.5, 0.5, 0, 0});
}

TEST_CASE("greedy by products picks as greedy on the forecasts does") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const ValidForecasts valid = drawn_valid(2 + seed % 7, 60, seed);
    const auto products = error_products("greedy", valid);
    REQUIRE(products);
    const auto fast = greedy_weights(*products), direct = direct_greedy(valid, 100);
    for (size_t m = 0; m < fast.size(); ++m) CHECK(fast[m] == Approx(direct[m]).margin(1e-14));  // shares of one length
  }
}

TEST_CASE("greedy never does worse on the validation windows than the best member") {
  for (unsigned seed = 100; seed < 120; ++seed) {
    const auto products = error_products("greedy", drawn_valid(6, 30, seed));
    REQUIRE(products);
    double best = (*products)(0, 0);
    for (int64_t m = 1; m < 6; ++m) best = std::min(best, (*products)(m, m));
    CHECK(products->squared_error(greedy_weights(*products)) <= best * (1 + 1e-12));
  }
}
