#include "plugins/mamba2/segments.h"

#include <algorithm>
#include <cassert>

namespace tutti::mamba2 {

Segments Segments::whole(int64_t rows, int64_t steps) {
  Segments result(rows, steps);
  if (steps > 0)
    for (int64_t row = 0; row < rows; ++row) result.add({row, 0, steps, true, true});
  return result;
}

Segments Segments::left_padded(int64_t steps, const std::vector<int64_t>& lengths) {
  Segments result(static_cast<int64_t>(lengths.size()), steps);
  for (int64_t row = 0; row < result.rows_; ++row) {
    const int64_t length = lengths[static_cast<size_t>(row)];
    assert(length >= 1 && length <= steps);
    result.add({row, steps - length, steps, true, true});
  }
  return result;
}

Segments Segments::packed(int64_t rows, int64_t steps, const int32_t* sequence) {
  Segments result(rows, steps);
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t* number = sequence + row * steps;
    int64_t last = steps;  // the end of the row's last sequence
    while (last > 0 && number[last - 1] < 0) --last;
    bool is_first = true;
    for (int64_t begin = 0, end; begin < last; begin = end) {
      for (end = begin + 1; end < steps && number[end] == number[begin];) ++end;
      if (number[begin] < 0) continue;
      result.add({row, begin, end, is_first, end == last});
      is_first = false;
    }
  }
  return result;
}

void Segments::add(const Segment& segment) {
  if (count_ < static_cast<int64_t>(few_.size())) {
    few_[static_cast<size_t>(count_++)] = segment;
    return;
  }
  if (many_.empty()) many_.assign(few_.begin(), few_.end());
  many_.push_back(segment);
  ++count_;
}

int64_t Segments::longest() const {
  int64_t length = 0;
  for (const Segment& segment : *this) length = std::max(length, segment.length());
  return length;
}

template <class T>
void Segments::clear_outside(T* values, int64_t width) const {
  int64_t clean = 0;  // steps of the whole batch before here are in a segment or zeroed
  for (const Segment& segment : *this) {
    std::fill(values + clean * width, values + (segment.row * steps_ + segment.begin) * width, T(0));
    clean = segment.row * steps_ + segment.end;
  }
  std::fill(values + clean * width, values + rows_ * steps_ * width, T(0));
}

template void Segments::clear_outside(float*, int64_t) const;
template void Segments::clear_outside(double*, int64_t) const;

}  // namespace tutti::mamba2
