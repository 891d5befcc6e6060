// Forecasts and truths for tests, written by hand or drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "host/ensemble/error_products.h"
#include "host/ensemble/forecast.h"

namespace tutti {

// One step, one target: a window a number.
inline Forecast forecast_of(std::vector<double> point) {
  const auto windows = static_cast<int64_t>(point.size());
  return {windows, 1, 1, std::move(point), 0, {}};
}

inline ValidForecasts valid_of(std::vector<std::vector<double>> members, std::vector<double> truth) {
  ValidForecasts valid;
  for (auto& member : members) valid.members.push_back(forecast_of(std::move(member)));
  const auto windows = static_cast<int64_t>(truth.size());
  valid.truth = {windows, 1, 1, std::move(truth), std::vector<double>(static_cast<size_t>(windows))};
  return valid;
}

// Members that err in common and each for itself, some more than others.
inline ValidForecasts drawn_valid(int64_t members, int64_t windows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> truth(static_cast<size_t>(windows)), common(truth.size());
  for (double& y : truth) y = normal(random);
  for (double& e : common) e = normal(random);
  std::vector<std::vector<double>> points;
  for (int64_t m = 0; m < members; ++m) {
    const double size = 0.2 + std::abs(normal(random)), share = normal(random), shift = 0.3 * normal(random);
    points.push_back(truth);
    for (size_t i = 0; i < truth.size(); ++i) points.back()[i] += size * normal(random) + share * common[i] + shift;
  }
  return valid_of(std::move(points), std::move(truth));
}

}  // namespace tutti
