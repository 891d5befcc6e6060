// Products of matrices that lie in a core's cache, and the packing that brings larger ones there.
//
// Every element of a product is one chain of fused multiply-adds in the order of k, begun from zero or from what is added
// to. So its bits depend on its row, its column and nothing else: not on the matrix around it, the blocks or the
// width of a register.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/mamba2/kernels/cpu/vector.h"

namespace tutti::mamba2::TUTTI_KERNELS {

// The left operand: element (i,k) is data[i * row + k * step].
template <class T>
struct Left {
  const T* data;
  int64_t row, step;
};

// A matrix whose rows are dense. As what a product begins from, data may be null: zeros; and row 0: one row for all.
template <class T>
struct Rows {
  T* data;
  int64_t row;
};

// A tile of the product that registers hold.
constexpr int kTileRows = kManyRegisters ? 8 : 6;
constexpr int kTileVectors = kManyRegisters ? 3 : 2;
template <class T>
constexpr int64_t kTileColumns = kTileVectors * Vector<T>::kLanes;

// c = start + a b for one tile. Of its last vector only the first count columns exist where Partial.
template <int kRows, int kVectors, bool Partial, class T>
void multiply_tile(int64_t steps, Left<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c, int64_t count) {
  using V = Vector<T>;
  const auto load = [&](const T* row, auto j) __attribute__((always_inline)) {
    if constexpr (Partial && j == kVectors - 1) return V::load_first(row + j * V::kLanes, count);
    else return V::load(row + j * V::kLanes);
  };
  V sum[kRows][kVectors];
  unroll<kRows>([&](auto i) __attribute__((always_inline)) {
    unroll<kVectors>([&](auto j) __attribute__((always_inline)) {
      sum[i][j] = start.data ? load(start.data + i * start.row, j) : V::zero();
    });
  });
  for (int64_t k = 0; k < steps; ++k) {
    V right[kVectors];
    unroll<kVectors>([&](auto j) __attribute__((always_inline)) { right[j] = load(b.data, j); });
    unroll<kRows>([&](auto i) __attribute__((always_inline)) {
      const V left = V::broadcast(a.data[i * a.row]);
      unroll<kVectors>([&](auto j) __attribute__((always_inline)) { sum[i][j] = V::fma(left, right[j], sum[i][j]); });
    });
    a.data += a.step, b.data += b.row;
  }
  unroll<kRows>([&](auto i) __attribute__((always_inline)) {
    unroll<kVectors>([&](auto j) __attribute__((always_inline)) {
      T* to = c.data + i * c.row + j * V::kLanes;
      if constexpr (Partial && j == kVectors - 1) sum[i][j].store_first(to, count);
      else sum[i][j].store(to);
    });
  });
}

// The same for any number of rows and columns up to a tile's.
template <int kRows, int kVectors = kTileVectors, class T>
void multiply_rows(int64_t columns, int64_t steps, Left<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  if constexpr (kVectors > 1)
    if (columns <= (kVectors - 1) * kLanes) return multiply_rows<kRows, kVectors - 1>(columns, steps, a, b, start, c);
  if (columns == kVectors * kLanes)
    multiply_tile<kRows, kVectors, false>(steps, a, b, start, c, kLanes);
  else
    multiply_tile<kRows, kVectors, true>(steps, a, b, start, c, columns - (kVectors - 1) * kLanes);
}
template <class T>
void multiply_tile(int64_t rows, int64_t columns, int64_t steps, Left<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  static_assert(kTileRows <= 8);
  switch (rows) {
    case 8: return multiply_rows<8>(columns, steps, a, b, start, c);
    case 7: return multiply_rows<7>(columns, steps, a, b, start, c);
    case 6: return multiply_rows<6>(columns, steps, a, b, start, c);
    case 5: return multiply_rows<5>(columns, steps, a, b, start, c);
    case 4: return multiply_rows<4>(columns, steps, a, b, start, c);
    case 3: return multiply_rows<3>(columns, steps, a, b, start, c);
    case 2: return multiply_rows<2>(columns, steps, a, b, start, c);
    case 1: return multiply_rows<1>(columns, steps, a, b, start, c);
  }
}

// Of the columns that are left, those of the next tile: four vectors go as two and two, for a single one leaves units idle.
template <class T>
int64_t next_tile_columns(int64_t left) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  return kTileVectors == 3 && left > 3 * kLanes && left <= 4 * kLanes ? 2 * kLanes : std::min(kTileColumns<T>, left);
}

// Steps of k that matter to a tile.
struct Steps {
  int64_t begin, end;
};

// c = start + a b, with a [rows, k], b [k, columns] and c [rows, columns], tile by tile. steps_of(row, rows, column, columns)
// gives the steps of a tile, where a or b is known to be zero at all others. start may be c.
template <class T, class StepsOf>
void multiply(int64_t rows, int64_t columns, Left<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c, StepsOf steps_of) {
  for (int64_t j = 0, width; j < columns; j += width) {
    width = next_tile_columns<T>(columns - j);
    for (int64_t i = 0; i < rows; i += kTileRows) {
      const int64_t height = std::min<int64_t>(kTileRows, rows - i);
      const Steps steps = steps_of(i, height, j, width);
      multiply_tile<T>(height, width, steps.end - steps.begin, {a.data + i * a.row + steps.begin * a.step, a.row, a.step},
                       {b.data + steps.begin * b.row + j, b.row},
                       {start.data ? start.data + i * start.row + j : nullptr, start.row}, {c.data + i * c.row + j, c.row});
    }
  }
}
template <class T>
void multiply(int64_t rows, int64_t columns, int64_t steps, Left<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  multiply(rows, columns, a, b, start, c, [&](int64_t, int64_t, int64_t, int64_t) { return Steps{0, steps}; });
}
// c += a b.
template <class T>
void multiply_add(int64_t rows, int64_t columns, int64_t steps, Left<T> a, Rows<const T> b, Rows<T> c) {
  multiply<T>(rows, columns, steps, a, b, {c.data, c.row}, c);
}

// to [columns, rows] with stride to_row is from [rows, columns] with stride from_row, transposed.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_row, T* to, int64_t to_row) {
  using V = Vector<T>;
  constexpr int64_t L = V::kLanes;
  const int64_t whole_rows = rows / L * L, whole_columns = columns / L * L;
  for (int64_t i = 0; i < whole_rows; i += L)
    for (int64_t j = 0; j < whole_columns; j += L) {
      V block[L];
      unroll<L>([&](auto l) __attribute__((always_inline)) { block[l] = V::load(from + (i + l) * from_row + j); });
      transpose<T>(block);
      unroll<L>([&](auto l) __attribute__((always_inline)) { block[l].store(to + (j + l) * to_row + i); });
    }
  const auto copy = [&](int64_t first_row, int64_t last_row, int64_t first_column, int64_t last_column) {
    for (int64_t i = first_row; i < last_row; ++i)
      for (int64_t j = first_column; j < last_column; ++j) to[j * to_row + i] = from[i * from_row + j];
  };
  copy(0, whole_rows, whole_columns, columns);
  copy(whole_rows, rows, 0, columns);
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
