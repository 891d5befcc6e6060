#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "shared/linalg/gemm.h"
#include "shared/random/philox.h"

using namespace tutti;

// The product of the same numbers, with a, b and c each lying offset elements after an aligned address.
template <class T>
std::vector<T> product_at(int64_t offset, int64_t m, int64_t n, int64_t k, bool transposed) {
  const Philox random(1);
  std::vector<T> memory(static_cast<size_t>(m * k + k * n + m * n + 64));
  T* a = memory.data() + offset;
  T* b = a + m * k + 7 * offset % 8;
  T* c = b + k * n + 5 * offset % 8;
  for (int64_t i = 0; i < m * k; ++i) a[i] = static_cast<T>(random.normal(static_cast<uint64_t>(i)));
  for (int64_t i = 0; i < k * n; ++i) b[i] = static_cast<T>(random.normal(static_cast<uint64_t>(1000 + i)));
  const Matrix<const T> right = transposed ? Matrix<const T>(b, {n, k}).transposed() : Matrix<const T>(b, {k, n});
  const Matrix<T> result = transposed ? Matrix<T>(c, {n, m}).transposed() : Matrix<T>(c, {m, n});
  const Matrix<const T> left = transposed ? Matrix<const T>(a, {k, m}).transposed() : Matrix<const T>(a, {m, k});
  gemm<T>(T(1), left, right, T(0), result);
  return {c, c + m * n};
}

TEMPLATE_TEST_CASE("a product has the same bits wherever its operands lie", "", float, double) {
  for (int64_t m : {1, 2, 4, 7, 33})
    for (int64_t n : {1, 2, 5, 16})
      for (int64_t k : {1, 2, 5, 8, 13, 64})
        for (bool transposed : {false, true}) {
          const std::vector<TestType> first = product_at<TestType>(0, m, n, k, transposed);
          for (int64_t offset = 1; offset < 8; ++offset) {
            const std::vector<TestType> other = product_at<TestType>(offset, m, n, k, transposed);
            INFO(m << " " << n << " " << k << " " << transposed << " " << offset);
            REQUIRE(std::memcmp(first.data(), other.data(), first.size() * sizeof(TestType)) == 0);
          }
        }
}
