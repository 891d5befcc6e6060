// Index of the windows that can be cut from a table. Holds row numbers, copies no data.
#pragma once

#include <cstdint>
#include <vector>

#include "host/data/split.h"
#include "host/data/table.h"

namespace tutti {

struct WindowShape {
  int64_t lookback = 1;  // rows a model sees: origin-lookback+1 … origin
  int64_t horizon = 1;   // rows it predicts: origin+1 … origin+horizon
  int64_t stride = 1;    // rows between two origins
};

// The last past row of a window.
using Origin = int64_t;

// Origins, oldest first, of the windows whose targets lie wholly in the span; empty where rows are too few. Training
// windows have their past inside the span too; the others may reach back before it. A window with a target that was not
// observed is left out.
std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const TrainRows& rows,
                                  const WindowShape& shape);
std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const ValidRows& rows,
                                  const WindowShape& shape);
std::vector<Origin> index_windows(const Table& table, const std::vector<int64_t>& targets, const TestRows& rows,
                                  const WindowShape& shape);

}  // namespace tutti
