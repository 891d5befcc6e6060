// An owning, dense tensor whose element type is known at run time: what checkpoints, parameters and batches are
// made of. Memory is aligned to 64 bytes and zeroed. Moves cheaply, leaving an empty tensor behind; copies only by
// clone().
#pragma once

#include <tutti/plugin.h>

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "shared/tensor/dtype.h"
#include "shared/tensor/view.h"

namespace tutti {

class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  // Throws std::bad_alloc where there isn't so much memory, or its size can't be counted.
  Tensor(tutti_dtype dtype, std::vector<int64_t> shape);

  template <class T>
  static Tensor of(std::vector<int64_t> shape) {
    return Tensor(dtype_of<T>(), std::move(shape));
  }

  Tensor clone() const;

  tutti_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t bytes() const { return size_ * size_in_bytes(dtype_); }

  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }

  // The elements; T must be the dtype.
  template <class T>
  T* data() {
    assert(same_dtype(dtype_, dtype_of<T>()));
    return static_cast<T*>(data());
  }
  template <class T>
  const T* data() const {
    assert(same_dtype(dtype_, dtype_of<T>()));
    return static_cast<const T*>(data());
  }

  // A typed view; N must be the number of axes.
  template <class T, int N>
  View<T, N> view() {
    return View<T, N>(data<T>(), axes<N>());
  }
  template <class T, int N>
  View<const T, N> view() const {
    return View<const T, N>(data<T>(), axes<N>());
  }

  // The contract's tensor over this memory; valid as long as this Tensor is neither moved nor destroyed.
  tutti_tensor borrow() const;

 private:
  void swap(Tensor& other) noexcept {
    std::swap(dtype_, other.dtype_), std::swap(size_, other.size_);
    shape_.swap(other.shape_), strides_.swap(other.strides_), memory_.swap(other.memory_);
  }

  template <int N>
  std::array<int64_t, N> axes() const {
    assert(shape_.size() == N);
    std::array<int64_t, N> result;
    for (int axis = 0; axis < N; ++axis) result[axis] = shape_[axis];
    return result;
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  tutti_dtype dtype_{TUTTI_FLOAT, 64, 1};
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  int64_t size_ = 0;
  std::unique_ptr<void, Free> memory_;
};

}  // namespace tutti
