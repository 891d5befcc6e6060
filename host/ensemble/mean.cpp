#include "host/ensemble/mean.h"

#include "host/ensemble/weighted_mean.h"

namespace tutti {

Result<void> Mean::fit(const ValidForecasts& valid) {
  TUTTI_CHECK(check_members("mean", valid.members));
  members_ = valid.members.size();
  return {};
}

// Divides the sum once, so that the mean of whole numbers is what one works out by hand.
Forecast Mean::combine(const std::vector<Forecast>& members) const {
  Forecast mean = weighted_sum(members, std::vector<double>(members.size(), 1));
  for (double& x : mean.point) x /= static_cast<double>(members.size());
  for (double& x : mean.quantiles) x /= static_cast<double>(members.size());
  return mean;
}

std::vector<double> Mean::weights() const { return std::vector<double>(members_, 1 / static_cast<double>(members_)); }

Result<void> Mean::restore(const std::vector<double>& weights) {
  TUTTI_CHECK(check_weights("mean", weights));
  for (const double weight : weights)
    if (weight != weights.front()) return failed("mean was given weights that differ from each other");
  members_ = weights.size();
  return {};
}

}  // namespace tutti
