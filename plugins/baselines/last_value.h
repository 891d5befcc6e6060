// The naive forecast: y_h = x_T. A random walk has no better one.
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd edition, section 5.2.
#pragma once

#include "plugins/baselines/continuation.h"

namespace tutti::baselines {

struct LastValueRule {
  static ModelDescription description() {
    return {.id = "tutti.last-value", .name = "Last value", .summary = "Every future step equals the last one seen."};
  }

  static Result<LastValueRule> create(const Problem&, const Options&) { return LastValueRule{}; }

  template <class T>
  void operator()(Series<const T> past, Series<T> future) const {
    for (int64_t h = 0; h < future.size(); ++h) future(h) = past(past.size() - 1);
  }
};

using LastValue = Continuation<LastValueRule>;

}  // namespace tutti::baselines
