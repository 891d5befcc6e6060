#include "host/data/collate.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <random>

#include "shared/tensor/view.h"

namespace tutti {

// Three columns, five rows, uneven steps (median 10).
static Table small_table() {
  Table table;
  table.source = "small.csv";
  table.columns = {"a", "b", "c"};
  table.has_time = true;
  table.time = {100, 110, 120, 150, 160};
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 3; ++column) table.values.push_back(10 * row + column);
  return table;
}

static const Scaler kScaler{{0, 1, 2}, {1, 2, 4}};

static Collator collator_for(const Table& table, const Scaler& scaler, BatchLayout layout, int64_t largest = 8) {
  auto collator = Collator::create(table, scaler, std::move(layout), largest);
  REQUIRE(collator);
  return *std::move(collator);
}

static Batch batch_of(Collator& collator, std::vector<Origin> origins, Targets targets = Targets::with) {
  auto batch = collator.collate(origins, targets);
  INFO((batch ? "" : batch.error().message));
  REQUIRE(batch);
  return *batch;
}

template <class T, int N>
static std::vector<T> elements(const tutti_tensor& tensor, std::array<int64_t, N> shape) {
  const auto view = view_of<T, N>(tensor, "tensor");
  INFO((view ? "" : view.error().message));
  REQUIRE(view);
  CHECK(view->shape == shape);
  CHECK(view->is_dense());
  return {view->data, view->data + view->size()};
}

static BatchLayout layout(tutti_dtype dtype = dtype_of<double>()) { return {{2, 0}, {1}, {2, 2, 1}, dtype}; }

TEST_CASE("a batch holds what its windows say") {
  const Table table = small_table();
  Collator collator = collator_for(table, kScaler, layout());
  const Batch batch = batch_of(collator, {1, 2});
  CHECK(batch.view.struct_size == sizeof(tutti_batch));
  CHECK(batch.view.size == 2);
  CHECK(elements<double, 3>(batch.view.past, {2, 2, 2}) == std::vector<double>{0, 0, 2.5, 10, 2.5, 10, 5, 20});
  CHECK(elements<int64_t, 2>(batch.view.past_time, {2, 2}) == std::vector<int64_t>{100, 110, 110, 120});
  CHECK(elements<double, 2>(batch.view.elapsed, {2, 2}) == std::vector<double>{1, 1, 1, 1});
  CHECK(elements<int64_t, 1>(batch.view.row, {2}) == std::vector<int64_t>{1, 2});
  CHECK(elements<double, 3>(batch.view.target, {2, 2, 1}) == std::vector<double>{10, 15, 15, 20});
  for (const tutti_tensor& absent : {batch.view.observed, batch.view.length, batch.view.future_known, batch.view.statics,
                                     batch.view.target_class, batch.view.weight}) {
    CHECK(absent.ndim == 0);
    CHECK(absent.data == nullptr);
  }
}

TEST_CASE("elapsed counts median steps, and the very first row has 1") {
  const Table table = small_table();
  Collator collator = collator_for(table, kScaler, {{0}, {0}, {5, 1, 1}, dtype_of<float>()});
  CHECK(elements<float, 2>(batch_of(collator, {4}, Targets::without).view.elapsed, {1, 5}) == std::vector<float>{1, 1, 1, 3, 1});
}

TEST_CASE("f32 is f64 rounded once") {
  Table table = small_table();
  for (double& value : table.values) value /= 7;
  Collator single = collator_for(table, kScaler, layout(dtype_of<float>())), twice = collator_for(table, kScaler, layout());
  const auto f32 = elements<float, 3>(batch_of(single, {1, 2}).view.past, {2, 2, 2});
  const auto f64 = elements<double, 3>(batch_of(twice, {1, 2}).view.past, {2, 2, 2});
  for (size_t i = 0; i < f64.size(); ++i) CHECK(f32[i] == static_cast<float>(f64[i]));
}

TEST_CASE("filled-in values are marked where the table marks them") {
  Table table = small_table();
  table.observed.assign(15, 1);
  table.observed[3 + 2] = 0;  // row 1, column c
  Collator collator = collator_for(table, kScaler, layout());
  CHECK(elements<uint8_t, 3>(batch_of(collator, {1}).view.observed, {1, 2, 2}) == std::vector<uint8_t>{1, 1, 0, 1});
}

TEST_CASE("tensors lie in the pages that can only be read, aligned to 64 bytes") {
  const Table table = small_table();
  Collator collator = collator_for(table, kScaler, layout());
  const Batch batch = batch_of(collator, {1, 2});
  for (const tutti_tensor& tensor :
       {batch.view.past, batch.view.past_time, batch.view.elapsed, batch.view.row, batch.view.target}) {
    const std::byte* data = static_cast<const std::byte*>(tensor.data);
    CHECK(data >= collator.arena().readable(0));
    CHECK(data < collator.arena().readable(0) + collator.arena().capacity());
    CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
  }
}

TEST_CASE("a batch outlives the moving of its collator") {
  const Table table = small_table();
  Collator first = collator_for(table, kScaler, layout());
  const Batch batch = batch_of(first, {1, 2});
  const Collator second = std::move(first);
  CHECK(batch.view.past.shape[0] == 2);
  CHECK(hash_batch(batch.view) == batch.hash);
}

TEST_CASE("an origin without a whole window, and too many origins, are refused") {
  const Table table = small_table();
  Collator collator = collator_for(table, kScaler, layout(), 1);
  const auto refusal = [&](std::vector<Origin> origins, Targets targets) {
    const auto batch = collator.collate(origins, targets);
    return batch ? "(accepted)" : batch.error().message;
  };
  CHECK(refusal({4}, Targets::without) == "(accepted)");
  CHECK(refusal({3}, Targets::with) ==
        "no window of small.csv has its last past step in row 3: of 5 rows, 2 are needed up to it and 2 after it");
  CHECK(refusal({0}, Targets::without) ==
        "no window of small.csv has its last past step in row 0: of 5 rows, 2 are needed up to it");
  CHECK(refusal({5}, Targets::without) ==
        "no window of small.csv has its last past step in row 5: of 5 rows, 2 are needed up to it");
  CHECK(refusal(std::vector<Origin>(1000, 2), Targets::without).starts_with("a piece of 32000 bytes doesn't fit"));
  CHECK(refusal({}, Targets::with) == "(accepted)");
}

static Table random_table(uint64_t seed, int64_t rows, bool holes) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Table table;
  table.source = "random.csv";
  table.columns = {"a", "b", "c"};
  for (int64_t row = 0; row < rows; ++row) table.time.push_back(row * 10);
  for (int64_t i = 0; i < rows * 3; ++i) table.values.push_back(normal(random));
  if (holes)
    for (int64_t i = 0; i < rows * 3; ++i) table.observed.push_back(random() % 5 != 0);
  return table;
}

static std::string bytes(const tutti_tensor& tensor) {
  int64_t size = tensor.ndim ? size_in_bytes(tensor.dtype) : 0;
  for (int axis = 0; axis < tensor.ndim; ++axis) size *= tensor.shape[axis];
  return {static_cast<const char*>(tensor.data), static_cast<size_t>(size)};
}

TEST_CASE("change the future, and the batch stays bit-equal") {
  const Scaler scaler{{0.1, 0.2, 0.3}, {1.5, 0.7, 3}};
  for (const bool holes : {false, true})
    for (const tutti_dtype dtype : {dtype_of<float>(), dtype_of<double>()})
      for (Origin origin = 3; origin < 30; ++origin) {
        const Table before = random_table(5, 40, holes);
        Table after = before;
        for (int64_t row = origin + 1; row < 40; ++row)
          for (int64_t column = 0; column < 3; ++column) {
            after.values[static_cast<size_t>(row * 3 + column)] = -1e6;
            if (holes) after.observed[static_cast<size_t>(row * 3 + column)] ^= 1;
          }
        const BatchLayout shape{{0, 1, 2}, {1}, {4, 3, 1}, dtype};
        Collator one = collator_for(before, scaler, shape), other = collator_for(after, scaler, shape);
        const std::vector<Origin> origins{3, origin};
        const Batch a = batch_of(one, origins), b = batch_of(other, origins);
        for (const auto tensor :
             {&tutti_batch::past, &tutti_batch::past_time, &tutti_batch::elapsed, &tutti_batch::observed, &tutti_batch::row})
          REQUIRE(bytes(a.view.*tensor) == bytes(b.view.*tensor));
        REQUIRE(a.hash == b.hash);
        REQUIRE(bytes(a.view.target) != bytes(b.view.target));
      }
}

TEST_CASE("a window's bytes don't depend on the windows beside it") {
  const Table table = random_table(6, 40, true);
  Collator collator = collator_for(table, kScaler, {{0, 1, 2}, {1}, {4, 3, 1}, dtype_of<double>()});
  const Batch many = batch_of(collator, {3, 9, 17, 30});
  const std::string third = bytes(many.view.past).substr(2 * 4 * 3 * 8, 4 * 3 * 8);
  CHECK(bytes(batch_of(collator, {17}).view.past) == third);
}

TEST_CASE("the hash tells batches apart, whatever differs, and leaves targets out") {
  const Table table = random_table(7, 40, true);
  const BatchLayout wide{{0, 1, 2}, {1}, {4, 3, 1}, dtype_of<double>()},
      other_dtype{{0, 1, 2}, {1}, {4, 3, 1}, dtype_of<float>()};
  const auto hash = [&](const Table& table, const BatchLayout& layout, std::vector<Origin> origins, Targets targets) {
    Collator collator = collator_for(table, kScaler, layout);
    return batch_of(collator, std::move(origins), targets).hash;
  };
  const uint64_t reference = hash(table, wide, {5, 9}, Targets::with);
  CHECK(hash(table, wide, {5, 9}, Targets::with) == reference);
  CHECK(hash(table, wide, {5, 9}, Targets::without) == reference);
  CHECK(hash(table, wide, {9, 5}, Targets::without) != reference);
  CHECK(hash(table, wide, {5}, Targets::without) != reference);
  CHECK(hash(table, other_dtype, {5, 9}, Targets::without) != reference);

  Table changed = table;
  changed.values[9 * 3] = std::nextafter(changed.values[9 * 3], 1e9);  // (x - 0) / 1: the last bit arrives
  CHECK(hash(changed, wide, {5, 9}, Targets::without) != reference);
  changed = table, changed.observed[9 * 3] ^= 1;
  CHECK(hash(changed, wide, {5, 9}, Targets::without) != reference);
  changed = table, changed.time[9] += 1;
  CHECK(hash(changed, wide, {5, 9}, Targets::without) != reference);
}

}  // namespace tutti
