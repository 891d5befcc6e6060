// The line through the first and the last step seen, drawn on:
//
//     y_h = x_T + h (x_T - x_1) / (T - 1),  h = 1 … H;  where T = 1, the last value.
//
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd edition, section 5.2.
#pragma once

#include "plugins/baselines/continuation.h"

namespace tutti::baselines {

struct DriftRule {
  static ModelDescription description() {
    return {.id = "tutti.drift", .name = "Drift", .summary = "Goes on along the line through the first and the last step."};
  }

  static Result<DriftRule> create(const Problem&, const Options&) { return DriftRule{}; }

  template <class T>
  void operator()(Series<const T> past, Series<T> future) const {
    const int64_t steps = past.size();
    const double last = past(steps - 1);
    const double slope = steps > 1 ? (last - past(0)) / static_cast<double>(steps - 1) : 0.0;
    for (int64_t h = 0; h < future.size(); ++h) future(h) = static_cast<T>(last + static_cast<double>(h + 1) * slope);
  }
};

using Drift = Continuation<DriftRule>;

}  // namespace tutti::baselines
