#include "shared/random/philox.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

using namespace tutti;

TEST_CASE("philox gives the numbers of the published test vectors") {
  // Random123 1.14, tests/kat_vectors, philox4x32 10
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the bits at an index are two words of the block at half of it") {
  CHECK(Philox(0).bits(0) == 0xe169c58d6627e8d5);
  CHECK(Philox(0).bits(1) == 0x9b00dbd8bc57ac4c);
  const PhiloxBlock last = philox4x32({0xffffffff, 0x7fffffff, 0x55667788, 0x11223344}, {0xddccbbaa, 0x99887766});
  const Philox far(0x99887766ddccbbaa, 0x1122334455667788);
  CHECK(far.bits(UINT64_MAX) == (uint64_t{last[3]} << 32 | last[2]));
}

TEST_CASE("seeds and streams give different numbers, and the same ones give the same") {
  std::set<uint64_t> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX})
    for (const uint64_t stream : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX})
      for (uint64_t index = 0; index < 100; ++index) seen.insert(Philox(seed, stream).bits(index));
  CHECK(seen.size() == 4 * 4 * 100);
  CHECK(Philox(5, 6).bits(7) == Philox(5, 6).bits(7));
}

TEST_CASE("streams of one seed are not correlated") {
  const Philox a(3, 0), b(3, 1);
  const int count = 40'000;
  double product = 0;
  for (uint64_t i = 0; i < count; ++i) product += a.normal(i) * b.normal(i);
  CHECK(std::abs(product / std::sqrt(count)) < 5);  // standard normal; beyond 5 once in a million seeds
}

TEST_CASE("uniform numbers lie in [0,1) and have the moments of that interval") {
  const Philox random(1);
  const int count = 100'000;
  double sum = 0, squares = 0, smallest = 1, largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double x = random.uniform(i);
    sum += x, squares += x * x, smallest = std::min(smallest, x), largest = std::max(largest, x);
  }
  CHECK(smallest >= 0);
  CHECK(largest < 1);
  // five standard errors: sqrt(1/12 / count) of the mean, sqrt(4/45 / count) of the mean square
  CHECK(sum / count == Approx(0.5).margin(0.0046));
  CHECK(squares / count == Approx(1.0 / 3).margin(0.0048));
  for (uint64_t i = 0; i < 1000; ++i) {
    const double x = random.uniform(i, -2, 3);
    REQUIRE(x >= -2);
    REQUIRE(x < 3);
  }
}

TEST_CASE("normal numbers are finite and have the moments of the standard normal distribution") {
  const Philox random(2);
  const int count = 100'000;
  double sums[4] = {};
  for (uint64_t i = 0; i < count; ++i) {
    const double x = random.normal(i);
    REQUIRE(std::isfinite(x));
    for (int power = 1; power <= 4; ++power) sums[power - 1] += std::pow(x, power);
  }
  // five standard errors: variances of x, x^2, x^3, x^4 are 1, 2, 15, 96
  CHECK(sums[0] / count == Approx(0).margin(5 * std::sqrt(1.0 / count)));
  CHECK(sums[1] / count == Approx(1).margin(5 * std::sqrt(2.0 / count)));
  CHECK(sums[2] / count == Approx(0).margin(5 * std::sqrt(15.0 / count)));
  CHECK(sums[3] / count == Approx(3).margin(5 * std::sqrt(96.0 / count)));
}

TEST_CASE("whole numbers below a bound take every value about equally often") {
  const Philox random(4);
  std::vector<int> counts(7);
  for (uint64_t i = 0; i < 70'000; ++i) ++counts.at(random.below(i, 7));
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 500);  // more than five standard deviations, each 93
  CHECK(random.below(0, 1) == 0);
  CHECK(random.below(3, UINT64_MAX) < UINT64_MAX);
}

TEST_CASE("shuffling gives a permutation that depends on the seed and reaches every order") {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> first = items, again = items, other = items;
  shuffle(first, Philox(1)), shuffle(again, Philox(1)), shuffle(other, Philox(2));
  CHECK(first == again);
  CHECK(first != items);
  CHECK(first != other);
  std::sort(first.begin(), first.end());
  CHECK(first == items);

  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<int> four{0, 1, 2, 3};
    shuffle(four, Philox(seed));
    orders.insert(four);
  }
  CHECK(orders.size() == 24);

  std::vector<int> none, one{7};
  shuffle(none, Philox(1)), shuffle(one, Philox(1));
  CHECK(one == std::vector<int>{7});
}
