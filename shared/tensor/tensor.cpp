#include "shared/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tutti {
namespace {

// Axes of no length are left out, so that the strides can be counted too.
void check_size(tutti_dtype dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = size_in_bytes(dtype);
  for (int64_t length : shape) {
    assert(length >= 0);
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes)) throw std::bad_alloc();
  }
  if (bytes > INT64_MAX - 64) throw std::bad_alloc();
}

}  // namespace

Tensor::Tensor(tutti_dtype dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()) {
  check_size(dtype_, shape_);
  int64_t step = 1;
  for (size_t axis = shape_.size(); axis-- > 0;) strides_[axis] = step, step *= shape_[axis];
  size_ = step;
  const size_t rounded = (static_cast<size_t>(bytes()) + 63) / 64 * 64;
  memory_.reset(std::aligned_alloc(64, rounded ? rounded : 64));
  if (!memory_) throw std::bad_alloc();
  std::memset(memory_.get(), 0, rounded);
}

Tensor Tensor::clone() const {
  if (!memory_) return {};
  Tensor copy(dtype_, shape_);
  std::memcpy(copy.data(), data(), static_cast<size_t>(bytes()));
  return copy;
}

tutti_tensor Tensor::borrow() const {
  return {
      const_cast<void*>(data()), {TUTTI_CPU, 0}, static_cast<int32_t>(shape_.size()), dtype_, shape_.data(), strides_.data(), 0};
}

}  // namespace tutti
