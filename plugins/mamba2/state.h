// What a block remembers between steps, for each row: the inputs that its convolution still needs, and the state of
// its scan. Pointers borrow; either may be null: zeros where read, dropped where written.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::mamba2 {

template <class T>
struct BlockState {
  T* conv = nullptr;  // [rows, d_conv-1, d_ssm + 2 ngroups d_state], before the convolution, oldest first
  T* ssm = nullptr;   // [rows, heads, headdim, d_state]

  operator BlockState<const T>() const { return {conv, ssm}; }
};

}  // namespace tutti::mamba2
