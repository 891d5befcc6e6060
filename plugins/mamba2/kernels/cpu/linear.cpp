// Linear layers as tasks of some rows by some columns. A task brings its part of the right operand into the order in which
// tiles read it, block by block of k, and multiplies from there; no operand is copied whole.
#include <algorithm>
#include <tuple>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/fetch.h"
#include "plugins/mamba2/kernels/cpu/matmul.h"
#include "plugins/mamba2/kernels/cpu/tasks.h"

namespace tutti::mamba2::TUTTI_KERNELS {
namespace {

// Of one operand a task keeps some rows by a slab of k, 480 KiB, in the second cache; of the other a panel of a tile's columns
// by some steps, 48 KiB or less, nearer still.
constexpr int64_t kRows = 240;
template <class T>
constexpr int64_t kSlab = 2048 / sizeof(T);
template <class T>
constexpr int64_t kSteps = 1024 / sizeof(T);
constexpr int64_t kTasksPerThread = 8;  // at most, where fewer can't be shared evenly
static_assert(kRows % kTileRows == 0);

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The right operand: element (k,j) is data[k * step + j * column]; one of the two is 1.
template <class T>
struct Right {
  const T* data;
  int64_t step, column;
};

// A panel [steps, kTileColumns] of up to that many columns.
template <class T>
void pack_right(int64_t steps, int64_t columns, Right<T> b, T* panel) {
  constexpr int64_t W = kTileColumns<T>;
  if (b.column != 1)
    transpose(columns, steps, b.data, b.column, panel, W);
  else if (columns == W)  // as a constant
    for (int64_t k = 0; k < steps; ++k) std::copy_n(b.data + k * b.step, W, panel + k * W);
  else
    for (int64_t k = 0; k < steps; ++k) std::copy_n(b.data + k * b.step, columns, panel + k * W);
}

// Asks for one of many parts of what pack_right will read.
template <class T>
void fetch_part(int64_t steps, int64_t columns, Right<T> b, int64_t part, int64_t parts) {
  const auto [lines, length, distance] = b.column == 1 ? std::tuple(steps, columns, b.step) : std::tuple(columns, steps, b.column);
  for (int64_t line = part * lines / parts; line < (part + 1) * lines / parts; ++line) fetch(b.data + line * distance, length);
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

// c = start + a b for a task's rows and columns; memory [kTaskMemory].
template <class T>
void multiply_blocks(int64_t rows, int64_t columns, int64_t steps, Left<T> a, Right<T> b, Rows<const T> start, Rows<T> c, T* memory) {
  constexpr int64_t W = kTileColumns<T>;
  T *const panel = memory, *const left = memory + kSteps<T> * W;
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t slab = 0; slab < steps; slab += kSlab<T>) {
    const int64_t slab_end = std::min(slab + kSlab<T>, steps);
    const Left<T> block = pack_left<T>(rows, slab_end - slab, {a.data + slab * a.step, a.row, a.step}, left);
    for (int64_t j = 0; j < columns; j += W)
      for (int64_t k = slab; k < slab_end; k += kSteps<T>) {
        const int64_t count = std::min(kSteps<T>, slab_end - k), width = std::min(W, columns - j);
        pack_right<T>(count, width, {b.data + k * b.step + j * b.column, b.step, b.column}, panel);
        const bool is_last = k + count == slab_end;  // of its panel: the next one's begin is fetched
        const int64_t next_k = is_last ? slab : k + count, next_j = is_last ? j + W : j;
        const Right<T> next{b.data + next_k * b.step + next_j * b.column, b.step, b.column};
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t i = tile * kTileRows;
          const Rows<T> to{c.data + i * c.row + j, c.row};
          Rows<const T> begin{to.data, to.row};
          if (k == 0) begin = {start.data ? start.data + i * start.row + j : nullptr, start.row};
          if (next_j < columns)
            fetch_part(std::min(kSteps<T>, slab_end - next_k), std::min(W, columns - next_j), next, tile, tiles);
          for (int64_t r = i + kTileRows; r < std::min<int64_t>(i + 2 * kTileRows, rows); ++r)
            fetch_to_write(c.data + r * c.row + j, width);  // the next tile's
          multiply_tile<T>(std::min<int64_t>(kTileRows, rows - i), width, count, {block.data + i * block.row + k - slab, block.row, 1},
                           {panel, W}, begin, to);
        }
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
constexpr int64_t kTaskMemory = kSteps<T> * kTileColumns<T> + kSlab<T> * kRows;
static_assert(kTaskMemory<float> % Vector<float>::kLanes == 0);

// How a matrix is cut into tasks: rows as even as tiles allow, columns so that every thread gets its part. Fewer tasks read less.
template <class T>
struct Cut {
  int64_t down, across, height, width;

  Cut(int64_t rows, int64_t columns, int64_t threads) {
    const int64_t row_tiles = ceil_div(rows, kTileRows), column_tiles = ceil_div(columns, kTileColumns<T>);
    down = ceil_div(rows, kRows), height = ceil_div(row_tiles, down) * kTileRows;
    const int64_t most = kTasksPerThread * threads;
    across = rows <= kTileRows ? most : ceil_div(threads, down);  // few rows take no time to read again
    while (down * across % threads && down * across < most) ++across;
    width = ceil_div(column_tiles, across) * kTileColumns<T>;
    across = ceil_div(columns, width);
  }
};

// Calls body(first, last, column, columns, memory) for blocks of the positions inside segments and of columns.
template <class T, class Body>
void for_each_block(Executor& executor, const Segments& segments, int64_t columns, Scratch<T>& scratch, Body body) {
  if (segments.count() == 0) return;
  const Cut<T> cut(segments.longest_run(), columns, executor.thread_count());
  const int64_t tasks = segments.run_count() * cut.down * cut.across;
  T* memory = scratch.reserve(count_workers(executor, tasks) * kTaskMemory<T>);
  for_each_task(executor, tasks, [&](int64_t task, int64_t worker) {
    const Run& run = segments.run(task / cut.across / cut.down);
    const int64_t first = run.begin + task / cut.across % cut.down * cut.height, column = task % cut.across * cut.width;
    if (first < run.end)
      body(first, std::min(first + cut.height, run.end), column, std::min(cut.width, columns - column),
           memory + worker * kTaskMemory<T>);
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
  const Cut<T> cut(a.outputs, a.inputs, executor.thread_count());
  T* memory = scratch.reserve(count_workers(executor, cut.down * cut.across) * kTaskMemory<T>);
  for_each_task(executor, cut.down * cut.across, [&](int64_t task, int64_t worker) {
    const int64_t output = task / cut.across * cut.height, outputs = std::min(cut.height, a.outputs - output);
    const int64_t input = task % cut.across * cut.width, inputs = std::min(cut.width, a.inputs - input);
    if (outputs <= 0) return;
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
