// Asking early for memory that the processor doesn't see coming: rows that lie further apart than a page.
#pragma once

#include <cstdint>

namespace tutti::mamba2::TUTTI_KERNELS {

// Asks for the cache lines of count numbers.
template <class T>
inline void fetch(const T* data, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(data + i);
}
template <class T>
inline void fetch_to_write(T* data, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(data + i, 1);
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
