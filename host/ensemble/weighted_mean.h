// A weighted mean whose weights are learned once, by one of the ways in weights.h. A member without weight isn't read.
#pragma once

#include <string>
#include <vector>

#include "host/ensemble/combiner.h"
#include "host/ensemble/error_products.h"

namespace tutti {

// Sum of w_m x_m in the order of members, of points and, where every member gives them, of quantiles.
Forecast weighted_sum(const std::vector<Forecast>& members, const std::vector<double>& weights);

// Not negative, and summing to 1 but for rounding.
Result<void> check_weights(const std::string& who, const std::vector<double>& weights);

class WeightedMean : public Combiner {
 public:
  using Weigh = std::vector<double> (*)(const ErrorProducts&);
  WeightedMean(std::string name, Weigh weigh) : name_(std::move(name)), weigh_(weigh) {}

  Result<void> fit(const ValidForecasts& valid) override;
  Forecast combine(const std::vector<Forecast>& members) const override;
  std::vector<double> weights() const override { return weights_; }
  Result<void> restore(const std::vector<double>& weights) override;

 private:
  std::string name_;
  Weigh weigh_;
  std::vector<double> weights_;
};

}  // namespace tutti
