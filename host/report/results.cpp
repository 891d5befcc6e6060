#include "host/report/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool lower_is_better(const Results& results, const std::string& metric) {
  const auto found = results.metric_meanings.find(metric);
  return found == results.metric_meanings.end() || found->second.lower_is_better;
}

}  // namespace

double overall(const Entry& entry, const std::string& metric) {
  const auto found = entry.overall.find(metric);
  return found == entry.overall.end() ? kNone : found->second;
}

std::vector<const Entry*> ranked(const Results& results) {
  std::vector<const Entry*> order;
  for (const Entry& entry : results.entries) order.push_back(&entry);
  const std::string metric = results.metric_names.empty() ? "" : results.metric_names.front();
  const double sign = lower_is_better(results, metric) ? 1 : -1;
  const auto group = [&](const Entry* entry) {
    return !entry->failure.empty() ? 2 : std::isnan(overall(*entry, metric)) ? 1 : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) {
    if (group(a) != group(b)) return group(a) < group(b);
    return group(a) == 0 && sign * overall(*a, metric) < sign * overall(*b, metric);
  });
  return order;
}

double best_overall(const Results& results, const std::string& metric) {
  const bool lower = lower_is_better(results, metric);
  double best = kNone;
  for (const Entry& entry : results.entries) {
    const double value = overall(entry, metric);
    if (entry.failure.empty() && !std::isnan(value) && (std::isnan(best) || (lower ? value < best : value > best))) best = value;
  }
  return best;
}

std::vector<double> mean_weights(const Entry& entry) {
  std::vector<double> mean;
  double folds = 0;
  for (const std::vector<double>& fold : entry.weights) {
    if (fold.empty()) continue;
    mean.resize(std::max(mean.size(), fold.size()));
    for (size_t m = 0; m < fold.size(); ++m) mean[m] += fold[m];
    ++folds;
  }
  for (double& weight : mean) weight /= folds;
  return mean;
}

}  // namespace tutti
