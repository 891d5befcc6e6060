#include <catch2/catch.hpp>

#include "host/ensemble/weights.h"

using namespace tutti;

namespace {

std::vector<double> weights(double first, double second, double third) {
  return inverse_error_weights({3, {first, 0, 0, 0, second, 0, 0, 0, third}});
}

}  // namespace

TEST_CASE("a member's weight is in proportion to the inverse of its squared error") {
  const auto w = weights(1, 2, 4);
  CHECK(w[0] == Approx(4.0 / 7));
  CHECK(w[1] == Approx(2.0 / 7));
  CHECK(w[2] == Approx(1.0 / 7));
}

TEST_CASE("a member without error takes all, several share it") {
  CHECK(weights(1, 0, 4) == std::vector<double>{0, 1, 0});
  CHECK(weights(0, 3, 0) == std::vector<double>{0.5, 0, 0.5});
}

TEST_CASE("errors too small to be inverted still give weights") {
  const auto w = weights(1e-320, 2e-320, 1);
  CHECK(w[0] == Approx(2.0 / 3).epsilon(1e-3));  // numbers this small have three digits
  CHECK(w[2] < 1e-300);
}

TEST_CASE("one member has all the weight") { CHECK(inverse_error_weights({1, {5}}) == std::vector<double>{1}); }
