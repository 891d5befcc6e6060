#include "host/evaluate/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "host/text/spelling.h"

namespace tutti {
namespace {

int sign(double x) { return (x > 0) - (x < 0); }

double ratio(double sum, int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

// Adds each of a vector to its place in another, which grows where it is shorter.
template <class T>
void add_each(const std::vector<T>& from, std::vector<T>& to) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

const std::vector<MetricInfo>& metrics() {
  static const std::vector<MetricInfo> all = {
      {"mse", "mean of (p - y)^2 over windows, steps and targets", true},
      {"mae", "mean of |p - y|", true},
      {"rmse", "square root of the mean of (p - y)^2", true},
      {"mase", "mae in units of the mean change over one season on the training rows, mean over targets", true},
      {"smape", "200 * mean of |p - y| / (|p| + |y|), 0 to 200; a cell where both are 0 counts as 0", true},
      {"directional-accuracy", "share of steps whose direction from the last past value is right, where the truth moves", false},
  };
  return all;
}

Result<MetricInfo> find_metric(const std::string& name) {
  std::vector<std::string> names;
  for (const MetricInfo& info : metrics()) {
    if (name == info.name) return info;
    names.push_back(info.name);
  }
  return bad_input(fmt::format("unknown metric \"{}\"{}; there are {}", name, did_you_mean(name, names), list_of(names)));
}

Metrics::Metrics(std::vector<double> mase_scale)
    : mase_scale_(std::move(mase_scale)),
      scaled_(mase_scale_.size()),
      scaled_cells_(mase_scale_.size()),
      excluded_(mase_scale_.size()) {
  for (size_t k = 0; k < mase_scale_.size(); ++k) excluded_[k] = !(mase_scale_[k] > 0 && std::isfinite(mase_scale_[k]));
}

void Metrics::add(const Forecast& forecast, const Truth& truth) {
  assert(forecast.windows == truth.windows && forecast.horizon == truth.horizon && forecast.targets == truth.targets);
  assert(forecast.targets == static_cast<int64_t>(mase_scale_.size()));
  assert(static_cast<int64_t>(truth.last.size()) == truth.windows * truth.targets);
  if (absolute_by_step_.empty()) absolute_by_step_.resize(static_cast<size_t>(forecast.horizon));
  assert(static_cast<int64_t>(absolute_by_step_.size()) == forecast.horizon);

  const int64_t window = forecast.horizon * forecast.targets;
  for (int64_t w = 0; w < forecast.windows; ++w)
    add_window(&forecast.point[static_cast<size_t>(w * window)], &truth.value[static_cast<size_t>(w * window)],
               &truth.last[static_cast<size_t>(w * forecast.targets)]);
}

void Metrics::add_window(const double* forecast, const double* truth, const double* last) {
  const size_t horizon = absolute_by_step_.size(), targets = mase_scale_.size();
  double squared = 0, absolute = 0, symmetric = 0;
  std::vector<double> of_target(targets);
  for (size_t h = 0; h < horizon; ++h) {
    double of_step = 0;
    for (size_t k = 0; k < targets; ++k) {
      const double p = forecast[h * targets + k], y = truth[h * targets + k];
      const double error = std::abs(p - y), size = std::abs(p) + std::abs(y);
      finite_ = finite_ && std::isfinite(p);
      squared += error * error;
      of_step += error;
      of_target[k] += error;
      symmetric += size > 0 ? error / size : 0;
      if (const int direction = sign(y - last[k]); direction != 0) ++moved_, right_direction_ += sign(p - last[k]) == direction;
    }
    absolute += of_step;
    absolute_by_step_[h] += of_step;
  }
  squared_ += squared, absolute_ += absolute, symmetric_ += symmetric;
  for (size_t k = 0; k < targets; ++k)
    if (!excluded_[k]) scaled_[k] += of_target[k] / mase_scale_[k], scaled_cells_[k] += static_cast<int64_t>(horizon);
  cells_ += static_cast<int64_t>(horizon * targets);
  ++windows_;
}

void Metrics::merge(const Metrics& later) {
  assert(later.mase_scale_.size() == mase_scale_.size());
  finite_ = finite_ && later.finite_;
  windows_ += later.windows_, cells_ += later.cells_, moved_ += later.moved_, right_direction_ += later.right_direction_;
  squared_ += later.squared_, absolute_ += later.absolute_, symmetric_ += later.symmetric_;
  add_each(later.scaled_, scaled_);
  add_each(later.scaled_cells_, scaled_cells_);
  add_each(later.absolute_by_step_, absolute_by_step_);
  for (size_t k = 0; k < excluded_.size(); ++k) excluded_[k] = excluded_[k] || later.excluded_[k];
}

double Metrics::value(const std::string& metric) const {
  assert(find_metric(metric));
  if (!finite_) return std::numeric_limits<double>::quiet_NaN();
  if (metric == "mse") return ratio(squared_, cells_);
  if (metric == "mae") return ratio(absolute_, cells_);
  if (metric == "rmse") return std::sqrt(ratio(squared_, cells_));
  if (metric == "mase") return mase();
  if (metric == "smape") return ratio(200 * symmetric_, cells_);
  if (metric == "directional-accuracy") return ratio(static_cast<double>(right_direction_), moved_);
  return std::numeric_limits<double>::quiet_NaN();
}

double Metrics::mase() const {
  double sum = 0;
  int64_t targets = 0;
  for (size_t k = 0; k < scaled_.size(); ++k)
    if (scaled_cells_[k] > 0) sum += ratio(scaled_[k], scaled_cells_[k]), ++targets;
  return ratio(sum, targets);
}

std::vector<double> Metrics::step_error() const {
  std::vector<double> mean = absolute_by_step_;
  for (double& error : mean) error = ratio(error, windows_ * static_cast<int64_t>(mase_scale_.size()));
  return mean;
}

int64_t Metrics::excluded_targets() const { return std::count(excluded_.begin(), excluded_.end(), true); }

double mase_scale(const std::vector<double>& training_values, int64_t season) {
  const auto lag = static_cast<size_t>(std::max<int64_t>(season, 1));
  double sum = 0;
  for (size_t t = lag; t < training_values.size(); ++t) sum += std::abs(training_values[t] - training_values[t - lag]);
  return training_values.size() > lag ? sum / static_cast<double>(training_values.size() - lag) : 0;
}

}  // namespace tutti
