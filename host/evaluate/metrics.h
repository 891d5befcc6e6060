// How forecasts are judged. Each metric's definition stands with its name below, since the field has several for most
// of them. Sums are made in f64 in a fixed order: metrics don't depend on how windows are batched.
//
//   mse                    mean of (p - y)^2 over windows, steps and targets
//   mae                    mean of |p - y|
//   rmse                   sqrt(mse)
//   mase                   mean over targets of mae_k / scale_k, with scale_k = mean |y_t - y_(t-m)| on the training rows, m the
//                          season (1 where none is declared); a target with scale 0 is left out and counted (Hyndman, Koehler 2006)
//   smape                  200 * mean of |p - y| / (|p| + |y|), 0 … 200; a cell with p = y = 0 counts as 0
//   directional-accuracy   share of cells with sign(p_h - y_0) = sign(y_h - y_0), y_0 the last past value; cells whose truth
//                          doesn't move are left out; 0 … 1, higher is better
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/ensemble/forecast.h"
#include "shared/result.h"

namespace tutti {

struct MetricInfo {
  const char* name;
  const char* definition;
  bool lower_is_better;
};

const std::vector<MetricInfo>& metrics();

// Null-like error where the name is none of metrics(); offers the nearest spelling.
Result<MetricInfo> find_metric(const std::string& name);

// Sums over windows, from which every metric is worked out. Add parts in the order of time; two Metrics may be merged.
class Metrics {
 public:
  // mase_scale [targets], in the same units as the forecasts that will be added.
  explicit Metrics(std::vector<double> mase_scale);

  // forecast and truth in one unit and of one shape.
  void add(const Forecast& forecast, const Truth& truth);

  // NaN where no cell counts (no windows, no movement, all scales 0).
  double value(const std::string& metric) const;

  int64_t windows() const { return windows_; }
  int64_t excluded_targets() const;  // of mase

 private:
  std::vector<double> mase_scale_;
  int64_t windows_ = 0, horizon_ = 0;
  double squared_ = 0, symmetric_ = 0;
  std::vector<double> absolute_;  // [targets]
  int64_t cells_ = 0, moved_ = 0, right_direction_ = 0;
};

}  // namespace tutti
