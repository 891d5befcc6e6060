#include "host/report/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {

std::vector<const Entry*> ranked(const Results& results) {
  std::vector<const Entry*> order;
  for (const Entry& entry : results.entries) order.push_back(&entry);
  if (results.metric_names.empty()) return order;
  const std::string& metric = results.metric_names.front();
  const auto direction = results.lower_is_better.find(metric);
  const bool lower = direction == results.lower_is_better.end() || direction->second;
  // Smaller is better; what has no figure comes last.
  const auto key = [&](const Entry* entry) {
    const auto value = entry->overall.find(metric);
    if (!entry->failure.empty() || value == entry->overall.end() || std::isnan(value->second)) return std::numeric_limits<double>::infinity();
    return lower ? value->second : -value->second;
  };
  std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) { return key(a) < key(b); });
  return order;
}

}  // namespace tutti
