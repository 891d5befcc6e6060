#include "host/data/timestamp.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace tutti {
namespace {

constexpr int64_t kNanosecond = 1'000'000'000;  // of a second

// Eats a text from the left.
struct Scanner {
  std::string_view rest;

  bool one_of(std::string_view characters) {
    if (rest.empty() || characters.find(rest[0]) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }

  // An unsigned number of least to most digits.
  std::optional<int64_t> number(size_t least, size_t most) {
    size_t digits = 0;
    int64_t value = 0;
    while (digits < most && digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9')
      value = value * 10 + (rest[digits++] - '0');
    if (digits < least) return std::nullopt;
    rest.remove_prefix(digits);
    return value;
  }
};

std::optional<int64_t> days_since_1970(int64_t year, int64_t month, int64_t day) {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1678 || year > 2261) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// ".250" is 250,000,000; digits after the ninth are dropped.
std::optional<int64_t> fraction(Scanner& scan) {
  const size_t before = scan.rest.size();
  const auto value = scan.number(1, 9);
  if (!value) return std::nullopt;
  int64_t nanoseconds = *value;
  for (size_t digits = before - scan.rest.size(); digits < 9; ++digits) nanoseconds *= 10;
  while (scan.number(1, 9)) {
  }
  return nanoseconds;
}

// What lies between a time and UTC, in seconds: nothing, Z, +02:00, +0200 or +02.
std::optional<int64_t> zone(Scanner& scan) {
  if (scan.rest.empty() || scan.one_of("Zz")) return 0;
  const bool west = scan.rest[0] == '-';
  if (!scan.one_of("+-")) return std::nullopt;
  const auto hours = scan.number(2, 2);
  scan.one_of(":");
  const auto minutes = scan.rest.empty() ? 0 : scan.number(2, 2);
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return (*hours * 3600 + *minutes * 60) * (west ? -1 : 1);
}

// Nanoseconds since midnight UTC of the day before it.
std::optional<int64_t> time_of_day(Scanner& scan) {
  const auto hour = scan.number(1, 2);
  if (!hour || *hour > 23 || !scan.one_of(":")) return std::nullopt;
  const auto minute = scan.number(2, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::optional<int64_t> second = 0, nanoseconds = 0;
  if (scan.one_of(":")) second = scan.number(2, 2);
  if (!second || *second > 59) return std::nullopt;
  if (scan.one_of(".,")) nanoseconds = fraction(scan);
  const auto offset = zone(scan);
  if (!nanoseconds || !offset) return std::nullopt;
  return (*hour * 3600 + *minute * 60 + *second - *offset) * kNanosecond + *nanoseconds;
}

std::optional<int64_t> since_1970(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == INT64_MIN) return std::nullopt;
  const int64_t size = std::abs(value);
  if (size < 100'000'000'000) {
    if (size > INT64_MAX / kNanosecond) return std::nullopt;
    return value * kNanosecond;
  }
  if (size < 100'000'000'000'000) return size > INT64_MAX / 1'000'000 ? std::nullopt : std::optional(value * 1'000'000);
  if (size < 100'000'000'000'000'000) return size > INT64_MAX / 1'000 ? std::nullopt : std::optional(value * 1'000);
  return value;
}

std::optional<int64_t> compact_date(std::string_view text) {
  Scanner scan{text};
  if (text.size() != 8) return std::nullopt;
  const auto year = scan.number(4, 4), month = scan.number(2, 2), day = scan.number(2, 2);
  if (!year || !month || !day) return std::nullopt;
  return days_since_1970(*year, *month, *day);
}

}  // namespace

std::optional<int64_t> parse_timestamp(std::string_view text) {
  if (const auto days = compact_date(text)) return *days * 86400 * kNanosecond;
  if (text.find_first_of("-/", 1) == std::string_view::npos) return since_1970(text);

  Scanner scan{text};
  const auto year = scan.number(4, 4);
  const bool slashes = !scan.rest.empty() && scan.rest[0] == '/';
  const char* separator = slashes ? "/" : "-";
  if (!year || !scan.one_of(separator)) return std::nullopt;
  const auto month = scan.number(1, 2);
  if (!month || !scan.one_of(separator)) return std::nullopt;
  const auto day = scan.number(1, 2);
  if (!day) return std::nullopt;
  const auto days = days_since_1970(*year, *month, *day);
  std::optional<int64_t> time = 0;
  if (scan.one_of("Tt ")) time = time_of_day(scan);
  if (!days || !time || !scan.rest.empty()) return std::nullopt;
  return *days * 86400 * kNanosecond + *time;
}

std::string format_timestamp(int64_t nanoseconds) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(nanoseconds)};
  const auto days = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{days};
  const int64_t of_day = (time - days).count(), second = of_day / kNanosecond, fraction = of_day % kNanosecond;

  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  std::string result = text;
  if (of_day == 0) return result;
  std::snprintf(text, sizeof text, "T%02d:%02d:%02d", static_cast<int>(second / 3600), static_cast<int>(second / 60 % 60),
                static_cast<int>(second % 60));
  result += text;
  if (fraction) {
    std::snprintf(text, sizeof text, ".%09lld", static_cast<long long>(fraction));
    result += text;
    result.erase(result.find_last_not_of('0') + 1);
  }
  return result + "Z";
}

}  // namespace tutti
