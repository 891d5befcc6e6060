#include "host/data/timestamp.h"

#include <catch2/catch.hpp>

#include <random>

namespace tutti {

constexpr int64_t kSecond = 1'000'000'000, kDay = 86400 * kSecond;

TEST_CASE("dates and times of data files are read as UTC") {
  CHECK(parse_timestamp("1970-01-01") == 0);
  CHECK(parse_timestamp("1970-01-02") == kDay);
  CHECK(parse_timestamp("1969-12-31") == -kDay);
  CHECK(parse_timestamp("2024-02-29") == 19782 * kDay);  // date -ud 2024-02-29 +%s, over 86400
  CHECK(parse_timestamp("2024/02/29") == 19782 * kDay);
  CHECK(parse_timestamp("20240229") == 19782 * kDay);
  CHECK(parse_timestamp("2024/2/9 1:05") == 19762 * kDay + 3900 * kSecond);
  CHECK(parse_timestamp("2016-07-01 00:00:00") == 16983 * kDay);
  CHECK(parse_timestamp("2024-02-29T09:30") == 19782 * kDay + 34200 * kSecond);
  CHECK(parse_timestamp("2024-02-29 09:30:00.250") == 19782 * kDay + 34200 * kSecond + 250'000'000);
  CHECK(parse_timestamp("1970-01-01T00:00:00.123456789") == 123'456'789);
}

TEST_CASE("a zone is taken off") {
  CHECK(parse_timestamp("1970-01-01T02:00:00Z") == 7200 * kSecond);
  CHECK(parse_timestamp("1970-01-01T02:00:00+02:00") == 0);
  CHECK(parse_timestamp("1970-01-01T02:00+0200") == 0);
  CHECK(parse_timestamp("1970-01-01 00:00:00-05") == 5 * 3600 * kSecond);
}

TEST_CASE("seconds, milliseconds, microseconds and nanoseconds since 1970 are told apart by size") {
  CHECK(parse_timestamp("0") == 0);
  CHECK(parse_timestamp("-60") == -60 * kSecond);
  CHECK(parse_timestamp("1709199000") == 1'709'199'000 * kSecond);
  CHECK(parse_timestamp("1709199000250") == 1'709'199'000'250'000'000);
  CHECK(parse_timestamp("1709199000250000") == 1'709'199'000'250'000'000);
  CHECK(parse_timestamp("1709199000250000001") == 1'709'199'000'250'000'001);
}

TEST_CASE("what is no date or time is refused") {
  for (const char* text : {"",
                           " ",
                           "abc",
                           "2024",
                           "2023-02-29x",
                           "2023-02-29",
                           "2024-13-01",
                           "2024-00-10",
                           "2024-01-32",
                           "2024-01",
                           "24-01-01",
                           "2024-01/01",
                           "2024-01-01T",
                           "2024-01-01T24:00",
                           "2024-01-01T10",
                           "2024-01-01T10:60",
                           "2024-01-01T10:00:60",
                           "2024-01-01T10:00:00.",
                           "2024-01-01T10:00+2",
                           "2024-01-01T10:00+15:00",
                           "2024-01-01Z",
                           "1600-01-01",
                           "2300-01-01",
                           "01/02/2024",
                           "1.5",
                           "99999999999",
                           "9999999999999999999",
                           "20240230x",
                           "-",
                           "2024-01-01 10:00 PM"}) {
    INFO(text);
    if (std::string(text) == "2024")
      CHECK(parse_timestamp(text) == 2024 * kSecond);  // seconds
    else
      CHECK(!parse_timestamp(text));
  }
}

TEST_CASE("a time is written as a date, and with its time of day where it isn't midnight") {
  CHECK(format_timestamp(0) == "1970-01-01");
  CHECK(format_timestamp(19782 * kDay + 34200 * kSecond) == "2024-02-29T09:30:00Z");
  CHECK(format_timestamp(19782 * kDay + 250'000'000) == "2024-02-29T00:00:00.25Z");
  CHECK(format_timestamp(-1) == "1969-12-31T23:59:59.999999999Z");
}

TEST_CASE("a time that was written is read back the same") {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> times(-9'000'000'000'000'000'000, 9'000'000'000'000'000'000);
  for (int i = 0; i < 10000; ++i) {
    int64_t time = times(random);
    if (i % 3 == 1) time -= time % kSecond;
    if (i % 3 == 2) time -= time % kDay;
    REQUIRE(parse_timestamp(format_timestamp(time)) == time);
  }
}

}  // namespace tutti
