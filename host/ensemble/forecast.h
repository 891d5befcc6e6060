// What a member answers for a series of windows, and the truth to compare with. All in the scaled units of the batch,
// in f64 whatever the model computes in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/result.h"

namespace tutti {

struct Forecast {
  int64_t windows = 0, horizon = 0, targets = 0;
  std::vector<double> point;      // [windows, horizon, targets]
  int64_t levels = 0;             // quantile levels; 0 where the member gives none
  std::vector<double> quantiles;  // [windows, horizon, targets, levels], rising along the last axis

  int64_t size() const { return windows * horizon * targets; }
};

// What came true for the same windows.
struct Truth {
  int64_t windows = 0, horizon = 0, targets = 0;
  std::vector<double> value;  // [windows, horizon, targets]
  std::vector<double> last;   // [windows, targets]: the last past value
};

// Forecasts of all members on the windows of the validation rows: the only thing that weights may be fitted on.
struct ValidForecasts {
  std::vector<Forecast> members;
  Truth truth;
};

// Zeros in the shape of the members, which is one for all; with quantiles where every member gives them.
Forecast empty_like(const std::vector<Forecast>& members);

// What every combiner needs of its members: at least one, all of one shape, every number finite. who begins the sentence
// of the error: stack was given a member with horizon 5 and one with 12.
Result<void> check_members(const std::string& who, const std::vector<Forecast>& members);

// What learning weights needs besides: at least one window, and truth of the members' shape, finite.
Result<void> check_truth(const std::string& who, const ValidForecasts& valid);

}  // namespace tutti
