// Which steps of a batch [rows, steps] belong together. A segment is a run of steps of one row that is a sequence of
// its own: a whole window, a window after its padding, or one of several sequences packed into a row. Kernels compute
// each segment alone and never read a step outside all segments, so padding and neighbours can't leak.
#pragma once

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

// Positions begin … end-1 of the batch, row * steps + step, all of them inside segments.
struct Run {
  int64_t begin, end;
};

class Segments {
 public:
  // Every row is one sequence.
  static Segments whole(int64_t rows, int64_t steps);

  // The same in the memory of these, so that nothing is allocated.
  void become_whole(int64_t rows, int64_t steps);

  // One segment of others, in the memory of these.
  void become_one_of(const Segments& others, int64_t index);

  // Row b is its last lengths[b] steps, each 1 … steps; before them is padding.
  static Segments left_padded(int64_t steps, const std::vector<int64_t>& lengths);

  // sequence [rows, steps], dense: a new sequence begins where the number changes within a row; a negative number
  // marks padding. A row of nothing but padding has no segment.
  static Segments packed(int64_t rows, int64_t steps, const int32_t* sequence);

  int64_t rows() const { return rows_; }
  int64_t steps() const { return steps_; }
  int64_t count() const { return static_cast<int64_t>(segments_.size()); }
  const Segment& operator[](int64_t index) const { return segments_[static_cast<std::size_t>(index)]; }
  const Segment* begin() const { return segments_.data(); }
  const Segment* end() const { return begin() + count(); }
  int64_t longest() const { return longest_; }

  // Neighbouring segments joined: where each position is computed alone, the whole batch may be one run.
  int64_t run_count() const { return static_cast<int64_t>(runs_.size()); }
  const Run& run(int64_t index) const { return runs_[static_cast<std::size_t>(index)]; }
  int64_t longest_run() const { return longest_run_; }

  // Zeroes the steps that are in no segment; values [rows, steps, width], a step every stride elements.
  template <class T>
  void clear_outside(T* values, int64_t width, int64_t stride) const;
  template <class T>
  void clear_outside(T* values, int64_t width) const {
    clear_outside(values, width, width);
  }

 private:
  Segments(int64_t rows, int64_t steps) : rows_(rows), steps_(steps) {}

  void start(int64_t rows, int64_t steps);
  void add(const Segment& segment);  // in the order of rows, then of steps

  int64_t rows_, steps_;
  std::vector<Segment> segments_;
  std::vector<Run> runs_;
  int64_t longest_ = 0, longest_run_ = 0;
};

}  // namespace tutti::mamba2
