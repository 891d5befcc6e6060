// Each number apart, the mean of what is left when the members' lowest and highest answers are dropped: robust against a
// few members that are far off. Knows no weights.
#pragma once

#include <string>

#include "host/ensemble/combiner.h"

namespace tutti {

class CentralMean : public Combiner {
 public:
  // How many of a number of members are dropped at each side; leaves at least one.
  using Drop = int64_t (*)(int64_t members);
  CentralMean(std::string name, Drop drop) : name_(std::move(name)), drop_(drop) {}

  Result<void> fit(const ValidForecasts& valid) override;
  Forecast combine(const std::vector<Forecast>& members) const override;
  Result<void> restore(const std::vector<double>& weights) override;

 private:
  std::string name_;
  Drop drop_;
};

// All but the middle one, or the middle two: the median.
int64_t drop_for_median(int64_t members);

// floor(0.2 members): 1 of 5 … 9, 2 of 10 … 14, none of fewer than 5.
int64_t drop_for_trimmed_mean(int64_t members);

}  // namespace tutti
