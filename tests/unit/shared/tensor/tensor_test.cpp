#include "shared/tensor/tensor.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <new>

using namespace tutti;

TEST_CASE("a new tensor is zero and begins at a multiple of 64 bytes") {
  for (const int64_t length : {1, 3, 17, 1000}) {
    const Tensor tensor = Tensor::of<double>({2, length});
    CHECK(reinterpret_cast<uintptr_t>(tensor.data()) % 64 == 0);
    CHECK(tensor.size() == 2 * length);
    CHECK(tensor.bytes() == 16 * length);
    for (int64_t i = 0; i < tensor.size(); ++i) REQUIRE(tensor.data<double>()[i] == 0);
  }
}

TEST_CASE("a tensor without axes has one element, one with an axis of no length has none") {
  CHECK(Tensor::of<float>({}).size() == 1);
  const Tensor empty = Tensor::of<float>({3, 0, 5});
  CHECK(empty.size() == 0);
  CHECK(empty.bytes() == 0);
  CHECK(empty.data() != nullptr);
  CHECK(empty.view<float, 3>().size() == 0);
}

TEST_CASE("a tensor that was never given a shape is empty") {
  const Tensor nothing;
  CHECK(nothing.size() == 0);
  CHECK(nothing.data() == nullptr);
  CHECK(nothing.clone().data() == nullptr);
}

TEST_CASE("a clone has the same content in memory of its own") {
  Tensor tensor = Tensor::of<int32_t>({2, 3});
  tensor.view<int32_t, 2>()(1, 2) = 7;
  const Tensor copy = tensor.clone();
  tensor.view<int32_t, 2>()(1, 2) = 8;
  CHECK(copy.view<int32_t, 2>()(1, 2) == 7);
  CHECK(copy.shape() == tensor.shape());
  CHECK(same_dtype(copy.dtype(), dtype_of<int32_t>()));
}

TEST_CASE("a tensor moves without its elements moving") {
  Tensor tensor = Tensor::of<float>({2, 3});
  const void* const memory = tensor.data();
  const Tensor moved = std::move(tensor);
  CHECK(moved.data() == memory);
  CHECK(moved.size() == 6);
}

TEST_CASE("a moved-from tensor is empty") {
  Tensor tensor = Tensor::of<float>({2, 3});
  Tensor moved = std::move(tensor);
  Tensor& same = moved;
  moved = std::move(same);
  CHECK(moved.size() == 6);
  CHECK(tensor.size() == 0);
  CHECK(tensor.bytes() == 0);
  CHECK(tensor.shape().empty());
  CHECK(tensor.data() == nullptr);
  tensor = std::move(moved);
  CHECK(tensor.size() == 6);
}

TEST_CASE("a borrowed tensor shows the same elements to the contract") {
  Tensor tensor = Tensor::of<float>({2, 3});
  tensor.view<float, 2>()(1, 0) = 4;
  const auto view = view_of<const float, 2>(tensor.borrow(), "tensor");
  REQUIRE(view);
  CHECK(view->is_dense());
  CHECK((*view)(1, 0) == 4);
}

TEST_CASE("a tensor too large for memory or for counting is refused") {
  CHECK_THROWS_AS(Tensor::of<double>({int64_t{1} << 40, int64_t{1} << 40}), std::bad_alloc);
  CHECK_THROWS_AS(Tensor::of<double>({INT64_MAX}), std::bad_alloc);
  CHECK_THROWS_AS(Tensor::of<uint8_t>({INT64_MAX}), std::bad_alloc);
  CHECK_THROWS_AS(Tensor::of<double>({int64_t{1} << 40, int64_t{1} << 40, 0}), std::bad_alloc);
}
