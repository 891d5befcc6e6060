// All that learning weights needs of any number of windows: the mean products of the members' errors. With
// e_m = p_m - y and weights w that sum to 1, the combination's mean squared error is w' C w, C_ij = mean of e_i e_j.
// Errors rather than forecasts, since p'p - 2 p'y + y'y would cancel where members are good.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <vector>

#include "host/ensemble/forecast.h"
#include "shared/result.h"

namespace tutti {

struct ErrorProducts {
  int64_t members = 0;
  std::vector<double> mean;  // [members, members], symmetric

  double operator()(int64_t i, int64_t j) const { return mean[static_cast<size_t>(i * members + j)]; }

  // Mean squared error of the combination with these weights, which sum to 1.
  double squared_error(const std::vector<double>& weights) const;
};

// One pass over the forecasts, in blocks that stay in cache; sums in a fixed order. who is for messages.
Result<ErrorProducts> error_products(const std::string& who, const ValidForecasts& valid);

}  // namespace tutti
