#include "host/data/scaler.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

struct CentreAndScale {
  double centre, scale;
};

CentreAndScale standard(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (double value : x) sum += value;
  const double mean = sum / n;
  for (double value : x) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / n)};
}

// Of sorted numbers, linear between neighbours (type 7 of Hyndman and Fan 1996, numpy's default).
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

CentreAndScale robust(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return {quantile(x, 0.5), quantile(x, 0.75) - quantile(x, 0.25)};
}

CentreAndScale fit_column(const std::vector<double>& x, Scaling scaling) {
  if (x.empty() || scaling == Scaling::none) return {0, 1};
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  if (*least == *most) return {*least, 1};  // before rounding makes a tiny scale of it
  const CentreAndScale fitted = scaling == Scaling::standard ? standard(x)
                                : scaling == Scaling::robust ? robust(x)
                                                             : CentreAndScale{*least, *most - *least};
  return {fitted.centre, std::isnormal(fitted.scale) ? fitted.scale : 1};
}

}  // namespace

Scaler fit_scaler(const Table& table, const TrainRows& rows, Scaling scaling) {
  Scaler scaler;
  std::vector<double> x;
  for (int64_t column = 0; column < table.width(); ++column) {
    x.clear();
    for (int64_t row = rows.first; row < rows.last; ++row)
      if (table.is_observed(row, column)) x.push_back(table.at(row, column));
    const auto [centre, scale] = fit_column(x, scaling);
    scaler.centre.push_back(centre);
    scaler.scale.push_back(scale);
  }
  return scaler;
}

}  // namespace tutti
