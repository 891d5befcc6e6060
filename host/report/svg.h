// Small drawings for the report: lines over an axis, as SVG text that follows the page's colours.
#pragma once

#include <string>
#include <vector>

namespace tutti {

struct Line {
  std::string label;
  std::vector<double> x, y;  // one length; a y that isn't finite breaks the line
  int colour = 0;            // class c0 … c9 of the page's style
  bool dashed = false;
};

// A chart with round axis ticks and a legend; "" where there is nothing to draw. title is read to people who can't see it.
std::string line_chart(const std::string& title, const std::string& x_label, const std::string& y_label, const std::vector<Line>& lines);

// text with everything that HTML takes for its own replaced.
std::string escaped(const std::string& text);

}  // namespace tutti
