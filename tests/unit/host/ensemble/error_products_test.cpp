#include "host/ensemble/error_products.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/host/ensemble/made_forecasts.h"

using namespace tutti;

TEST_CASE("products are means of the members' errors multiplied") {
  // errors: 1 -1 2 and 0 2 -1
  const auto products = error_products("stack", valid_of({{2, 1, 5}, {1, 4, 2}}, {1, 2, 3}));
  REQUIRE(products);
  CHECK((*products)(0, 0) == 2);
  CHECK((*products)(1, 1) == Approx(5.0 / 3));
  CHECK((*products)(0, 1) == Approx(-4.0 / 3));
  CHECK((*products)(1, 0) == (*products)(0, 1));
  CHECK(products->squared_error({0.5, 0.5}) == Approx((0.25 + 0.25 + 0.25) / 3));
}

TEST_CASE("the error worked out from products is that of the combination, over many blocks") {
  const ValidForecasts valid = drawn_valid(3, 5003, 1);
  const auto products = error_products("stack", valid);
  REQUIRE(products);
  double direct = 0;
  for (size_t i = 0; i < 5003; ++i) {
    const double p = 0.2 * valid.members[0].point[i] + 0.5 * valid.members[1].point[i] + 0.3 * valid.members[2].point[i];
    direct += (p - valid.truth.value[i]) * (p - valid.truth.value[i]);
  }
  CHECK(products->squared_error({0.2, 0.5, 0.3}) == Approx(direct / 5003).epsilon(1e-12));  // rounding of 5003 additions
}

TEST_CASE("what can't be learned from is refused with a sentence") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refusal = [](const ValidForecasts& valid) { return error_products("stack", valid).error().message; };

  CHECK(refusal({}) == "stack was given no members");
  CHECK(refusal(valid_of({{}}, {})) == "stack learns its weights from validation windows, and there are none");
  CHECK(refusal(valid_of({{1, 2}, {1, nan}}, {1, 2})) ==
        "stack was given member 2 with a forecast of nan at window 2; a member that fails must be left out");
  CHECK(refusal(valid_of({{1, 2}}, {1, nan})) == "stack was given a true value of nan at window 2");
  CHECK(refusal(valid_of({{1, 2}}, {1, 2, 3})) ==
        "stack was given members of 2 windows, 1 steps and 1 targets, and truth of 3, 1 and 1");
  CHECK(refusal(valid_of({{1, 2}, {1e200, 2}}, {1, 2})) ==
        "stack was given member 2 whose squared errors are too large to add up");

  ValidForecasts steps;
  steps.members = {{1, 5, 1, std::vector<double>(5), 0, {}}, {1, 12, 1, std::vector<double>(12), 0, {}}};
  CHECK(refusal(steps) == "stack was given a member with horizon 5 and one with 12");

  ValidForecasts quantiles = valid_of({{1}}, {1});
  quantiles.members[0].levels = 2, quantiles.members[0].quantiles = {1, std::numeric_limits<double>::infinity()};
  CHECK(refusal(quantiles) ==
        "stack was given member 1 with a quantile of inf at window 1; a member that fails must be left out");
}
