// The scalar functions of a block and their derivatives, in the precision of their argument and finite for every finite
// one. C++17.
#pragma once

#include <algorithm>
#include <cmath>

namespace tutti::mamba2 {

template <class T>
T sigmoid(T v) {
  return T(1) / (T(1) + std::exp(-v));
}

template <class T>
T silu(T v) {
  return v * sigmoid(v);
}

template <class T>
T silu_derivative(T v) {
  const T s = sigmoid(v);
  return s * (T(1) + v * (T(1) - s));
}

// log(1 + exp(v)) without overflow for large v and without losing the small value for very negative v.
template <class T>
T softplus(T v) {
  return std::max(v, T(0)) + std::log1p(std::exp(-std::abs(v)));
}

}  // namespace tutti::mamba2
