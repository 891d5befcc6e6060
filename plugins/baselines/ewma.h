// Simple exponential smoothing, started at the first step of the window:
//
//     s_1 = x_1,  s_t = alpha x_t + (1 - alpha) s_{t-1},  y_h = s_T.
//
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd edition, section 8.1.
#pragma once

#include "plugins/baselines/continuation.h"

namespace tutti::baselines {

struct EwmaRule {
  double alpha;  // 0 < alpha <= 1; weight of the newest step

  static ModelDescription description() {
    return {.id = "tutti.ewma",
            .name = "Exponentially weighted mean",
            .summary = "Every future step equals the mean of the window, newer steps weighing more.",
            .config_schema = R"({
  "type": "object",
  "properties": {
    "alpha": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 0.1,
              "description": "Weight of the newest step; 1 gives the last value"}
  },
  "additionalProperties": false
})"};
  }

  static Result<EwmaRule> create(const Problem&, const Options& options) {
    const double alpha = options.number("alpha");
    if (!(alpha > 0 && alpha <= 1)) return bad_input("alpha is " + std::to_string(alpha) + "; it must be above 0 and at most 1");
    return EwmaRule{alpha};
  }

  template <class T>
  void operator()(Series<const T> past, Series<T> future) const {
    double level = past(0);
    for (int64_t t = 1; t < past.size(); ++t) level = alpha * past(t) + (1 - alpha) * level;
    for (int64_t h = 0; h < future.size(); ++h) future(h) = static_cast<T>(level);
  }
};

using Ewma = Continuation<EwmaRule>;

}  // namespace tutti::baselines
