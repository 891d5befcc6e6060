// Element types of tensors: from a C++ type to the contract's dtype, and to the name that messages use.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace tutti {

inline bool same_dtype(tutti_dtype a, tutti_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// The dtype of an arithmetic C++ type; const makes no difference.
template <class T>
constexpr tutti_dtype dtype_of() {
  using Element = std::remove_const_t<T>;
  static_assert(std::is_arithmetic_v<Element>);
  constexpr uint8_t code = std::is_floating_point_v<Element> ? TUTTI_FLOAT
                           : std::is_signed_v<Element>       ? TUTTI_INT
                                                             : TUTTI_UINT;
  return {code, sizeof(Element) * 8, 1};
}

inline int64_t size_in_bytes(tutti_dtype dtype) { return int64_t{dtype.bits} * dtype.lanes / 8; }

// "f32", "i64", "u8" …
std::string name_of(tutti_dtype dtype);

}  // namespace tutti
