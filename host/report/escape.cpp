#include "host/report/escape.h"

namespace tutti {
namespace {

// Length of the UTF-8 character that text begins with, or 0 where it is none: cut off, too long a form, a surrogate, or
// above U+10FFFF.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF && follows(1)) return 2;
  if (first >= 0xE0 && first <= 0xEF && follows(1) && follows(2))
    return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ? 0 : 3;
  if (first >= 0xF0 && first <= 0xF4 && follows(1) && follows(2) && follows(3))
    return (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) ? 0 : 4;
  return 0;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0)
      safe += '?';
    else if (length > 1)
      safe += text.substr(0, length);
    else if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else if (c == '\'')
      safe += "&#39;";
    else if (c == '\n' || c == '\t')
      safe += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      safe += ' ';
    else
      safe += c;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

}  // namespace tutti
