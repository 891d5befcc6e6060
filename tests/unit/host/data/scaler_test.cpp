#include "host/data/scaler.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace tutti {

static Table column(std::vector<double> values) {
  Table table;
  table.columns = {"a"};
  for (size_t row = 0; row < values.size(); ++row) table.time.push_back(static_cast<int64_t>(row));
  table.values = std::move(values);
  return table;
}

static Scaler fit(const Table& table, Scaling scaling) { return fit_scaler(table, TrainRows{{0, table.rows()}}, scaling); }

TEST_CASE("each scaling has its centre and its scale") {
  const Table table = column({8, 2, 4, 6});
  CHECK(fit(table, Scaling::none).centre[0] == 0);
  CHECK(fit(table, Scaling::none).scale[0] == 1);
  CHECK(fit(table, Scaling::standard).centre[0] == 5);
  CHECK(fit(table, Scaling::standard).scale[0] == std::sqrt(5.0));  // (9 + 9 + 1 + 1) / 4
  CHECK(fit(table, Scaling::robust).centre[0] == 5);
  CHECK(fit(table, Scaling::robust).scale[0] == 3);  // 6.5 - 3.5
  CHECK(fit(table, Scaling::min_max).centre[0] == 2);
  CHECK(fit(table, Scaling::min_max).scale[0] == 6);
}

TEST_CASE("only training rows count") {
  Table table = column({1, 3, 100, -7});
  const Scaler before = fit_scaler(table, TrainRows{{0, 2}}, Scaling::standard);
  CHECK(before.centre[0] == 2);
  CHECK(before.scale[0] == 1);
  table.values[2] = 1e9, table.values[3] = -1e9;
  const Scaler after = fit_scaler(table, TrainRows{{0, 2}}, Scaling::standard);
  CHECK(after.centre == before.centre);
  CHECK(after.scale == before.scale);
}

TEST_CASE("values that were filled in don't count") {
  Table table = column({1, 3, 3, 3});
  table.observed = {1, 1, 0, 0};
  CHECK(fit(table, Scaling::standard).centre[0] == 2);
  table.observed = {0, 0, 0, 0};
  CHECK(fit(table, Scaling::standard).scale[0] == 1);
}

TEST_CASE("a column without movement has scale 1, whatever rounding makes of its mean") {
  for (Scaling scaling : {Scaling::none, Scaling::standard, Scaling::robust, Scaling::min_max})
    CHECK(fit(column({0.1, 0.1, 0.1, 0.1, 0.1, 0.1}), scaling).scale[0] == 1);
  CHECK(fit(column({5, 5, 5, 5, 5, 9}), Scaling::robust).scale[0] == 1);  // quartiles are equal
}

TEST_CASE("a scaled value comes back") {
  const Scaler scaler = fit(column({8, 2, 4, 6.5}), Scaling::standard);
  for (double x : {-3.0, 0.0, 1.7, 1e6}) CHECK(scaler.invert(scaler.apply(x, 0), 0) == Approx(x).epsilon(1e-14).margin(1e-14));
}

}  // namespace tutti
