#include "host/report/charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/report/numerals.h"
#include "host/report/svg.h"

namespace tutti {
namespace {

// Numbers beyond this can't be subtracted safely; a model that gives them is off every chart. NaN isn't drawable either.
bool drawable(double x) { return std::abs(x) < 1e300; }

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool empty() const { return !(low <= high); }
  void add(double x) {
    if (drawable(x)) low = std::min(low, x), high = std::max(high, x);
  }
};

// From the numbers of an axis to the picture's units.
class Axis {
 public:
  Axis(Range numbers, double from, double to, bool log = false) : log_(log), numbers_(numbers), from_(from), to_(to) {}

  double operator()(double x) const {
    if (numbers_.high == numbers_.low) return (from_ + to_) / 2;
    const double share = log_ ? std::log(x / numbers_.low) / std::log(numbers_.high / numbers_.low)
                              : (x - numbers_.low) / (numbers_.high - numbers_.low);
    return from_ + share * (to_ - from_);
  }

  std::vector<double> ticks(int wanted) const {
    if (!log_) return round_ticks(numbers_.low, numbers_.high, wanted);
    const bool few = std::log10(numbers_.high / numbers_.low) < 2.5;
    std::vector<double> ticks;
    for (double power = std::pow(10, std::floor(std::log10(numbers_.low))); power <= numbers_.high; power *= 10)
      for (const double x : few ? std::vector<double>{power, 2 * power, 5 * power} : std::vector<double>{power})
        if (x >= numbers_.low && x <= numbers_.high) ticks.push_back(x);
    return ticks;
  }

  std::string label(const std::vector<double>& ticks, size_t i) const {
    if (log_) return fmt::format("{:g}", ticks[i]);
    return tick_label(ticks[i], ticks.size() > 1 ? ticks[1] - ticks[0] : 0);
  }

 private:
  bool log_;
  Range numbers_;
  double from_, to_;
};

Range x_range(const LineChart& chart) {
  Range range;
  for (const Series& series : chart.series)
    if (!series.y.empty()) range.add(series.first_x), range.add(series.first_x + static_cast<double>(series.y.size() - 1));
  return range;
}

// All numbers, or where there is a frame, at most once its height beyond it.
Range y_range(const LineChart& chart) {
  Range all, frame;
  for (const Series& series : chart.series)
    for (const double y : series.y) all.add(y);
  for (const double y : chart.frame) frame.add(y);
  if (all.empty() || frame.empty()) return all;
  const double beyond = frame.high - frame.low;
  return {std::min(frame.low, std::max(all.low, frame.low - beyond)),
          std::max(frame.high, std::min(all.high, frame.high + beyond))};
}

void widen(Range& range, bool log) {
  if (log) {
    range.low /= 1.15, range.high *= 1.15;
    return;
  }
  const double margin = range.high > range.low ? 0.06 * (range.high - range.low) : std::max(1e-9, 0.1 * std::abs(range.low));
  range.low -= margin, range.high += margin;
}

void draw_series(Svg& svg, const Series& series, const Axis& x, const Axis& y, bool log) {
  std::vector<Point> piece;
  const auto end_piece = [&] {
    if (piece.size() == 1) svg.circle(piece.front(), 3.2, "dot " + series.style, series.name);
    if (piece.size() > 1) svg.path(piece, "line " + series.style, series.name);
    piece.clear();
  };
  for (size_t i = 0; i < series.y.size(); ++i) {
    if (drawable(series.y[i]) && !(log && series.y[i] <= 0))
      piece.push_back({x(series.first_x + static_cast<double>(i)), y(series.y[i])});
    else
      end_piece();
  }
  end_piece();
}

}  // namespace

std::string draw(const LineChart& chart) {
  Svg svg(chart.width, chart.height, chart.alt);
  const Range xs = x_range(chart);
  Range ys = y_range(chart);
  if (xs.empty() || ys.empty()) {
    svg.text({chart.width / 2, chart.height / 2}, "middle", "label", "no numbers to draw");
    return std::move(svg).finish();
  }
  const bool log = chart.may_be_log && ys.low > 1e-300 && ys.high / ys.low > 30;
  widen(ys, log);

  const Box plot{58, 10, chart.width - 58 - 12, chart.height - 10 - 44};
  const Axis x(xs, plot.x, plot.x + plot.width), y(ys, plot.y + plot.height, plot.y, log);
  const std::vector<double> across = x.ticks(6), up = y.ticks(5);
  for (size_t i = 0; i < up.size(); ++i) {
    svg.line({plot.x, y(up[i])}, {plot.x + plot.width, y(up[i])}, "grid");
    svg.text({plot.x - 7, y(up[i]) + 4}, "end", "tick", y.label(up, i));
  }
  for (size_t i = 0; i < across.size(); ++i) {
    if (across[i] != std::floor(across[i])) continue;  // all are counted in steps
    svg.line({x(across[i]), plot.y + plot.height}, {x(across[i]), plot.y + plot.height + 4}, "axis");
    svg.text({x(across[i]), plot.y + plot.height + 18}, "middle", "tick", tick_label(across[i], 1));
  }
  svg.line({plot.x, plot.y + plot.height}, {plot.x + plot.width, plot.y + plot.height}, "axis");
  svg.text({plot.x + plot.width / 2, chart.height - 6}, "middle", "label", chart.x_label);
  svg.text({13, plot.y + plot.height / 2}, "middle", "label", chart.y_label + (log ? " (log)" : ""), true);

  svg.begin_clip(plot);
  if (chart.rule) svg.line({x(*chart.rule), plot.y}, {x(*chart.rule), plot.y + plot.height}, "rule");
  for (const Series& series : chart.series) draw_series(svg, series, x, y, log);
  svg.end_clip();
  return std::move(svg).finish();
}

std::string draw(const BarChart& chart) {
  constexpr double kWidth = 480, kBar = 20, kStep = 28, kLabels = 62;
  Svg svg(kWidth, kStep * static_cast<double>(chart.bars.size()) + 4, chart.alt);
  for (size_t row = 0; row < chart.bars.size(); ++row) {
    const Bar& bar = chart.bars[row];
    const double top = 4 + kStep * static_cast<double>(row), whole = kWidth - kLabels - 2;
    svg.text({kLabels - 8, top + 14.5}, "end", "label", bar.label);
    double left = kLabels;
    for (size_t part = 0; part < std::min(bar.parts.size(), chart.parts.size()); ++part) {
      const double width = whole * bar.parts[part];
      if (!(width > 0.05)) continue;
      svg.rect({left, top, width, kBar}, "part " + chart.styles[part],
               fmt::format("{}: {:.3f}", chart.parts[part], bar.parts[part]));
      if (width > 34) svg.text({left + width / 2, top + 14.5}, "middle", "inside", fmt::format("{:.2f}", bar.parts[part]));
      left += width;
    }
  }
  return std::move(svg).finish();
}

}  // namespace tutti
