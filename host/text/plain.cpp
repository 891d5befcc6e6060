#include "host/text/plain.h"

namespace tutti {
namespace {

// Bytes of the UTF-8 character that begins at i; 0 where there is none.
size_t character_at(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 && first <= 0xF4  ? 4
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xC2 && first < 0xE0 ? 2
                                                        : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(i + 1) < 0xA0) || (first == 0xF0 && byte(i + 1) < 0x90);
  const bool outside = (first == 0xED && byte(i + 1) >= 0xA0) || (first == 0xF4 && byte(i + 1) >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string plain_text(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_at(text, i);
    const bool control = length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f);
    plain += length == 0 || control ? "?" : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return plain;
}

}  // namespace tutti
