// The seasonal naive forecast: each step repeats what stood one season before,
//
//     y_h = x_{T - m + 1 + (h-1) mod m},  h = 1 … H, season m.
//
// A past shorter than the season, as padding can leave it, gives the last value.
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd edition, section 5.2.
#pragma once

#include "plugins/baselines/continuation.h"

namespace tutti::baselines {

struct SeasonalNaiveRule {
  int64_t season;  // steps; 1 … lookback

  static ModelDescription description() {
    return {.id = "tutti.seasonal-naive",
            .name = "Seasonal naive",
            .summary = "Every future step equals the one a season before it.",
            .config_schema = R"({
  "type": "object",
  "properties": {
    "season": {"type": "integer", "minimum": 0, "default": 0,
               "description": "Steps after which the series repeats itself; 0 takes the season of the data"}
  },
  "additionalProperties": false
})"};
  }

  static Result<SeasonalNaiveRule> create(const Problem& problem, const Options& options) {
    const int64_t wanted = options.integer("season");
    const int64_t season = wanted != 0 ? wanted : problem.season;
    if (season < 1) return bad_input("the season is unknown; set season in the member's config or for the data");
    if (season > problem.lookback)
      return bad_input("a season of " + std::to_string(season) + " steps doesn't fit a lookback of " +
                       std::to_string(problem.lookback) + "; lengthen the lookback or shorten the season");
    return SeasonalNaiveRule{season};
  }

  template <class T>
  void operator()(Series<const T> past, Series<T> future) const {
    const int64_t period = past.size() < season ? 1 : season;
    for (int64_t h = 0; h < future.size(); ++h) future(h) = past(past.size() - period + h % period);
  }
};

using SeasonalNaive = Continuation<SeasonalNaiveRule>;

}  // namespace tutti::baselines
