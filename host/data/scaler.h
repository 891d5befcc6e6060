// Brings every column to a common scale with numbers from training rows only.
#pragma once

#include <string>
#include <vector>

#include "host/data/split.h"
#include "host/data/table.h"
#include "shared/result.h"

namespace tutti {

enum class Scaling {
  none,
  standard,  // (x - mean) / standard deviation, ddof 0
  robust,    // (x - median) / (75 % quantile - 25 % quantile)
  min_max,   // (x - min) / (max - min)
};

struct Scaler {
  std::vector<double> centre, scale;  // [columns]; a constant column has scale 1

  double apply(double x, int64_t column) const {
    return (x - centre[static_cast<size_t>(column)]) / scale[static_cast<size_t>(column)];
  }
  double invert(double z, int64_t column) const {
    return z * scale[static_cast<size_t>(column)] + centre[static_cast<size_t>(column)];
  }
};

// Takes training rows and nothing else. Filled-in values are left out of the statistics.
Scaler fit_scaler(const Table& table, const TrainRows& rows, Scaling scaling);

}  // namespace tutti
