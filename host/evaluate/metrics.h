// How forecasts are judged. Each metric's definition stands with its name below, since the field has several for most
// of them. Sums are made in f64 in a fixed order: metrics don't depend on how windows are batched.
//
//   mse                    mean of (p - y)^2 over windows, steps and targets
//   mae                    mean of |p - y|
//   rmse                   sqrt(mse)
//   mase                   mean over targets of mae_k / scale_k, with scale_k = mean |y_t - y_(t-m)| on the training rows, m the
//                          season (1 where none is declared); a target with scale 0 is left out and counted (Hyndman, Koehler
//                          2006)
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

// An error where the name is none of metrics(); it offers the nearest spelling.
Result<MetricInfo> find_metric(const std::string& name);

// Sums over windows, from which every metric is worked out. Windows are added one by one in the order given, so that the
// bits don't depend on how they are cut into parts: add parts in the order of time.
class Metrics {
 public:
  // mase_scale [targets], in the same units as the forecasts that will be added. A scale that isn't above 0 leaves its
  // target out of mase.
  explicit Metrics(std::vector<double> mase_scale);

  // forecast and truth in one unit and of one shape.
  void add(const Forecast& forecast, const Truth& truth);

  // Adds the windows of another fold, whose mase_scale may be another: each error counts in units of its own fold's.
  void merge(const Metrics& later);

  // NaN where no cell counts (no windows, no movement, all scales 0), and where a forecast wasn't finite. Only for the
  // names in metrics().
  double value(const std::string& metric) const;

  // Mean absolute error at each step ahead: [horizon].
  std::vector<double> step_error() const;

  int64_t windows() const { return windows_; }
  // Targets that mase leaves out, in this fold or in one of those merged.
  int64_t excluded_targets() const;

 private:
  void add_window(const double* forecast, const double* truth, const double* last);
  double mase() const;

  std::vector<double> mase_scale_;
  bool finite_ = true;
  int64_t windows_ = 0, cells_ = 0, moved_ = 0, right_direction_ = 0;
  double squared_ = 0, absolute_ = 0, symmetric_ = 0;
  std::vector<double> scaled_;            // [targets] sum of |p - y| / scale
  std::vector<int64_t> scaled_cells_;     // [targets] cells in scaled_
  std::vector<bool> excluded_;            // [targets]
  std::vector<double> absolute_by_step_;  // [horizon]
};

// scale_k of mase on the training rows: the mean of |y_t - y_(t-season)| over series y, season 1 where it is 0; 0 where
// the series is no longer than a season.
double mase_scale(const std::vector<double>& training_values, int64_t season);

}  // namespace tutti
