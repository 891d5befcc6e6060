#include "plugins/mamba2/segments.h"

#include <algorithm>
#include <cassert>

namespace tutti::mamba2 {

Segments Segments::whole(int64_t rows, int64_t steps) {
  Segments result(0, 0);
  result.become_whole(rows, steps);
  return result;
}

void Segments::start(int64_t rows, int64_t steps) {
  rows_ = rows, steps_ = steps, longest_ = longest_run_ = 0;
  segments_.clear(), runs_.clear();
}

void Segments::become_one_of(const Segments& others, int64_t index) {
  start(others.rows_, others.steps_);
  add(others[index]);
}

void Segments::become_whole(int64_t rows, int64_t steps) {
  start(rows, steps);
  if (steps > 0)
    for (int64_t row = 0; row < rows; ++row) add({row, 0, steps, true, true});
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
  const int64_t begin = segment.row * steps_ + segment.begin, end = begin + segment.length();
  if (!runs_.empty() && runs_.back().end == begin)
    runs_.back().end = end;
  else
    runs_.push_back({begin, end});
  segments_.push_back(segment);
  longest_ = std::max(longest_, segment.length());
  longest_run_ = std::max(longest_run_, runs_.back().end - runs_.back().begin);
}

template <class T>
void Segments::clear_outside(T* values, int64_t width, int64_t stride) const {
  int64_t clean = 0;  // positions before here are in a segment or zeroed
  const auto clear_to = [&](int64_t end) {
    if (stride == width && clean < end) std::fill(values + clean * width, values + end * width, T(0));
    for (; stride != width && clean < end; ++clean) std::fill_n(values + clean * stride, width, T(0));
  };
  for (const Run& run : runs_) {
    clear_to(run.begin);
    clean = run.end;
  }
  clear_to(rows_ * steps_);
}

template void Segments::clear_outside(float*, int64_t, int64_t) const;
template void Segments::clear_outside(double*, int64_t, int64_t) const;

}  // namespace tutti::mamba2
