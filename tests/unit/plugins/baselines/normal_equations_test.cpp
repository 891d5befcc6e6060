#include "plugins/baselines/normal_equations.h"

#include <catch2/catch.hpp>

namespace tutti::baselines {
namespace {

TEST_CASE("two points determine a line") {
  const double rows[] = {1, 1, 5, 3, 1, 9};  // feature, 1, answer: y = 2 x + 3
  NormalEquations equations(1, 1);
  SerialExecutor serial;
  equations.add(Matrix<const double>(rows, {2, 3}), serial);
  const auto solution = *equations.solve(0);
  CHECK(solution.map.data<double>()[0] == Approx(2).epsilon(1e-14));
  CHECK(solution.map.data<double>()[1] == Approx(3).epsilon(1e-14));
  CHECK(solution.mean_squared_error == Approx(0).margin(1e-12));
}

TEST_CASE("the penalty is by row and spares the intercept") {
  const double rows[] = {-1, 1, 1, 1, 1, 5};  // y = 2 x + 3; penalty 1 by row halves the slope
  SerialExecutor serial;
  for (int times : {1, 10}) {
    NormalEquations equations(1, 1);
    for (int i = 0; i < times; ++i) equations.add(Matrix<const double>(rows, {2, 3}), serial);
    const auto solution = *equations.solve(1);
    CHECK(solution.map.data<double>()[0] == Approx(1).epsilon(1e-14));
    CHECK(solution.map.data<double>()[1] == Approx(3).epsilon(1e-14));
    CHECK(solution.mean_squared_error == Approx(1).epsilon(1e-13));
  }
}

TEST_CASE("rows that determine no map are refused, until a penalty chooses one") {
  const double rows[] = {1, 1, 1, 4};  // two equal features are one with the intercept
  NormalEquations equations(2, 1);
  SerialExecutor serial;
  equations.add(Matrix<const double>(rows, {1, 4}), serial);
  REQUIRE_FALSE(equations.solve(0));
  CHECK(equations.solve(0).error().code == ErrorCode::bad_input);
  CHECK(equations.solve(1e-3));
}

TEST_CASE("without rows there is nothing to solve") {
  NormalEquations equations(2, 1);
  CHECK(equations.solve(1).error().code == ErrorCode::bad_state);
}

}  // namespace
}  // namespace tutti::baselines
