// Combines the forecasts of several members into one. Pure: forecasts in, forecast out; knows no models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/ensemble/forecast.h"
#include "shared/result.h"

namespace tutti {

class Combiner {
 public:
  virtual ~Combiner() = default;

  // Learns weights from validation forecasts; those without weights only check them. Members that differ in shape, a
  // number that isn't finite and, where weights are learned, having no windows are errors that say which.
  virtual Result<void> fit(const ValidForecasts& valid) = 0;

  // After fit or restore, for the same members in the same order; they must pass check_members. Same shape out as in.
  // Quantiles are combined level by level (Vincent averaging) where every member gives them, else left out; they rise
  // where every member's do. Sums run in the order of members, so a window's answer doesn't depend on the other windows.
  virtual Forecast combine(const std::vector<Forecast>& members) const = 0;

  // One weight a member, summing to 1; empty where the combination isn't a weighted mean.
  virtual std::vector<double> weights() const { return {}; }

  // Takes back what weights gave, instead of a fit. Weights where there are none to have, none where there must be,
  // negative ones, or a sum that isn't 1 are errors.
  virtual Result<void> restore(const std::vector<double>& weights) = 0;
};

struct CombinerInfo {
  const char* name;        // as in [ensemble] combine
  const char* definition;  // one sentence with the formula and its source
};

// All that make_combiner knows: mean, median, trimmed-mean, inverse-error, greedy, stack.
const std::vector<CombinerInfo>& combiners();

// name as in combiners(). An unknown one is an error that offers the nearest spelling.
Result<std::unique_ptr<Combiner>> make_combiner(const std::string& name);

}  // namespace tutti
