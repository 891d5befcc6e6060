#include "host/ensemble/central_mean.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/ensemble/made_forecasts.h"

using namespace tutti;

namespace {

std::vector<double> combined(const char* name, const std::vector<double>& answers) {
  std::vector<Forecast> members;
  for (const double answer : answers) members.push_back(forecast_of({answer}));
  return (*make_combiner(name))->combine(members).point;
}

}  // namespace

TEST_CASE("the median is the middle answer, or the mean of the middle two") {
  CHECK(combined("median", {9, -100, 2}) == std::vector<double>{2});
  CHECK(combined("median", {9, 1, 1000, 2}) == std::vector<double>{5.5});
  CHECK(combined("median", {4}) == std::vector<double>{4});
  CHECK(combined("median", {4, 6}) == std::vector<double>{5});
}

TEST_CASE("the trimmed mean drops a fifth of the members at each side, rounded down") {
  CHECK(combined("trimmed-mean", {1, 2, 3, 10}) == std::vector<double>{4});                            // none
  CHECK(combined("trimmed-mean", {900, 2, 3, 4, -900}) == std::vector<double>{3});                     // one
  CHECK(combined("trimmed-mean", {7, 6, 5, 4, 3, 2, 100}) == std::vector<double>{5});                  // one of seven
  CHECK(combined("trimmed-mean", {1, 1, 1, 2, 2, 2, 3, 3, 90, 90}) == std::vector<double>{13.0 / 6});  // two
  CHECK(combined("trimmed-mean", {8}) == std::vector<double>{8});
}

TEST_CASE("the number of members dropped always leaves one") {
  for (int64_t members = 1; members < 100; ++members) {
    CHECK(2 * drop_for_median(members) < members);
    CHECK(2 * drop_for_trimmed_mean(members) < members);
  }
}
