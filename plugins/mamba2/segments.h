// Which steps of a batch [rows, steps] belong together. A segment is a run of steps of one row that is a sequence of
// its own: a whole window, a window after its padding, or one of several sequences packed into a row. Kernels compute
// each segment alone and never read a step outside all segments, so padding and neighbours can't leak.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::mamba2 {

struct Segment {
  int64_t row;
  int64_t begin, end;      // steps begin … end-1
  bool is_first, is_last;  // in its row: the first starts from the row's initial state, the last gives its final state

  int64_t length() const { return end - begin; }
};

class Segments {
 public:
  // Every row is one sequence.
  static Segments whole(int64_t rows, int64_t steps);

  // Row b is its last lengths[b] steps, each 1 … steps; before them is padding.
  static Segments left_padded(int64_t steps, const std::vector<int64_t>& lengths);

  // sequence [rows, steps], dense: a new sequence begins where the number changes within a row; a negative number
  // marks padding. A row of nothing but padding has no segment.
  static Segments packed(int64_t rows, int64_t steps, const int32_t* sequence);

  int64_t rows() const { return rows_; }
  int64_t steps() const { return steps_; }
  int64_t count() const { return count_; }
  const Segment& operator[](int64_t index) const { return begin()[index]; }
  const Segment* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const Segment* end() const { return begin() + count_; }
  int64_t longest() const;

  // Zeroes the steps that are in no segment; values [rows, steps, width], dense.
  template <class T>
  void clear_outside(T* values, int64_t width) const;

 private:
  Segments(int64_t rows, int64_t steps) : rows_(rows), steps_(steps), few_{} {}

  void add(const Segment& segment);

  int64_t rows_, steps_, count_ = 0;
  // By row, then by step: all in few_ or all in many_. Few segments allocate nothing, so that a step of a stream doesn't.
  std::array<Segment, 8> few_;
  std::vector<Segment> many_;
};

}  // namespace tutti::mamba2
