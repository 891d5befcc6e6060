// A typed, strided view of N axes over memory that it doesn't own. The number of axes and the element type are part
// of the type, so that a wrong dtype or a missing axis is found where the view is made, and transposing or
// broadcasting is a change of strides, never a flag beside a pointer.
#pragma once

#include <tutti/plugin.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "shared/result.h"
#include "shared/tensor/dtype.h"

namespace tutti {

template <class T, int N>
struct View {
  T* data = nullptr;
  std::array<int64_t, N> shape{};
  std::array<int64_t, N> strides{};  // in elements

  View() = default;
  View(T* data, std::array<int64_t, N> shape, std::array<int64_t, N> strides)
      : data(data), shape(shape), strides(strides) {}
  // Dense, last axis fastest.
  View(T* data, std::array<int64_t, N> shape) : data(data), shape(shape) {
    int64_t step = 1;
    for (int axis = N - 1; axis >= 0; --axis) strides[axis] = step, step *= shape[axis];
  }

  operator View<const T, N>() const
    requires(!std::is_const_v<T>)
  {
    return {data, shape, strides};
  }

  template <class... Index>
    requires(sizeof...(Index) == N)
  T& operator()(Index... index) const {
    const std::array<int64_t, N> at{static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (int axis = 0; axis < N; ++axis) {
      assert(at[axis] >= 0 && at[axis] < shape[axis]);
      offset += at[axis] * strides[axis];
    }
    return data[offset];
  }

  // The view without its first axis, at index.
  View<T, N - 1> operator[](int64_t index) const
    requires(N > 1)
  {
    assert(index >= 0 && index < shape[0]);
    View<T, N - 1> part;
    part.data = data + index * strides[0];
    for (int axis = 1; axis < N; ++axis) part.shape[axis - 1] = shape[axis], part.strides[axis - 1] = strides[axis];
    return part;
  }

  // Elements first … last-1 of one axis.
  View slice(int axis, int64_t first, int64_t last) const {
    assert(first >= 0 && first <= last && last <= shape[axis]);
    View part = *this;
    part.data += first * strides[axis];
    part.shape[axis] = last - first;
    return part;
  }

  // The last two axes exchanged; no element moves.
  View transposed() const
    requires(N >= 2)
  {
    View other = *this;
    std::swap(other.shape[N - 1], other.shape[N - 2]);
    std::swap(other.strides[N - 1], other.strides[N - 2]);
    return other;
  }

  int64_t size() const {
    int64_t product = 1;
    for (int64_t length : shape) product *= length;
    return product;
  }

  bool is_dense() const {
    if (size() == 0) return true;
    int64_t step = 1;
    for (int axis = N - 1; axis >= 0; --axis) {
      if (shape[axis] != 1 && strides[axis] != step) return false;
      step *= shape[axis];
    }
    return true;
  }
};

template <class T>
using Matrix = View<T, 2>;

// One matrix shared by all of a batch: [rows, columns] seen as [batch, rows, columns], with stride 0.
template <class T>
View<T, 3> broadcast(const Matrix<T>& matrix, int64_t batch) {
  return {matrix.data, {batch, matrix.shape[0], matrix.shape[1]}, {0, matrix.strides[0], matrix.strides[1]}};
}

// "[8,60,16]"
std::string shape_text(const int64_t* shape, int ndim);

// Memory that the CPU can read.
inline bool is_cpu(tutti_device device) { return device.type == TUTTI_CPU || device.type == TUTTI_CPU_PINNED; }

// True where the first element lies at a multiple of the elements' size.
inline bool is_aligned(const tutti_tensor& tensor) {
  return (reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset) % static_cast<uintptr_t>(size_in_bytes(tensor.dtype)) == 0;
}

// A typed view of the contract's tensor. An error where dtype, number of axes, device or alignment are others; name is
// for the message.
template <class T, int N>
Result<View<T, N>> view_of(const tutti_tensor& tensor, const char* name) {
  if (tensor.ndim != N)
    return bad_input(std::string(name) + " has " + std::to_string(tensor.ndim) + " axes; " + std::to_string(N) + " are needed");
  if (!same_dtype(tensor.dtype, dtype_of<T>()))
    return bad_input(std::string(name) + " is " + name_of(tensor.dtype) + "; " + name_of(dtype_of<T>()) + " is needed");
  if (!is_cpu(tensor.device)) return unsupported(std::string(name) + " is not in CPU memory");
  if (!tensor.shape || !tensor.strides) return bad_input(std::string(name) + " has no shape or strides");
  if (!is_aligned(tensor)) return bad_input(std::string(name) + " is not aligned to its elements");
  View<T, N> view;
  view.data = reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
  for (int axis = 0; axis < N; ++axis) view.shape[axis] = tensor.shape[axis], view.strides[axis] = tensor.strides[axis];
  return view;
}

// The contract's tensor over a view's memory. Borrows the view's shape too, so the view must outlive it.
template <class T, int N>
tutti_tensor as_tensor(const View<T, N>& view) {
  return {const_cast<std::remove_const_t<T>*>(view.data), {TUTTI_CPU, 0}, N, dtype_of<T>(), view.shape.data(), view.strides.data(), 0};
}
template <class T, int N>
tutti_tensor as_tensor(View<T, N>&& view) = delete;

}  // namespace tutti
