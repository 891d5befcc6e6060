// What every report carries with it: its style sheet and the few lines that make its tables sortable.
#pragma once

#include <string_view>

namespace tutti {

constexpr int kColours = 12;  // classes c0 … c11

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace tutti
