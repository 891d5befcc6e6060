#include "host/report/svg.h"

#include <fmt/core.h>

#include <iterator>

#include "host/report/escape.h"

namespace tutti {
namespace {

// A coordinate, to a tenth.
std::string at(double x) {
  std::string text = fmt::format("{:.1f}", x);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string size_and_place(const Box& box) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", at(box.x), at(box.y), at(box.width), at(box.height));
}

}  // namespace

Svg::Svg(double width, double height, std::string_view alt)
    : out_(fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", at(width), at(height), escape(alt))) {}

void Svg::close(std::string_view element, std::string_view title) {
  if (title.empty())
    out_ += "/>\n";
  else
    out_ += fmt::format("><title>{}</title></{}>\n", escape(title), element);
}

void Svg::line(Point from, Point to, std::string_view style) {
  out_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", escape(style), at(from.x), at(from.y),
                      at(to.x), at(to.y));
  close("line", "");
}

void Svg::path(const std::vector<Point>& points, std::string_view style, std::string_view title) {
  if (points.empty()) return;
  out_ += fmt::format("<path class=\"{}\" d=\"", escape(style));
  for (size_t i = 0; i < points.size(); ++i) out_ += fmt::format("{}{} {}", i == 0 ? "M" : "L", at(points[i].x), at(points[i].y));
  out_ += '"';
  close("path", title);
}

void Svg::rect(const Box& box, std::string_view style, std::string_view title) {
  out_ += fmt::format("<rect class=\"{}\" {}", escape(style), size_and_place(box));
  close("rect", title);
}

void Svg::circle(Point centre, double radius, std::string_view style, std::string_view title) {
  out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"", escape(style), at(centre.x), at(centre.y), at(radius));
  close("circle", title);
}

void Svg::text(Point place, std::string_view anchor, std::string_view style, std::string_view text, bool turned) {
  const std::string turn = turned ? fmt::format(" transform=\"rotate(-90 {} {})\"", at(place.x), at(place.y)) : "";
  out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", escape(style), at(place.x),
                      at(place.y), escape(anchor), turn, escape(text));
}

void Svg::begin_clip(const Box& box) {
  out_ +=
      fmt::format("<svg {} viewBox=\"{} {} {} {}\">\n", size_and_place(box), at(box.x), at(box.y), at(box.width), at(box.height));
}

void Svg::end_clip() { out_ += "</svg>\n"; }

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace tutti
