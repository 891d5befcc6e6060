#include "host/ensemble/combiner.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/host/ensemble/made_forecasts.h"

using namespace tutti;

namespace {

std::unique_ptr<Combiner> fitted(const std::string& name, const ValidForecasts& valid) {
  auto combiner = *make_combiner(name);
  REQUIRE(combiner->fit(valid));
  return combiner;
}

Forecast drawn_quantiles(int64_t windows, int64_t levels, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 10);
  Forecast forecast{windows, 2, 3, std::vector<double>(static_cast<size_t>(windows * 6)), levels, {}};
  for (double& p : forecast.point) p = normal(random);
  for (int64_t cell = 0; cell < windows * 6; ++cell) {
    std::vector<double> rising(static_cast<size_t>(levels));
    for (double& q : rising) q = normal(random);
    std::sort(rising.begin(), rising.end());
    forecast.quantiles.insert(forecast.quantiles.end(), rising.begin(), rising.end());
  }
  return forecast;
}

}  // namespace

TEST_CASE("an unknown combination is refused with the nearest spelling") {
  const auto made = make_combiner("medain");
  REQUIRE(!made);
  CHECK(made.error().code == ErrorCode::bad_input);
  CHECK(made.error().message ==
        "unknown combination \"medain\" (did you mean \"median\"?); there are \"mean\", \"median\", \"trimmed-mean\", "
        "\"inverse-error\", \"greedy\" and \"stack\"");
}

TEST_CASE("the mean of whole numbers is exact") {
  CHECK((*make_combiner("mean"))->combine({forecast_of({1, 5}), forecast_of({2, 5}), forecast_of({6, 5})}).point ==
        std::vector<double>{3, 5});
}

TEST_CASE("a weighted mean weighs members by what it learned") {
  // squared errors 1 and 3: weights 3/4 and 1/4
  const auto combiner = fitted("inverse-error", valid_of({{1, -1}, {std::sqrt(3), std::sqrt(3)}}, {0, 0}));
  CHECK(combiner->combine({forecast_of({4}), forecast_of({8})}).point[0] == Approx(5).epsilon(1e-15));
}

TEST_CASE("every combination works with one member, and gives back what it says") {
  for (const CombinerInfo& info : combiners()) {
    INFO(info.name);
    const auto combiner = fitted(info.name, valid_of({{1, 2, 4}}, {1, 1, 1}));
    const Forecast member = drawn_quantiles(4, 3, 1), combination = combiner->combine({member});
    CHECK(combination.point == member.point);
    CHECK(combination.quantiles == member.quantiles);
  }
}

TEST_CASE("quantiles are combined level by level and stay in order, to the last bit") {
  for (const CombinerInfo& info : combiners())
    for (unsigned seed = 0; seed < 20; ++seed) {
      INFO(info.name << " " << seed);
      const int64_t count = 1 + seed % 7;
      const auto combiner = fitted(info.name, drawn_valid(count, 20, seed));
      std::vector<Forecast> members;
      for (unsigned m = 0; m < count; ++m) members.push_back(drawn_quantiles(5, 9, seed * 10 + m));
      const Forecast combination = combiner->combine(members);
      REQUIRE(combination.levels == 9);
      for (size_t cell = 0; cell < combination.point.size(); ++cell)
        CHECK(std::is_sorted(&combination.quantiles[cell * 9], &combination.quantiles[cell * 9] + 9));
    }
}

TEST_CASE("the combined quantile is the weighted mean of the members' quantiles") {
  Forecast low = forecast_of({1}), high = forecast_of({5});
  low.levels = high.levels = 2, low.quantiles = {0, 2}, high.quantiles = {3, 8};
  const auto combiner = *make_combiner("stack");
  REQUIRE(combiner->restore({0.25, 0.75}));
  CHECK(combiner->combine({low, high}).quantiles == std::vector<double>{2.25, 6.5});
}

TEST_CASE("quantiles are left out where one member gives none") {
  for (const CombinerInfo& info : combiners()) {
    const auto combiner = fitted(info.name, drawn_valid(2, 20, 3));
    Forecast without = drawn_quantiles(2, 3, 2);
    without.levels = 0, without.quantiles.clear();
    const Forecast combination = combiner->combine({drawn_quantiles(2, 3, 1), without});
    CHECK(combination.levels == 0);
    CHECK(combination.quantiles.empty());
    CHECK(combination.point.size() == without.point.size());
  }
}

TEST_CASE("a window's answer doesn't depend on the windows beside it") {
  for (const CombinerInfo& info : combiners()) {
    const auto combiner = fitted(info.name, drawn_valid(5, 50, 7));
    std::vector<Forecast> all, first;
    for (unsigned m = 0; m < 5; ++m) {
      all.push_back(drawn_quantiles(9, 2, m));
      first.push_back(all.back());
      first.back().windows = 1, first.back().point.resize(6), first.back().quantiles.resize(12);
    }
    const Forecast together = combiner->combine(all), alone = combiner->combine(first);
    CHECK(std::equal(alone.point.begin(), alone.point.end(), together.point.begin()));
    CHECK(std::equal(alone.quantiles.begin(), alone.quantiles.end(), together.quantiles.begin()));
  }
}

TEST_CASE("weights sum to 1, and restoring them gives the same combination without a fit") {
  for (const CombinerInfo& info : combiners()) {
    INFO(info.name);
    const auto combiner = fitted(info.name, drawn_valid(5, 50, 11));
    const std::vector<double> weights = combiner->weights();
    const auto restored = *make_combiner(info.name);
    REQUIRE(restored->restore(weights));
    CHECK(restored->weights() == weights);
    std::vector<Forecast> members;
    for (unsigned m = 0; m < 5; ++m) members.push_back(drawn_quantiles(3, 2, m));
    CHECK(restored->combine(members).point == combiner->combine(members).point);
    if (!weights.empty()) {
      double sum = 0;
      for (const double weight : weights) sum += weight;
      CHECK(sum == Approx(1).epsilon(1e-14));
    }
  }
}

TEST_CASE("weights that can't be are not restored") {
  CHECK((*make_combiner("median"))->restore({1}).error().message == "median has no weights to take back");
  const auto stack = *make_combiner("stack");
  CHECK(stack->restore({}).error().message == "stack needs one weight for each member, and there are none");
  CHECK(stack->restore({1.5, -0.5}).error().message == "stack was given a weight of -0.5");
  CHECK(stack->restore({0.5, 0.25}).error().message == "stack was given weights that sum to 0.75, not to 1");
  CHECK(!stack->restore({std::nan(""), 1}));
  CHECK((*make_combiner("mean"))->restore({0.25, 0.75}).error().message == "mean was given weights that differ from each other");
}

TEST_CASE("every combination refuses members of different horizons and numbers that aren't finite") {
  for (const CombinerInfo& info : combiners()) {
    ValidForecasts valid = valid_of({{1, 2}, {1, HUGE_VAL}}, {1, 2});
    CHECK((*make_combiner(info.name))->fit(valid).error().message ==
          std::string(info.name) +
              " was given member 2 with a forecast of inf at window 2; a member that fails must be left out");
    valid.members[1] = {2, 3, 1, std::vector<double>(6), 0, {}};
    CHECK((*make_combiner(info.name))->fit(valid).error().message ==
          std::string(info.name) + " was given a member with horizon 1 and one with 3");
  }
}

TEST_CASE("a member without weight isn't read") {
  const auto combiner = *make_combiner("greedy");
  REQUIRE(combiner->restore({0, 1}));
  CHECK(combiner->combine({forecast_of({HUGE_VAL}), forecast_of({3})}).point == std::vector<double>{3});
}
