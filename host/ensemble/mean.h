// The plain mean of all members: hard to beat, and learns nothing that could drift.
#pragma once

#include "host/ensemble/combiner.h"

namespace tutti {

class Mean : public Combiner {
 public:
  Result<void> fit(const ValidForecasts& valid) override;
  Forecast combine(const std::vector<Forecast>& members) const override;  // of any number of members, fitted or not
  std::vector<double> weights() const override;
  Result<void> restore(const std::vector<double>& weights) override;

 private:
  size_t members_ = 0;
};

}  // namespace tutti
