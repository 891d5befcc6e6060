// The mean of the last steps, w of them:  y_h = (x_{T-w+1} + … + x_T) / w.  A shorter past is averaged whole.
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd edition, section 5.2.
#pragma once

#include <algorithm>

#include "plugins/baselines/continuation.h"

namespace tutti::baselines {

struct MeanRule {
  int64_t window;  // steps; 1 … lookback

  static ModelDescription description() {
    return {.id = "tutti.mean",
            .name = "Mean",
            .summary = "Every future step equals the mean of the last steps.",
            .config_schema = R"({
  "type": "object",
  "properties": {
    "window": {"type": "integer", "minimum": 0, "default": 0, "description": "Steps to average over; 0 takes the lookback"}
  },
  "additionalProperties": false
})"};
  }

  static Result<MeanRule> create(const Problem& problem, const Options& options) {
    const int64_t window = options.integer("window");
    if (window < 0 || window > problem.lookback)
      return bad_input("window is " + std::to_string(window) + "; it must be within 0 and the lookback of " +
                       std::to_string(problem.lookback));
    return MeanRule{window != 0 ? window : problem.lookback};
  }

  template <class T>
  void operator()(Series<const T> past, Series<T> future) const {
    const int64_t steps = past.size(), averaged = std::min(window, steps);
    double sum = 0;
    for (int64_t t = steps - averaged; t < steps; ++t) sum += past(t);
    for (int64_t h = 0; h < future.size(); ++h) future(h) = static_cast<T>(sum / static_cast<double>(averaged));
  }
};

using Mean = Continuation<MeanRule>;

}  // namespace tutti::baselines
