#include "shared/result.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

using namespace tutti;

namespace {

Result<std::unique_ptr<int>> whole(double number) {
  if (number != static_cast<int>(number)) return bad_input("it is no whole number");
  return std::make_unique<int>(static_cast<int>(number));
}

Result<void> below_ten(int number) {
  if (number >= 10) return unsupported("it is too large");
  return {};
}

Result<int> twice(double number) {
  TUTTI_TRY(const auto made, whole(number));
  TUTTI_CHECK(below_ten(*made));
  return 2 * *made;
}

Result<std::vector<int>> both(double a, double b) {
  std::vector<int> numbers(2);
  TUTTI_TRY(numbers[0], twice(a));
  TUTTI_TRY(numbers[1], twice(b));
  return numbers;
}

}  // namespace

TEST_CASE("a result is its value, or an error with its code and sentence") {
  const Result<int> good = 3;
  REQUIRE(good);
  CHECK(*good == 3);
  const Result<int> bad = failed("it broke");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == ErrorCode::failed);
  CHECK(bad.error().message == "it broke");
  CHECK(bad_input("").code == ErrorCode::bad_input);
  CHECK(unsupported("").code == ErrorCode::unsupported);
  CHECK(bad_state("").code == ErrorCode::bad_state);
}

TEST_CASE("a result of nothing is either done or an error") {
  CHECK(Result<void>());
  const Result<void> bad = bad_state("too early");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message == "too early");
}

TEST_CASE("what can only be moved is moved out of a result") {
  const std::unique_ptr<int> moved = *whole(4);
  CHECK(*moved == 4);
  Result<std::vector<int>> list = std::vector<int>{1, 2};
  list->push_back(3);
  CHECK((*list).size() == 3);
}

TEST_CASE("trying gives the value, or leaves the function with the error") {
  CHECK(*twice(4) == 8);
  CHECK(twice(4.5).error().code == ErrorCode::bad_input);
  CHECK(twice(10).error().message == "it is too large");
  CHECK(*both(1, 2) == std::vector<int>{2, 4});
  CHECK(both(1, 2.5).error().message == "it is no whole number");
}
