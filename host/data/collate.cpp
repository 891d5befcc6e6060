#include "host/data/collate.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shared/tensor/dtype.h"

namespace tutti {
namespace {

constexpr int64_t kAlignment = 64;  // of the arena's pieces

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t elements(const tutti_tensor& tensor) {
  int64_t product = 1;
  for (int axis = 0; axis < tensor.ndim; ++axis) product *= tensor.shape[axis];
  return product;
}

void hash_tensor(XXH3_state_t* state, const char* name, const tutti_tensor& tensor) {
  if (tensor.ndim == 0) return;
  XXH3_64bits_update(state, name, std::char_traits<char>::length(name) + 1);
  const uint8_t dtype[] = {tensor.dtype.code, tensor.dtype.bits, static_cast<uint8_t>(tensor.ndim)};
  XXH3_64bits_update(state, dtype, sizeof dtype);
  XXH3_64bits_update(state, tensor.shape, static_cast<size_t>(tensor.ndim) * sizeof(int64_t));
  XXH3_64bits_update(state, static_cast<const char*>(tensor.data) + tensor.byte_offset,
                     static_cast<size_t>(elements(tensor) * size_in_bytes(tensor.dtype)));
}

}  // namespace

void Collator::Axes::set(std::initializer_list<int64_t> lengths) {
  assert(lengths.size() <= shape.size());
  ndim = static_cast<int32_t>(lengths.size());
  std::copy(lengths.begin(), lengths.end(), shape.begin());
  int64_t step = 1;
  for (size_t axis = lengths.size(); axis-- > 0;) strides[axis] = step, step *= shape[axis];
  size = step;
}

Collator::Collator(const Table& table, const Scaler& scaler, BatchLayout layout, SharedArena arena)
    : table_(&table),
      scaler_(&scaler),
      layout_(std::move(layout)),
      median_step_(table.median_step()),
      arena_(std::move(arena)),
      shapes_(std::make_unique<Shapes>()) {}

Result<Collator> Collator::create(const Table& table, const Scaler& scaler, BatchLayout layout, int64_t largest) {
  assert(largest >= 0 && layout.window.lookback >= 1 && layout.window.horizon >= 1);
  assert(same_dtype(layout.dtype, dtype_of<float>()) || same_dtype(layout.dtype, dtype_of<double>()));
  const int64_t real = size_in_bytes(layout.dtype), steps = largest * layout.window.lookback;
  const int64_t features = static_cast<int64_t>(layout.features.size()), targets = static_cast<int64_t>(layout.targets.size());
  const int64_t bytes = padded(steps * features * real) + padded(steps * 8) + padded(steps * real) + padded(steps * features) +
                        padded(largest * 8) + padded(largest * layout.window.horizon * targets * real);
  TUTTI_TRY(SharedArena arena, SharedArena::create(static_cast<size_t>(bytes)));
  return Collator(table, scaler, std::move(layout), std::move(arena));
}

Result<Batch> Collator::collate(std::span<const Origin> origins, Targets targets) {
  const int64_t needed = targets == Targets::with ? layout_.window.horizon : 0;
  for (Origin origin : origins)
    if (origin < layout_.window.lookback - 1 || origin + needed >= table_->rows())
      return failed("no window of " + table_->source + " has its last past step in row " + std::to_string(origin) + ": of " +
                    std::to_string(table_->rows()) + " rows, " + std::to_string(layout_.window.lookback) +
                    " are needed up to it" + (needed ? " and " + std::to_string(needed) + " after it" : ""));
  return same_dtype(layout_.dtype, dtype_of<float>()) ? fill<float>(origins, targets) : fill<double>(origins, targets);
}

template <class T>
Result<T*> Collator::place(tutti_tensor& tensor, Axes& axes, std::initializer_list<int64_t> lengths) {
  axes.set(lengths);
  TUTTI_TRY(const size_t offset, arena_.allocate(static_cast<size_t>(axes.size) * sizeof(T)));
  tensor = {const_cast<std::byte*>(arena_.readable(offset)),
            {TUTTI_CPU, 0},
            axes.ndim,
            dtype_of<T>(),
            axes.shape.data(),
            axes.strides.data(),
            0};
  return reinterpret_cast<T*>(arena_.writable(offset));
}

template <class Real>
Result<Batch> Collator::fill(std::span<const Origin> origins, Targets targets) {
  const int64_t B = static_cast<int64_t>(origins.size()), T = layout_.window.lookback, H = layout_.window.horizon;
  const int64_t F = static_cast<int64_t>(layout_.features.size()), K = static_cast<int64_t>(layout_.targets.size());
  const Table& table = *table_;
  const auto scaled = [&](int64_t row, int64_t column) {
    return static_cast<Real>(scaler_->apply(table.at(row, column), column));
  };

  arena_.clear();
  Batch batch{};
  batch.view.struct_size = sizeof batch.view;
  batch.view.size = B;
  TUTTI_TRY(Real * past, place<Real>(batch.view.past, shapes_->past, {B, T, F}));
  TUTTI_TRY(int64_t * past_time, place<int64_t>(batch.view.past_time, shapes_->past_time, {B, T}));
  TUTTI_TRY(Real * elapsed, place<Real>(batch.view.elapsed, shapes_->elapsed, {B, T}));
  TUTTI_TRY(int64_t * last_row, place<int64_t>(batch.view.row, shapes_->row, {B}));
  for (Origin origin : origins) {
    *last_row++ = origin;
    for (int64_t row = origin - T + 1; row <= origin; ++row) {
      for (int64_t column : layout_.features) *past++ = scaled(row, column);
      const int64_t time = table.time[static_cast<size_t>(row)];
      const int64_t step = row > 0 ? time - table.time[static_cast<size_t>(row - 1)] : median_step_;
      *past_time++ = time;
      *elapsed++ = static_cast<Real>(static_cast<double>(step) / static_cast<double>(median_step_));
    }
  }
  if (!table.observed.empty()) {
    TUTTI_TRY(uint8_t * observed, place<uint8_t>(batch.view.observed, shapes_->observed, {B, T, F}));
    for (Origin origin : origins)
      for (int64_t row = origin - T + 1; row <= origin; ++row)
        for (int64_t column : layout_.features) *observed++ = table.is_observed(row, column);
  }
  if (targets == Targets::with) {
    TUTTI_TRY(Real * target, place<Real>(batch.view.target, shapes_->target, {B, H, K}));
    for (Origin origin : origins)
      for (int64_t row = origin + 1; row <= origin + H; ++row)
        for (int64_t column : layout_.targets) *target++ = scaled(row, column);
  }
  batch.hash = hash_batch(batch.view);
  return batch;
}

uint64_t hash_batch(const tutti_batch& batch) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  hash_tensor(&state, "past", batch.past);
  hash_tensor(&state, "past_time", batch.past_time);
  hash_tensor(&state, "elapsed", batch.elapsed);
  hash_tensor(&state, "observed", batch.observed);
  hash_tensor(&state, "length", batch.length);
  hash_tensor(&state, "future_known", batch.future_known);
  hash_tensor(&state, "statics", batch.statics);
  hash_tensor(&state, "row", batch.row);
  return XXH3_64bits_digest(&state);
}

}  // namespace tutti
