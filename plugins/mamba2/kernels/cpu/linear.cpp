// Linear layers as tasks of some rows by some columns. A task brings its part of the right operand into the order in which
// tiles read it, block by block of k, and multiplies from there; no operand is copied whole.
#include <algorithm>
#include <utility>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/matmul.h"
#include "plugins/mamba2/kernels/cpu/tasks.h"

namespace tutti::mamba2::TUTTI_KERNELS {
namespace {

constexpr int64_t kSteps = 256;  // of k at once: a panel of the right operand fits the first cache, 32 KiB
constexpr int64_t kPanels = 8;   // of the right operand in a task
constexpr int64_t kRows = 240;   // of an activation in a task
constexpr int64_t kOutputs = 192;  // rows of a weight's gradient in a task
static_assert(kOutputs <= kRows && kRows % kTileRows == 0 && kOutputs % kTileRows == 0);

template <class T>
constexpr int64_t kColumns = kPanels * kTileColumns<T>;

// The right operand: element (k,j) is data[k * step + j * column]; one of the two is 1.
template <class T>
struct Right {
  const T* data;
  int64_t step, column;
};

// Panels of kTileColumns columns, each [steps, kTileColumns]; of the last, columns may be missing.
template <class T>
void pack_right(int64_t steps, int64_t columns, Right<T> b, T* panels) {
  constexpr int64_t W = kTileColumns<T>;
  for (int64_t j = 0; j < columns; j += W, panels += steps * W) {
    const int64_t width = std::min(W, columns - j);
    const T* from = b.data + j * b.column;
    if (b.column != 1)
      transpose(width, steps, from, b.column, panels, W);
    else if (width == W)  // as a constant
      for (int64_t k = 0; k < steps; ++k) std::copy_n(from + k * b.step, W, panels + k * W);
    else
      for (int64_t k = 0; k < steps; ++k) std::copy_n(from + k * b.step, width, panels + k * W);
  }
}

// The left operand with rows one after the other: at a distance that is a power of two they would push each other out of
// the cache.
template <class T>
Left<T> pack_left(int64_t rows, int64_t steps, Left<T> a, T* packed) {
  if (a.step == 1)
    for (int64_t i = 0; i < rows; ++i) std::copy_n(a.data + i * a.row, steps, packed + i * steps);
  else
    transpose(steps, rows, a.data, a.step, packed, steps);
  return {packed, steps, 1};
}

// c = start + a b for a task's rows and columns; memory [task_memory].
template <class T>
void multiply_blocks(int64_t rows, int64_t columns, int64_t steps, Left<T> a, Right<T> b, Rows<const T> start, Rows<T> c, T* memory) {
  constexpr int64_t W = kTileColumns<T>;
  T* const left = memory + kSteps * kColumns<T>;
  for (int64_t k = 0; k < steps; k += kSteps) {
    const int64_t count = std::min(kSteps, steps - k);
    pack_right<T>(count, columns, {b.data + k * b.step, b.step, b.column}, memory);
    Left<T> block{a.data + k * a.step, a.row, a.step};
    if (rows > kTileRows) block = pack_left<T>(rows, count, block, left);
    for (int64_t j = 0; j < columns; j += W)
      for (int64_t i = 0; i < rows; i += kTileRows) {
        const Left<T> tile{block.data + i * block.row, block.row, block.step};
        const Rows<T> to{c.data + i * c.row + j, c.row};
        Rows<const T> begin{to.data, to.row};
        if (k == 0) begin = {start.data ? start.data + i * start.row + j : nullptr, start.row};
        multiply_tile<T>(std::min(kTileRows, rows - i), std::min(W, columns - j), count, tile, {memory + j * count, W}, begin, to);
      }
  }
}

// Rows that are multiplied by a weight as it is read, transposed in registers, without a packed copy.
constexpr int64_t kFewRows = 8;

// y = start + x w^T for one vector of outputs, with w [lanes, steps] in rows of steps numbers, of which count exist.
template <int kRows, class T>
void multiply_few(int64_t steps, Left<T> x, const T* w, int64_t count, const T* start, Rows<T> y) {
  using V = Vector<T>;
  constexpr int kLanes = V::kLanes;
  constexpr int64_t kAheadOfRow = 8 * kLanes;
  V sum[kRows];
  unroll<kRows>([&](auto i) __attribute__((always_inline)) { sum[i] = start ? V::load_first(start, count) : V::zero(); });
  int64_t k = 0;
  for (; k + kLanes <= steps; k += kLanes) {
    V block[kLanes];
    unroll<kLanes>([&](auto l) __attribute__((always_inline)) {
      const T* row = w + std::min<int64_t>(l, count - 1) * steps + k;
      block[l] = V::load(row);
      __builtin_prefetch(row + kAheadOfRow);
    });
    transpose<T>(block);
    unroll<kLanes>([&](auto l) __attribute__((always_inline)) {
      unroll<kRows>([&](auto i) __attribute__((always_inline)) {
        sum[i] = V::fma(V::broadcast(x.data[i * x.row + k + l]), block[l], sum[i]);
      });
    });
  }
  for (; k < steps; ++k) {
    T column[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) column[l] = w[std::min(l, count - 1) * steps + k];
    unroll<kRows>([&](auto i) __attribute__((always_inline)) {
      sum[i] = V::fma(V::broadcast(x.data[i * x.row + k]), V::load(column), sum[i]);
    });
  }
  unroll<kRows>([&](auto i) __attribute__((always_inline)) { sum[i].store_first(y.data + i * y.row, count); });
}

// The same for all outputs from first to last.
template <class T>
void multiply_few(int64_t rows, int64_t first, int64_t last, const Linear<T>& a, Left<T> x, Rows<T> y) {
  static_assert(kFewRows == 8);
  for (int64_t o = first; o < last; o += Vector<T>::kLanes) {
    const int64_t count = std::min(Vector<T>::kLanes, last - o);
    const T *w = a.weight + o * a.inputs, *start = a.bias ? a.bias + o : nullptr;
    for (int64_t i = 0; i < rows;) {
      const Left<T> in{x.data + i * x.row, x.row, 1};
      const Rows<T> out{y.data + i * y.row + o, y.row};
      if (rows - i >= 8)
        multiply_few<8>(a.inputs, in, w, count, start, out), i += 8;
      else if (rows - i >= 4)
        multiply_few<4>(a.inputs, in, w, count, start, out), i += 4;
      else if (rows - i >= 2)
        multiply_few<2>(a.inputs, in, w, count, start, out), i += 2;
      else
        multiply_few<1>(a.inputs, in, w, count, start, out), i += 1;
    }
  }
}

template <class T>
constexpr int64_t kTaskMemory = kSteps * (kColumns<T> + kRows);

// Calls body(first, last, column, columns, memory) for blocks of the positions inside segments and of columns.
template <class T, class Body>
void for_each_block(Executor& executor, const Segments& segments, int64_t columns, Scratch<T>& scratch, Body body) {
  // a task of few rows, as in a stream, is done when its part of the weight has been read once
  const int64_t width = segments.longest_run() <= kTileRows ? kTileColumns<T> : kColumns<T>;
  const int64_t across = (columns + width - 1) / width, down = (segments.longest_run() + kRows - 1) / kRows;
  const int64_t tasks = segments.run_count() * down * across;
  T* memory = scratch.reserve(count_workers(executor, tasks) * kTaskMemory<T>);
  for_each_task(executor, tasks, [&](int64_t task, int64_t worker) {
    const Run& run = segments.run(task / across / down);
    const int64_t first = run.begin + task / across % down * kRows, column = task % across * width;
    if (first < run.end)
      body(first, std::min(first + kRows, run.end), column, std::min(width, columns - column), memory + worker * kTaskMemory<T>);
  });
}

}  // namespace

template <class T>
void linear_forward(Executor& executor, const Segments& segments, const Linear<T>& a, const T* x, int64_t x_stride, T* y,
                    int64_t y_stride, Scratch<T>& scratch) {
  for_each_block<T>(executor, segments, a.outputs, scratch,
                    [&](int64_t first, int64_t last, int64_t column, int64_t columns, T* memory) {
                      if (last - first <= kFewRows)
                        return multiply_few<T>(last - first, column, column + columns, a, {x + first * x_stride, x_stride, 1},
                                               {y + first * y_stride, y_stride});
                      multiply_blocks<T>(last - first, columns, a.inputs, {x + first * x_stride, x_stride, 1},
                                         {a.weight + column * a.inputs, 1, a.inputs}, {a.bias ? a.bias + column : nullptr, 0},
                                         {y + first * y_stride + column, y_stride}, memory);
                    });
}

template <class T>
void linear_backward_input(Executor& executor, const Segments& segments, const Linear<T>& a, const T* d_y, int64_t y_stride,
                           T* d_x, int64_t x_stride, Scratch<T>& scratch) {
  for_each_block<T>(executor, segments, a.inputs, scratch,
                    [&](int64_t first, int64_t last, int64_t column, int64_t columns, T* memory) {
                      multiply_blocks<T>(last - first, columns, a.outputs, {d_y + first * y_stride, y_stride, 1},
                                         {a.weight + column, a.inputs, 1}, {nullptr, 0},
                                         {d_x + first * x_stride + column, x_stride}, memory);
                    });
}

template <class T>
void linear_backward_weight(Executor& executor, const Segments& segments, const Linear<T>& a, const T* x, int64_t x_stride,
                            const T* d_y, int64_t y_stride, T* d_weight, T* d_bias, Scratch<T>& scratch) {
  const int64_t down = (a.outputs + kOutputs - 1) / kOutputs, across = (a.inputs + kColumns<T> - 1) / kColumns<T>;
  T* memory = scratch.reserve(count_workers(executor, down * across) * kTaskMemory<T>);
  for_each_task(executor, down * across, [&](int64_t task, int64_t worker) {
    const int64_t output = task / across * kOutputs, outputs = std::min(kOutputs, a.outputs - output);
    const int64_t input = task % across * kColumns<T>, inputs = std::min(kColumns<T>, a.inputs - input);
    const Rows<T> to{d_weight + output * a.inputs + input, a.inputs};
    for (int64_t r = 0; r < segments.run_count(); ++r) {
      const Run& run = segments.run(r);
      multiply_blocks<T>(outputs, inputs, run.end - run.begin, {d_y + run.begin * y_stride + output, 1, y_stride},
                         {x + run.begin * x_stride + input, x_stride, 1}, {to.data, to.row}, to, memory + worker * kTaskMemory<T>);
    }
    if (!d_bias || input > 0) return;
    for (int64_t r = 0; r < segments.run_count(); ++r)
      for (int64_t at = segments.run(r).begin; at < segments.run(r).end; ++at)
        for (int64_t i = output; i < output + outputs; ++i) d_bias[i] += d_y[at * y_stride + i];
  });
}

#define TUTTI_INSTANTIATE(T)                                                                                             \
  template void linear_forward(Executor&, const Segments&, const Linear<T>&, const T*, int64_t, T*, int64_t, Scratch<T>&); \
  template void linear_backward_input(Executor&, const Segments&, const Linear<T>&, const T*, int64_t, T*, int64_t,        \
                                      Scratch<T>&);                                                                      \
  template void linear_backward_weight(Executor&, const Segments&, const Linear<T>&, const T*, int64_t, const T*, int64_t, T*, \
                                       T*, Scratch<T>&)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::TUTTI_KERNELS
