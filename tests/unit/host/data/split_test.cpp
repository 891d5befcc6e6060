#include "host/data/split.h"

#include <catch2/catch.hpp>

#include <random>

#include "host/data/timestamp.h"

namespace tutti {

static Table days(int64_t rows) {
  Table table;
  table.source = "prices.csv";
  table.columns = {"a"};
  table.has_time = true;
  for (int64_t row = 0; row < rows; ++row) table.time.push_back(row * 86400'000'000'000);
  table.values.assign(static_cast<size_t>(rows), 1);
  return table;
}

static Table counted(int64_t rows) {
  Table table = days(rows);
  table.has_time = false;
  return table;
}

static SplitPlan borders(Border train, Border valid, std::optional<Border> test = {}, int64_t purge = 0) {
  SplitPlan plan;
  plan.kind = SplitPlan::Kind::borders;
  plan.train_end = train, plan.valid_end = valid, plan.test_end = test, plan.purge = purge;
  return plan;
}
static Border row(int64_t at) { return {at}; }
static Border date(std::string at) { return {std::move(at)}; }

static SplitPlan shares(double train, double valid, int64_t purge = 0, int64_t folds = 0,
                        Training training = Training::expanding) {
  SplitPlan plan;
  plan.kind = folds ? SplitPlan::Kind::walk_forward : SplitPlan::Kind::ratio;
  plan.train = train, plan.valid = valid, plan.purge = purge, plan.folds = folds, plan.training = training;
  return plan;
}

static std::vector<Split> split(const Table& table, const SplitPlan& plan) {
  auto splits = split_by_time(table, plan);
  INFO((splits ? "" : splits.error().message));
  REQUIRE(splits);
  return *std::move(splits);
}

static void check(const Split& split, RowSpan train, RowSpan valid, RowSpan test) {
  CHECK(static_cast<const RowSpan&>(split.train) == train);
  CHECK(static_cast<const RowSpan&>(split.valid) == valid);
  CHECK(static_cast<const RowSpan&>(split.test) == test);
}

TEST_CASE("borders are rows or times, and the last one may be left out") {
  check(split(counted(17420), borders(row(8640), row(11520), row(14400)))[0], {0, 8640}, {8640, 11520}, {11520, 14400});
  check(split(days(100), borders(date("1970-02-01"), date("1970-03-01T12:00")))[0], {0, 31}, {31, 60}, {60, 100});
  check(split(days(100), borders(row(31), date("1970-03-02"), date("1970-04-01")))[0], {0, 31}, {31, 60}, {60, 90});
}

TEST_CASE("a purge leaves out rows at the end of train and of valid") {
  check(split(days(100), borders(row(50), row(70), row(90), 5))[0], {0, 45}, {50, 65}, {70, 90});
}

TEST_CASE("shares count rows, and the rest is for testing") {
  check(split(days(100), shares(0.7, 0.1))[0], {0, 70}, {70, 80}, {80, 100});
  check(split(days(10), shares(0.6, 0.2, 1))[0], {0, 5}, {6, 7}, {8, 10});
}

TEST_CASE("walking forward with an expanding past trains on all that came before") {
  const auto folds = split(days(100), shares(0.5, 0.1, 2, 4));
  REQUIRE(folds.size() == 4);
  check(folds[0], {0, 48}, {50, 58}, {60, 70});
  check(folds[1], {0, 58}, {60, 68}, {70, 80});
  check(folds[3], {0, 78}, {80, 88}, {90, 100});
}

TEST_CASE("walking forward with a sliding past trains on as many rows in each fold") {
  const auto folds = split(days(100), shares(0.5, 0.1, 2, 4, Training::sliding));
  REQUIRE(folds.size() == 4);
  check(folds[0], {0, 48}, {50, 58}, {60, 70});
  check(folds[3], {30, 78}, {80, 88}, {90, 100});
}

TEST_CASE("whatever the plan: spans rise, the purge lies between them, and each test row is tested once") {
  std::mt19937_64 random(3);
  int granted = 0;
  for (int i = 0; i < 3000; ++i) {
    const Table table = days(1 + static_cast<int64_t>(random() % 300));
    const int64_t purge = static_cast<int64_t>(random() % 12), folds = static_cast<int64_t>(random() % 7);
    const SplitPlan plan = shares(static_cast<double>(random() % 100) / 100, static_cast<double>(random() % 60) / 100, purge,
                                  folds, random() % 2 ? Training::sliding : Training::expanding);
    const auto splits = split_by_time(table, plan);
    if (!splits) {
      CHECK(splits.error().message.starts_with("[split] "));
      continue;
    }
    ++granted;
    REQUIRE(splits->size() == static_cast<size_t>(std::max<int64_t>(folds, 1)));
    for (size_t fold = 0; fold < splits->size(); ++fold) {
      const auto& [train, valid, test] = (*splits)[fold];
      REQUIRE((train.first >= 0 && train.size() > 0 && valid.size() > 0 && test.size() > 0));
      REQUIRE(train.last + purge == valid.first);
      REQUIRE(valid.last + purge == test.first);
      REQUIRE((fold + 1 == splits->size() ? table.rows() : (*splits)[fold + 1].test.first) == test.last);
    }
  }
  CHECK(granted > 500);
}

TEST_CASE("each plan that can't be kept is refused with a sentence that names the key and the numbers") {
  struct Bad {
    Table table;
    SplitPlan plan;
    std::string sentence;
  };
  const std::vector<Bad> all = {
      {days(100), borders(row(50), row(50)), "[split] borders must rise, but valid = 50 is row 50 and train = 50 is row 50"},
      {days(100), borders(row(60), date("1970-02-01")),
       "[split] borders must rise, but valid = \"1970-02-01\" is row 31 and train = 60 is row 60"},
      {days(100), borders(row(60), row(100)),
       "[split] borders must rise, but the end of prices.csv is row 100 and valid = 100 is row 100"},
      {days(100), borders(row(50), row(60), row(101)), "[split] test = 101 lies outside prices.csv, which has 100 rows"},
      {days(100), borders(row(0), row(60)), "[split] train = 0, valid = 60 leaves no row to train on: its span is empty"},
      {days(100), borders(row(50), row(60), {}, 10),
       "[split] train = 50, valid = 60 leaves no row to validate on: 10 rows less a purge of 10"},
      {days(100), borders(row(5), row(60), {}, 10),
       "[split] train = 5, valid = 60 leaves no row to train on: 5 rows less a purge of 10"},
      {days(100), borders(row(50), date("1999-01-01")),
       "[split] valid = \"1999-01-01\" lies outside prices.csv, which runs from 1970-01-01 to 1970-04-10"},
      {days(100), borders(date("1969-01-01"), row(50)),
       "[split] train = \"1969-01-01\" lies outside prices.csv, which runs from 1970-01-01 to 1970-04-10"},
      {days(100), borders(date("soon"), row(50)),
       "[split] train = \"soon\" is no date or time; write it like 2024-02-29 or 2024-02-29T09:30:00Z"},
      {counted(100), borders(date("1970-02-01"), row(50)),
       "[split] train = \"1970-02-01\" is a date, but prices.csv is read without a time column; name it in [data] time, or give "
       "a row number"},
      {days(100), shares(0.8, 0.2),
       "[split] train = 0.8 and valid = 0.2 must be above 0 and their sum below 1, so that a rest is left to test on"},
      {days(100), shares(0.8, 0),
       "[split] train = 0.8 and valid = 0.0 must be above 0 and their sum below 1, so that a rest is left to test on"},
      {days(3), shares(0.7, 0.2), "[split] train = 0.7 and valid = 0.2 leave 0 rows of 3 to test on; at least 1 is needed"},
      {days(30), shares(0.7, 0.2, 0, 4),
       "[split] train = 0.7 and valid = 0.2 leave 3 rows of 30 to test on; folds = 4 needs one for each fold"},
      {days(100), shares(0.7, 0.1, 12),
       "[split] of 100 rows by train = 0.7 and valid = 0.1 leaves no row to validate on: 10 rows less a purge of 12"},
      {days(100), shares(0.7, 0.1, -1), "[split] purge = -1 must be 0 or more"},
  };
  for (const Bad& bad : all) {
    const auto splits = split_by_time(bad.table, bad.plan);
    CHECK((splits ? "(accepted)" : splits.error().message) == bad.sentence);
  }
}

}  // namespace tutti
