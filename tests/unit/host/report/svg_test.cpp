#include "host/report/svg.h"

#include <catch2/catch.hpp>

using namespace tutti;

TEST_CASE("elements are written to a tenth of a unit, with their classes") {
  Svg svg(100, 50, "a <picture>");
  svg.line({0, 1}, {2.25, -0.01}, "axis");
  svg.path({{1, 2}, {3, 4.55}}, "line c0", "first & last");
  svg.rect({1, 2, 3, 4}, "part");
  svg.circle({5, 5}, 2.5, "dot");
  svg.text({5, 6}, "middle", "label", "<x>", true);
  CHECK(std::move(svg).finish() ==
        "<svg viewBox=\"0 0 100 50\" role=\"img\" aria-label=\"a &lt;picture&gt;\">\n"
        "<line class=\"axis\" x1=\"0\" y1=\"1\" x2=\"2.2\" y2=\"0\"/>\n"
        "<path class=\"line c0\" d=\"M1 2L3 4.5\"><title>first &amp; last</title></path>\n"
        "<rect class=\"part\" x=\"1\" y=\"2\" width=\"3\" height=\"4\"/>\n"
        "<circle class=\"dot\" cx=\"5\" cy=\"5\" r=\"2.5\"/>\n"
        "<text class=\"label\" x=\"5\" y=\"6\" text-anchor=\"middle\" transform=\"rotate(-90 5 6)\">&lt;x&gt;</text>\n"
        "</svg>\n");
}
