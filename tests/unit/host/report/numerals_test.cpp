#include "host/report/numerals.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace tutti;

TEST_CASE("a column has the decimals that show four figures of its smallest number") {
  CHECK(decimals_for({0.0831, 12}) == 5);
  CHECK(decimals_for({1.5, 12, -3}) == 3);
  CHECK(decimals_for({1234, 99999}) == 0);
  CHECK(decimals_for({1e-9}) == 6);
  CHECK(decimals_for({std::nan(""), HUGE_VAL, 0}) == 0);
  CHECK(decimals_for({}) == 0);
}

TEST_CASE("numbers without a short decimal form are written with an exponent, and no number as a dash") {
  CHECK(decimal(0.08306, 4) == "0.0831");
  CHECK(decimal(-1.5, 2) == "-1.50");
  CHECK(decimal(1.23456e15, 2) == "1.235e+15");
  CHECK(decimal(std::nan(""), 3) == "-");
  CHECK(decimal(HUGE_VAL, 3) == "inf");
}

TEST_CASE("counts and durations are short") {
  CHECK(count(-1) == "");
  CHECK(count(0) == "0");
  CHECK(count(9999) == "9999");
  CHECK(count(45600) == "45.6 k");
  CHECK(count(999'600) == "1 M");
  CHECK(count(1'234'567) == "1.23 M");
  CHECK(count(7'000'000'000) == "7 G");
  CHECK(duration(0.085) == "85 ms");
  CHECK(duration(3.24) == "3.2 s");
  CHECK(duration(840) == "14 min");
  CHECK(duration(9000) == "2.5 h");
  CHECK(duration(std::nan("")) == "");
}

TEST_CASE("ticks are round numbers inside the range") {
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(1, 12, 6) == std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(round_ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(round_ticks(-0.13, 0.11, 5).size() == 5);
  for (const double low : {-1e300, -7.3, 0.0, 1e-12, 4e15})
    for (const double width : {1e-9, 1.0, 3e7, 1e300}) {
      const auto ticks = round_ticks(low, low + width, 5);
      CHECK(ticks.size() <= 100);
      for (const double tick : ticks) CHECK((tick >= low - 0.01 * width && tick <= low + 1.01 * width));
    }
}

TEST_CASE("tick labels have the decimals that their distance needs") {
  CHECK(tick_label(2, 1) == "2");
  CHECK(tick_label(0.3, 0.1) == "0.3");
  CHECK(tick_label(0.25, 0.05) == "0.25");
  CHECK(tick_label(2e9, 1e9) == "2e+09");
  CHECK(tick_label(500, 100) == "500");
}
