// Divides a table along time into rows to train on, to validate on and to test on. The three are different types, so
// that what may see training rows only (the scaler) can't be given others. A window belongs to the span that holds all
// of its target rows; its past may reach back over the border, as it would in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/data/table.h"
#include "shared/result.h"

namespace tutti {

// Rows first … last-1.
struct RowSpan {
  int64_t first = 0, last = 0;
  int64_t size() const { return last - first; }
  friend bool operator==(const RowSpan&, const RowSpan&) = default;
};
struct TrainRows : RowSpan {};
struct ValidRows : RowSpan {};
struct TestRows : RowSpan {};

struct Split {
  TrainRows train;
  ValidRows valid;
  TestRows test;
};

// A border between spans: a row number, or a time (the first row at or after it).
struct Border {
  std::variant<int64_t, std::string> at;
};

enum class Training { expanding, sliding };

struct SplitPlan {
  enum class Kind { borders, ratio, walk_forward } kind = Kind::ratio;

  // borders: train is [0, train_end), valid [train_end, valid_end), test [valid_end, test_end or the last row)
  Border train_end, valid_end;
  std::optional<Border> test_end;

  // ratio, walk_forward: shares of all rows. The rest is for testing; walk_forward cuts it into folds equal parts, and
  // trains for each on what comes before it: on all of it (expanding), or on the last train share of it (sliding).
  double train = 0.7, valid = 0.1;
  int64_t folds = 1;
  Training training = Training::expanding;

  // Rows left out at the end of train and of valid, so that no target touches the next span's targets.
  int64_t purge = 0;
};

// One Split for each fold, oldest first; at least one. Errors where a span is empty or borders don't rise; their sentences
// name the experiment file's keys. A date that lies outside the table is an error too, since it would leave a span empty.
Result<std::vector<Split>> split_by_time(const Table& table, const SplitPlan& plan);

}  // namespace tutti
