#include "plugins/mamba2/segments.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tutti::mamba2;

namespace {

using Fields = std::vector<int64_t>;  // row, begin, end, is_first, is_last

std::vector<Fields> fields_of(const Segments& segments) {
  std::vector<Fields> all;
  for (const Segment& s : segments) all.push_back({s.row, s.begin, s.end, s.is_first, s.is_last});
  return all;
}

}  // namespace

TEST_CASE("whole rows are a segment each, few and many, and none without steps") {
  CHECK(fields_of(Segments::whole(2, 5)) == std::vector<Fields>{{0, 0, 5, 1, 1}, {1, 0, 5, 1, 1}});
  CHECK(Segments::whole(0, 5).count() == 0);
  CHECK(Segments::whole(3, 0).count() == 0);
  for (int64_t rows : {1, 7, 8, 9, 100}) {
    Segments segments = Segments::whole(rows, 3);
    const Segments copy = segments;
    segments = Segments::whole(1, 1);
    REQUIRE(copy.count() == rows);
    for (int64_t row = 0; row < rows; ++row) CHECK(copy[row].row == row);
    CHECK(copy.longest() == 3);
  }
}

TEST_CASE("left padding lies before a row's steps") {
  CHECK(fields_of(Segments::left_padded(4, {4, 1})) == std::vector<Fields>{{0, 0, 4, 1, 1}, {1, 3, 4, 1, 1}});
}

TEST_CASE("packed sequences begin where the number changes, and negative numbers are padding anywhere") {
  const std::vector<int32_t> sequence{-1, 7, 7, 3, -1, 5, 5, 5, -1, -1, -1, -1, -2, -1, -1, 2, 2, 2, 2, 2};
  CHECK(fields_of(Segments::packed(4, 5, sequence.data())) ==
        std::vector<Fields>{{0, 1, 3, 1, 0}, {0, 3, 4, 0, 1}, {1, 0, 3, 1, 1}, {3, 0, 5, 1, 1}});
}

TEST_CASE("what lies in no segment is cleared and the rest kept") {
  const std::vector<int32_t> sequence{-1, 1, -1, -1, -1, -1, 2, 3, -1};
  std::vector<float> values(18, 1.0f);
  Segments::packed(3, 3, sequence.data()).clear_outside(values.data(), 2);
  CHECK(values == std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0});
}
