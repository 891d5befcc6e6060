#include "shared/tensor/view.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

using namespace tutti;

namespace {

std::vector<float> counted(size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// A contract tensor of 2 by 3 floats, to be spoilt by tests.
struct Made {
  std::vector<float> memory = counted(7);
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  tutti_tensor tensor{memory.data(), {TUTTI_CPU, 0}, 2, dtype_of<float>(), shape, strides, 0};

  template <class T = float, int N = 2>
  std::string refusal() const {
    const auto view = view_of<T, N>(tensor, "past");
    return view ? "" : view.error().message;
  }
};

}  // namespace

TEST_CASE("a dense view has the last axis fastest") {
  auto memory = counted(24);
  const View<float, 3> view(memory.data(), {2, 3, 4});
  CHECK(view.strides == std::array<int64_t, 3>{12, 4, 1});
  CHECK(view(1, 2, 3) == 23);
  CHECK(view[1][2](3) == 23);
  CHECK(view.size() == 24);
  CHECK(view.is_dense());
}

TEST_CASE("transposing exchanges the last two axes and moves nothing") {
  auto memory = counted(24);
  const View<float, 3> view(memory.data(), {2, 3, 4}), other = view.transposed();
  CHECK(other.data == view.data);
  CHECK(other.shape == std::array<int64_t, 3>{2, 4, 3});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) REQUIRE(&other(i, k, j) == &view(i, j, k));
  CHECK_FALSE(other.is_dense());
  CHECK(other.transposed().is_dense());
}

TEST_CASE("a broadcast matrix is the same memory for all of the batch") {
  auto memory = counted(6);
  const View<float, 3> shared = broadcast(Matrix<float>(memory.data(), {2, 3}), 5);
  CHECK(shared.shape == std::array<int64_t, 3>{5, 2, 3});
  CHECK(shared.strides[0] == 0);
  CHECK(&shared(4, 1, 2) == &memory[5]);
  CHECK_FALSE(shared.is_dense());
}

TEST_CASE("a slice is a part of one axis") {
  auto memory = counted(24);
  const View<float, 3> view(memory.data(), {2, 3, 4});
  const View<float, 3> part = view.slice(1, 1, 3).slice(2, 2, 4);
  CHECK(part.shape == std::array<int64_t, 3>{2, 2, 2});
  CHECK(part(1, 0, 1) == view(1, 1, 3));
  CHECK_FALSE(part.is_dense());
  CHECK(view.slice(0, 1, 2).is_dense());
  CHECK(view.slice(2, 4, 4).size() == 0);
}

TEST_CASE("an axis of one element or a view of none is dense with any strides") {
  float number = 0;
  CHECK(Matrix<float>(&number, {1, 1}, {7, -9}).is_dense());
  CHECK(Matrix<float>(&number, {3, 0}, {7, 5}).is_dense());
  CHECK_FALSE(Matrix<float>(&number, {2, 1}, {7, 1}).is_dense());
}

TEST_CASE("a view of constants is made from a view of variables") {
  auto memory = counted(6);
  const Matrix<float> view(memory.data(), {2, 3});
  const Matrix<const float> constant = view.transposed();
  CHECK(constant(2, 1) == 5);
}

TEST_CASE("a contract tensor and the view of it show the same elements") {
  Made made;
  made.tensor.byte_offset = sizeof(float);
  const auto view = view_of<float, 2>(made.tensor, "past");
  REQUIRE(view);
  CHECK((*view)(1, 2) == 6);

  const Matrix<float> turned = view->transposed();
  const tutti_tensor back = as_tensor(turned);
  CHECK(back.ndim == 2);
  CHECK(same_dtype(back.dtype, dtype_of<float>()));
  const auto again = view_of<const float, 2>(back, "past");
  REQUIRE(again);
  CHECK(&(*again)(2, 1) == &(*view)(1, 2));
}

TEST_CASE("a tensor that isn't what is needed is refused with a sentence that names both") {
  Made made;
  CHECK(made.refusal() == "");
  CHECK(made.refusal<const float>() == "");
  CHECK(made.refusal<double>() == "past is f32; f64 is needed");
  CHECK(made.refusal<const int32_t>() == "past is f32; i32 is needed");
  CHECK(made.refusal<float, 3>() == "past has 2 axes; 3 are needed");

  made.tensor.dtype.lanes = 4;
  CHECK(made.refusal() == "past is f32x4; f32 is needed");
  made.tensor.dtype = {9, 32, 1};
  CHECK(made.refusal() == "past is ?32; f32 is needed");
}

TEST_CASE("a tensor that can't be read from here is refused with a sentence") {
  Made made;
  made.tensor.device = {TUTTI_CPU_PINNED, 0};
  CHECK(made.refusal() == "");
  made.tensor.device = {TUTTI_CUDA, 0};
  CHECK(made.refusal() == "past is not in CPU memory");
  made.tensor.device = {42, 0};
  CHECK(made.refusal() == "past is not in CPU memory");

  Made without_strides, without_shape, odd;
  without_strides.tensor.strides = nullptr;
  CHECK(without_strides.refusal() == "past has no shape or strides");
  without_shape.tensor.shape = nullptr;
  CHECK(without_shape.refusal() == "past has no shape or strides");
  odd.tensor.byte_offset = 2;
  CHECK(odd.refusal() == "past is not aligned to its elements");
}

TEST_CASE("dtypes are named by kind and bits") {
  CHECK(name_of(dtype_of<float>()) == "f32");
  CHECK(name_of(dtype_of<double>()) == "f64");
  CHECK(name_of(dtype_of<const int64_t>()) == "i64");
  CHECK(name_of(dtype_of<uint8_t>()) == "u8");
  CHECK(size_in_bytes(dtype_of<int16_t>()) == 2);
}
