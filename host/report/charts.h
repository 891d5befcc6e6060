// The two kinds of picture in a report, as SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti {

struct Series {
  std::string name;
  std::string style;  // classes of the page: a colour "c0" … "c11" or "rest", and "dashed", "strong" …
  double first_x = 0;
  std::vector<double> y;  // at first_x, first_x + 1 …; what isn't finite, or is beyond 1e300, leaves a gap
};

struct LineChart {
  std::string alt, x_label, y_label;
  std::vector<Series> series;  // later ones are drawn above
  std::optional<double> rule;  // a vertical line at this x
  std::vector<double> frame;   // y that must be in view; where given, series that go far beyond it are cut off
  bool may_be_log = false;     // a logarithmic y axis where the numbers span more than a factor of 30
  double width = 480, height = 260;
};

std::string draw(const LineChart& chart);

struct Bar {
  std::string label;
  std::vector<double> parts;  // shares of the whole, one for each of the chart's parts
};

struct BarChart {
  std::string alt;
  std::vector<std::string> parts, styles;  // names and colours
  std::vector<Bar> bars;
};

std::string draw(const BarChart& chart);

}  // namespace tutti
