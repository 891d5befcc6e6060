#include "host/data/table.h"

#include <algorithm>

namespace tutti {

std::optional<int64_t> Table::find(const std::string& column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return std::nullopt;
  return found - columns.begin();
}

int64_t Table::median_step() const {
  if (rows() < 2) return 1;
  std::vector<int64_t> steps(time.size() - 1);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = time[i + 1] - time[i];
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return std::max<int64_t>(*middle, 1);
}

}  // namespace tutti
