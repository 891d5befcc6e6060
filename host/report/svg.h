// Writes SVG elements into a picture that lives inside an HTML page: colours and fonts come from the page's classes, so
// that a picture follows light and dark. Texts are escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

class Svg {
 public:
  // In user units; the page scales the picture to its place. alt says what the picture shows, for those who can't see it.
  Svg(double width, double height, std::string_view alt);

  // style holds classes of the page. A title is shown where the pointer rests; none where it is empty.
  void line(Point from, Point to, std::string_view style);
  void path(const std::vector<Point>& points, std::string_view style, std::string_view title = "");
  void rect(const Box& box, std::string_view style, std::string_view title = "");
  void circle(Point centre, double radius, std::string_view style, std::string_view title = "");
  // anchor: start, middle or end. turned: upwards.
  void text(Point at, std::string_view anchor, std::string_view style, std::string_view text, bool turned = false);

  // What is drawn in between is cut off at the box; its units stay those of the picture.
  void begin_clip(const Box& box);
  void end_clip();

  std::string finish() &&;

 private:
  void close(std::string_view element, std::string_view title);

  std::string out_;
};

}  // namespace tutti
