// Dates and times as data files write them, to nanoseconds since 1970-01-01 UTC and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

// 2024-02-29, 2024/02/29, 20240229, 2024-02-29T09:30, 2024-02-29 09:30:00.250, with Z or +02:00 behind; leading zeros of
// month, day and hour may be missing. Or whole seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by
// size: below 1e11, 1e14 and 1e17. Nothing where the text is none of these, no real date, or outside the years 1678 … 2261
// that int64 nanoseconds can hold. Independent of the locale and the machine's time zone: a time without a zone is UTC.
std::optional<int64_t> parse_timestamp(std::string_view text);

// 2024-02-29, or 2024-02-29T09:30:00Z where the time isn't midnight, with a fraction where there is one.
std::string format_timestamp(int64_t nanoseconds);

}  // namespace tutti
