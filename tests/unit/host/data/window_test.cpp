#include "host/data/window.h"

#include <catch2/catch.hpp>

#include <random>

namespace tutti {

static Table rows(int64_t count) {
  Table table;
  table.columns = {"a", "b"};
  for (int64_t row = 0; row < count; ++row) table.time.push_back(row);
  table.values.assign(static_cast<size_t>(2 * count), 0);
  return table;
}

TEST_CASE("windows are cut from a span") {
  const Table table = rows(20);
  CHECK(index_windows(table, {0}, TrainRows{{0, 8}}, {3, 2, 1}) == std::vector<Origin>{2, 3, 4, 5});
  CHECK(index_windows(table, {0}, TrainRows{{4, 12}}, {3, 2, 1}) == std::vector<Origin>{6, 7, 8, 9});
  CHECK(index_windows(table, {0}, TrainRows{{0, 8}}, {3, 2, 2}) == std::vector<Origin>{2, 4});
}

TEST_CASE("a validation or test window may look back over the border, and its targets may not") {
  const Table table = rows(20);
  CHECK(index_windows(table, {0}, ValidRows{{8, 12}}, {3, 2, 1}) == std::vector<Origin>{7, 8, 9});
  CHECK(index_windows(table, {0}, TestRows{{8, 12}}, {3, 2, 1}) == std::vector<Origin>{7, 8, 9});
  CHECK(index_windows(table, {0}, TestRows{{1, 12}}, {3, 9, 1}) == std::vector<Origin>{2});
}

TEST_CASE("a span with too few rows gives no window") {
  const Table table = rows(20);
  CHECK(index_windows(table, {0}, TrainRows{{0, 4}}, {3, 2, 1}).empty());
  CHECK(index_windows(table, {0}, TestRows{{10, 11}}, {3, 2, 1}).empty());
  CHECK(index_windows(table, {0}, TestRows{{10, 20}}, {100, 2, 1}).empty());
}

TEST_CASE("ETTh1 is cut into as many windows as its protocol says") {
  const Table table = rows(17420);
  for (const auto& [horizon, windows] : {std::pair{96, 2785}, {192, 2689}, {336, 2545}, {720, 2161}}) {
    const WindowShape shape{336, horizon, 1};
    CHECK(index_windows(table, {0}, TrainRows{{0, 8640}}, shape).size() == static_cast<size_t>(8640 - 336 - horizon + 1));
    CHECK(index_windows(table, {0}, ValidRows{{8640, 11520}}, shape).size() == static_cast<size_t>(windows));
    CHECK(index_windows(table, {0}, TestRows{{11520, 14400}}, shape).size() == static_cast<size_t>(windows));
  }
}

TEST_CASE("a window with a target that was not observed is left out") {
  Table table = rows(12);
  table.observed.assign(24, 1);
  table.observed[2 * 6] = 0;  // column 0 of row 6
  CHECK(index_windows(table, {0}, TestRows{{3, 12}}, {2, 2, 1}) == std::vector<Origin>{2, 3, 6, 7, 8, 9});
  CHECK(index_windows(table, {1}, TestRows{{3, 12}}, {2, 2, 1}).size() == 8);
}

TEST_CASE("a window never crosses a split") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
    Table table = rows(1 + up_to(60));
    if (i % 2) {
      table.observed.resize(table.values.size());
      for (uint8_t& observed : table.observed) observed = random() % 8 != 0;
    }
    const int64_t first = up_to(table.rows()), last = first + up_to(table.rows() - first);
    const WindowShape shape{1 + up_to(9), 1 + up_to(9), 1 + up_to(3)};
    const auto train = index_windows(table, {0, 1}, TrainRows{{first, last}}, shape);
    const auto test = index_windows(table, {0, 1}, TestRows{{first, last}}, shape);
    for (const auto& origins : {train, test})
      for (size_t w = 0; w < origins.size(); ++w) {
        REQUIRE(origins[w] + 1 >= first);
        REQUIRE(origins[w] + shape.horizon < last);
        REQUIRE(origins[w] - shape.lookback + 1 >= 0);
        if (w > 0) REQUIRE((origins[w] - origins[w - 1]) % shape.stride == 0);
        for (int64_t row = origins[w] + 1; row <= origins[w] + shape.horizon; ++row)
          REQUIRE((table.is_observed(row, 0) && table.is_observed(row, 1)));
      }
    for (Origin origin : train) REQUIRE(origin - shape.lookback + 1 >= first);
    if (table.observed.empty() && shape.stride == 1) {
      CHECK(static_cast<int64_t>(train.size()) == std::max<int64_t>(0, last - first - shape.lookback - shape.horizon + 1));
    }
  }
}

}  // namespace tutti
