#include "host/report/charts.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tutti;

namespace {

size_t occurrences(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

LineChart chart_of(std::vector<double> y, bool may_be_log = false) {
  return {"alt", "x", "y", {{"ridge", "c0", 1, std::move(y)}}, {}, {}, may_be_log};
}

}  // namespace

TEST_CASE("a number that isn't finite leaves a gap, and one that stands alone is a dot") {
  const std::string svg = draw(chart_of({1, 2, std::nan(""), 4, HUGE_VAL, 3, 5}));
  CHECK(occurrences(svg, "<path class=\"line c0\"") == 2);
  CHECK(occurrences(svg, "<circle class=\"dot c0\"") == 1);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("a chart without numbers says so") {
  CHECK(draw(chart_of({std::nan(""), std::nan("")})).find("no numbers to draw") != std::string::npos);
  CHECK(draw(LineChart{"alt", "x", "y", {}, {}, {}}).find("no numbers to draw") != std::string::npos);
}

TEST_CASE("the axis is logarithmic where it may and the numbers span more than a factor of 30") {
  CHECK(draw(chart_of({1, 100}, true)).find("y (log)") != std::string::npos);
  CHECK(draw(chart_of({1, 20}, true)).find("(log)") == std::string::npos);
  CHECK(draw(chart_of({0, 100}, true)).find("(log)") == std::string::npos);
  CHECK(draw(chart_of({1, 100})).find("(log)") == std::string::npos);
}

TEST_CASE("constant, huge and tiny numbers are drawn without nonsense") {
  for (const auto& y : std::vector<std::vector<double>>{{5, 5, 5}, {0, 0}, {1e308, -1e308}, {5e-324, 1}, {1e-320, 3e-320}, {7}})
    for (const bool log : {false, true}) {
      const std::string svg = draw(chart_of(y, log));
      CHECK(svg.find("nan") == std::string::npos);
      CHECK(svg.find("inf") == std::string::npos);
      CHECK(svg.size() < 20'000);
    }
}

TEST_CASE("a frame keeps a series that runs away from flattening the others") {
  LineChart chart = chart_of({0, 1, 2, 1e6});
  chart.frame = {0, 2};
  CHECK(draw(chart).find(">4</text>") != std::string::npos);  // no further than the frame's height beyond it
  CHECK(draw(chart).find("e+0") == std::string::npos);
}

TEST_CASE("bars are as long as their shares, with the numbers where there is room") {
  const std::string svg = draw(BarChart{"alt", {"ridge", "tft", "last"}, {"c0", "c1", "c2"}, {{"fold 1", {0.75, 0.25, 0}}}});
  CHECK(svg.find("<rect class=\"part c0\" x=\"62\" y=\"4\" width=\"312\" height=\"20\"><title>ridge: 0.750</title>") !=
        std::string::npos);
  CHECK(svg.find("<rect class=\"part c1\" x=\"374\" y=\"4\" width=\"104\"") != std::string::npos);
  CHECK(svg.find("c2") == std::string::npos);
  CHECK(svg.find(">0.75</text>") != std::string::npos);
}
