#include "host/data/window.h"

#include <algorithm>
#include <cassert>

namespace tutti {
namespace {

// [rows + 1]: how many of the rows before hold a target that was not observed.
std::vector<int64_t> count_unobserved(const Table& table, const std::vector<int64_t>& targets) {
  std::vector<int64_t> before(static_cast<size_t>(table.rows()) + 1, 0);
  for (int64_t row = 0; row < table.rows(); ++row) {
    const bool whole =
        std::all_of(targets.begin(), targets.end(), [&](int64_t column) { return table.is_observed(row, column); });
    before[static_cast<size_t>(row) + 1] = before[static_cast<size_t>(row)] + !whole;
  }
  return before;
}

// past_first: the first row that a past may hold.
std::vector<Origin> index(const Table& table, const std::vector<int64_t>& targets, const RowSpan& rows, int64_t past_first,
                          const WindowShape& shape) {
  assert(shape.lookback >= 1 && shape.horizon >= 1 && shape.stride >= 1);
  assert(rows.first >= 0 && rows.last <= table.rows());
  const std::vector<int64_t> unobserved =
      table.observed.empty() ? std::vector<int64_t>(static_cast<size_t>(table.rows()) + 1, 0) : count_unobserved(table, targets);

  std::vector<Origin> origins;
  for (Origin origin = std::max(rows.first - 1, past_first + shape.lookback - 1); origin + shape.horizon < rows.last;
       origin += shape.stride)
    if (unobserved[static_cast<size_t>(origin + 1)] == unobserved[static_cast<size_t>(origin + shape.horizon + 1)])
      origins.push_back(origin);
  return origins;
}

}  // namespace

std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const TrainRows& rows,
                                  const WindowShape& shape) {
  return index(table, targets, rows, rows.first, shape);
}
std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const ValidRows& rows,
                                  const WindowShape& shape) {
  return index(table, targets, rows, 0, shape);
}
std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const TestRows& rows,
                                  const WindowShape& shape) {
  return index(table, targets, rows, 0, shape);
}

}  // namespace tutti
