// Foreign text made fit for a terminal and for JSON.
#pragma once

#include <string>

namespace tutti {

// text with control characters and bytes that are no UTF-8 replaced by "?".
std::string plain_text(const std::string& text);

}  // namespace tutti
