// Text made safe inside HTML and SVG, in elements and in quoted attributes alike.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// & < > " ' become entities. Control characters, which XML forbids, become spaces; bytes that aren't UTF-8 become "?".
std::string escape(std::string_view text);

}  // namespace tutti
