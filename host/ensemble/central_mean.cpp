#include "host/ensemble/central_mean.h"

#include <algorithm>
#include <cassert>

namespace tutti {
namespace {

using Numbers = std::vector<double> Forecast::*;

// Insertion: members are few, and a NaN can't lead it out of bounds.
void sort_few(std::vector<double>& x) {
  for (size_t i = 1; i < x.size(); ++i)
    for (size_t j = i; j > 0 && x[j] < x[j - 1]; --j) std::swap(x[j], x[j - 1]);
}

void take_central_mean(const std::vector<Forecast>& members, Numbers numbers, size_t drop, std::vector<double>& mean) {
  const size_t last = members.size() - drop;
  std::vector<double> answers(members.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    for (size_t m = 0; m < members.size(); ++m) answers[m] = (members[m].*numbers)[i];
    sort_few(answers);
    double sum = 0;
    for (size_t m = drop; m < last; ++m) sum += answers[m];
    mean[i] = sum / static_cast<double>(last - drop);
  }
}

}  // namespace

Result<void> CentralMean::fit(const ValidForecasts& valid) { return check_members(name_, valid.members); }

Forecast CentralMean::combine(const std::vector<Forecast>& members) const {
  Forecast mean = empty_like(members);
  const auto drop = static_cast<size_t>(drop_(static_cast<int64_t>(members.size())));
  assert(2 * drop < members.size());
  take_central_mean(members, &Forecast::point, drop, mean.point);
  if (mean.levels > 0) take_central_mean(members, &Forecast::quantiles, drop, mean.quantiles);
  return mean;
}

Result<void> CentralMean::restore(const std::vector<double>& weights) {
  if (!weights.empty()) return failed(name_ + " has no weights to take back");
  return {};
}

int64_t drop_for_median(int64_t members) { return (members - 1) / 2; }

int64_t drop_for_trimmed_mean(int64_t members) { return members / 5; }

}  // namespace tutti
