#include "host/data/split.h"

#include <algorithm>
#include <cmath>

#include "host/data/timestamp.h"

namespace tutti {
namespace {

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}

std::string rows_text(int64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

std::string border_text(const Border& border) {
  const auto* row = std::get_if<int64_t>(&border.at);
  return row ? std::to_string(*row) : '"' + std::get<std::string>(border.at) + '"';
}

// key: of the experiment file, for messages.
Result<int64_t> row_of(const Table& table, const Border& border, const char* key) {
  const std::string wish = std::string("[split] ") + key + " = " + border_text(border);
  if (const auto* row = std::get_if<int64_t>(&border.at)) {
    if (*row < 0 || *row > table.rows())
      return bad_input(wish + " lies outside " + table.source + ", which has " + rows_text(table.rows()));
    return *row;
  }
  if (!table.has_time)
    return bad_input(wish + " is a date, but " + table.source +
                     " is read without a time column; name it in [data] time, or give a row number");
  const auto time = parse_timestamp(std::get<std::string>(border.at));
  if (!time) return bad_input(wish + " is no date or time; write it like 2024-02-29 or 2024-02-29T09:30:00Z");
  if (table.rows() == 0 || *time <= table.time.front() || *time > table.time.back())
    return bad_input(wish + " lies outside " + table.source +
                     (table.rows() == 0 ? ", which has no rows"
                                        : ", which runs from " + format_timestamp(table.time.front()) + " to " +
                                              format_timestamp(table.time.back())));
  return std::lower_bound(table.time.begin(), table.time.end(), *time) - table.time.begin();
}

// The spans between four rising borders, less what is purged. part: what they are part of, for messages.
Result<Split> spans(int64_t first, int64_t train_end, int64_t valid_end, int64_t test_end, int64_t purge,
                    const std::string& part) {
  const int64_t train = train_end - first, valid = valid_end - train_end, test = test_end - valid_end;
  const auto too_few = [&](const char* span, int64_t rows) {
    return bad_input("[split] " + part + "leaves no row to " + span +
                     " on: " + (rows <= 0 ? "its span is empty" : rows_text(rows) + " less a purge of " + std::to_string(purge)));
  };
  if (train - purge < 1) return too_few("train", train);
  if (valid - purge < 1) return too_few("validate", valid);
  if (test < 1) return too_few("test", test);
  return Split{{{first, train_end - purge}}, {{train_end, valid_end - purge}}, {{valid_end, test_end}}};
}

Result<std::vector<Split>> split_at_borders(const Table& table, const SplitPlan& plan) {
  TUTTI_TRY(const int64_t train_end, row_of(table, plan.train_end, "train"));
  TUTTI_TRY(const int64_t valid_end, row_of(table, plan.valid_end, "valid"));
  int64_t test_end = table.rows();
  if (plan.test_end) {
    TUTTI_TRY(test_end, row_of(table, *plan.test_end, "test"));
  }
  const auto falls = [](const std::string& before, int64_t row_before, const std::string& after, int64_t row_after) {
    return bad_input("[split] borders must rise, but " + after + " is row " + std::to_string(row_after) + " and " + before +
                     " is row " + std::to_string(row_before));
  };
  const std::string train = "train = " + border_text(plan.train_end), valid = "valid = " + border_text(plan.valid_end);
  const std::string test = plan.test_end ? "test = " + border_text(*plan.test_end) : "the end of " + table.source;
  if (valid_end <= train_end) return falls(train, train_end, valid, valid_end);
  if (test_end <= valid_end) return falls(valid, valid_end, test, test_end);
  TUTTI_TRY(const Split split, spans(0, train_end, valid_end, test_end, plan.purge, train + ", " + valid + " "));
  return std::vector{split};
}

Result<std::vector<Split>> split_by_shares(const Table& table, const SplitPlan& plan, int64_t folds) {
  const std::string shares = "train = " + number(plan.train) + " and valid = " + number(plan.valid);
  if (!(plan.train > 0 && plan.valid > 0 && plan.train + plan.valid < 1))
    return bad_input("[split] " + shares + " must be above 0 and their sum below 1, so that a rest is left to test on");
  if (folds < 1) return bad_input("[split] folds = " + std::to_string(folds) + " must be at least 1");

  const double rows = static_cast<double>(table.rows());
  const int64_t train = std::llround(plan.train * rows), valid = std::llround(plan.valid * rows);
  const int64_t test_begin = train + valid, test = table.rows() - test_begin;
  if (test < folds)
    return bad_input("[split] " + shares + " leave " + rows_text(std::max<int64_t>(test, 0)) + " of " +
                     std::to_string(table.rows()) + " to test on; " +
                     (folds == 1 ? "at least 1 is needed" : "folds = " + std::to_string(folds) + " needs one for each fold"));

  std::vector<Split> splits;
  for (int64_t fold = 0; fold < folds; ++fold) {
    const int64_t begin = test_begin + test * fold / folds, end = test_begin + test * (fold + 1) / folds;
    const int64_t first = plan.training == Training::sliding ? begin - valid - train : 0;
    const std::string part =
        "of " + rows_text(table.rows()) + " by " + shares + (folds == 1 ? " " : " in fold " + std::to_string(fold) + " ");
    TUTTI_TRY(const Split split, spans(first, begin - valid, begin, end, plan.purge, part));
    splits.push_back(split);
  }
  return splits;
}

}  // namespace

Result<std::vector<Split>> split_by_time(const Table& table, const SplitPlan& plan) {
  if (plan.purge < 0) return bad_input("[split] purge = " + std::to_string(plan.purge) + " must be 0 or more");
  switch (plan.kind) {
    case SplitPlan::Kind::borders:
      return split_at_borders(table, plan);
    case SplitPlan::Kind::ratio:
      return split_by_shares(table, plan, 1);
    case SplitPlan::Kind::walk_forward:
      return split_by_shares(table, plan, plan.folds);
  }
  return failed("[split] kind is none that is known");
}

}  // namespace tutti
