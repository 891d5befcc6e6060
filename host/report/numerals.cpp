#include "host/report/numerals.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {

int decimals_for(const std::vector<double>& column) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double x : column)
    if (std::isfinite(x) && x != 0) smallest = std::min(smallest, std::abs(x));
  if (std::isinf(smallest)) return 0;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(smallest))), 0, 6);
}

std::string decimal(double x, int decimals) {
  if (std::isnan(x)) return "-";
  std::string text = fmt::format("{:.{}f}", x, decimals);
  if (text.size() > 12) text = fmt::format("{:.3e}", x);
  return text;
}

std::string count(int64_t n) {
  const auto x = static_cast<double>(n);
  if (n < 0) return "";
  if (n < 10'000) return fmt::format("{}", n);
  if (x < 999'500) return fmt::format("{:.3g} k", x / 1e3);
  if (x < 999'500'000) return fmt::format("{:.3g} M", x / 1e6);
  return fmt::format("{:.3g} G", x / 1e9);
}

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds == 0) return "0 s";
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::vector<double> round_ticks(double low, double high, int wanted) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / wanted, power = std::pow(10, std::floor(std::log10(rough)));
  const double rest = rough / power;
  const double step = power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  const auto first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last && ticks.size() < 100; ++i) ticks.push_back(i * step + 0.0);
  return ticks;
}

std::string tick_label(double tick, double distance) {
  if (std::abs(tick) >= 1e6 || (tick != 0 && std::abs(distance) < 1e-5)) return fmt::format("{:.3g}", tick);
  const int decimals = distance > 0 ? std::clamp(-static_cast<int>(std::floor(std::log10(distance) + 1e-9)), 0, 6) : 2;
  return fmt::format("{:.{}f}", tick, decimals);
}

}  // namespace tutti
