#include "host/ensemble/weighted_mean.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tutti {
namespace {

void add_weighted(double weight, const std::vector<double>& from, std::vector<double>& sum) {
  assert(from.size() == sum.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * from[i];
}

}  // namespace

Forecast weighted_sum(const std::vector<Forecast>& members, const std::vector<double>& weights) {
  assert(!members.empty() && members.size() == weights.size());
  Forecast sum = empty_like(members);
  for (size_t m = 0; m < members.size(); ++m) {
    if (weights[m] == 0) continue;
    add_weighted(weights[m], members[m].point, sum.point);
    if (sum.levels > 0) add_weighted(weights[m], members[m].quantiles, sum.quantiles);
  }
  return sum;
}

Result<void> check_weights(const std::string& who, const std::vector<double>& weights) {
  if (weights.empty()) return failed(who + " needs one weight for each member, and there are none");
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0)) return failed(fmt::format("{} was given a weight of {}", who, weight));
    sum += weight;
  }
  if (!(std::abs(sum - 1) <= 1e-9)) return failed(fmt::format("{} was given weights that sum to {}, not to 1", who, sum));
  return {};
}

Result<void> WeightedMean::fit(const ValidForecasts& valid) {
  TUTTI_TRY(const ErrorProducts products, error_products(name_, valid));
  weights_ = weigh_(products);
  return {};
}

Forecast WeightedMean::combine(const std::vector<Forecast>& members) const { return weighted_sum(members, weights_); }

Result<void> WeightedMean::restore(const std::vector<double>& weights) {
  TUTTI_CHECK(check_weights(name_, weights));
  weights_ = weights;
  return {};
}

}  // namespace tutti
