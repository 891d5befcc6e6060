#include "host/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {
namespace {

constexpr double kWidth = 640, kHeight = 280, kLeft = 64, kRight = 12, kTop = 12, kBottom = 44;

struct Axis {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    if (high - low > 1e-12 * std::max(std::abs(low), std::abs(high))) return;
    const double room = std::max(std::abs(low), 1.0) * 0.05;
    low -= room, high += room;
  }
  // 1, 2 or 5 times a power of ten between ticks.
  double step(int wanted) const {
    const double raw = (high - low) / wanted, power = std::pow(10, std::floor(std::log10(raw)));
    const double share = raw / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
  }
};

std::string tick_text(double value, double step) {
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
  return fmt::format("{:.{}f}", std::abs(value) < step * 1e-9 ? 0.0 : value, digits);
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string line_chart(const std::string& title, const std::string& x_label, const std::string& y_label, const std::vector<Line>& lines) {
  Axis x, y;
  for (const Line& line : lines)
    for (size_t i = 0; i < line.y.size(); ++i)
      if (std::isfinite(line.y[i])) x.include(line.x[i]), y.include(line.y[i]);
  if (x.empty()) return "";
  x.widen(), y.widen();
  const auto px = [&](double value) { return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); };
  const auto py = [&](double value) { return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom); };

  std::string svg = fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight, escaped(title));
  const double y_step = y.step(5), x_step = std::max(x.step(8), 1.0);
  for (double t = std::ceil(y.low / y_step) * y_step; t <= y.high + y_step * 1e-9; t += y_step)
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>",
                       kLeft, kWidth - kRight, py(t), py(t), kLeft - 6, py(t) + 4, tick_text(t, y_step));
  for (double t = std::ceil(x.low / x_step) * x_step; t <= x.high + x_step * 1e-9; t += x_step)
    svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>", px(t), kHeight - kBottom + 18, tick_text(t, x_step));
  svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>", (kLeft + kWidth - kRight) / 2, kHeight - 6, escaped(x_label));
  svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" transform=\"translate(12 {}) rotate(-90)\">{}</text>", (kTop + kHeight - kBottom) / 2, escaped(y_label));

  std::string legend;
  for (const Line& line : lines) {
    std::string points;
    bool pen_down = false;
    for (size_t i = 0; i < line.y.size(); ++i) {
      if (std::isfinite(line.y[i])) points += fmt::format("{}{:.1f} {:.1f} ", pen_down ? "L" : "M", px(line.x[i]), py(line.y[i]));
      pen_down = std::isfinite(line.y[i]);
    }
    const char* dash = line.dashed ? " dashed" : "";
    if (!points.empty()) svg += fmt::format("<path class=\"line c{}{}\" d=\"{}\"/>", line.colour % 10, dash, points);
    legend += fmt::format("<span><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"line c{}{}\" d=\"M0 4 L24 4\"/></svg>{}</span>",
                          line.colour % 10, dash, escaped(line.label));
  }
  return svg + "</svg><figcaption>" + legend + "</figcaption></figure>";
}

}  // namespace tutti
