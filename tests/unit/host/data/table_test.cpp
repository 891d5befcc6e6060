#include "host/data/table.h"

#include <catch2/catch.hpp>

namespace tutti {

TEST_CASE("a column is found by its name") {
  Table table;
  table.columns = {"open", "close"};
  CHECK(table.find("close") == 1);
  CHECK(!table.find("Close"));
}

TEST_CASE("the median step is that of the differences, the lower of two middle ones, and at least 1") {
  Table table;
  CHECK(table.median_step() == 1);
  table.time = {7};
  CHECK(table.median_step() == 1);
  table.time = {0, 10, 20, 90};  // 10, 10, 70
  CHECK(table.median_step() == 10);
  table.time = {0, 10, 40};  // 10, 30
  CHECK(table.median_step() == 10);
}

}  // namespace tutti
