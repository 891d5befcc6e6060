#include "shared/linalg/gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "shared/random/philox.h"

using namespace tutti;

namespace {

// The definition, in double.
template <class T>
std::vector<double> plain_product(double alpha, Matrix<const T> a, Matrix<const T> b, double beta, Matrix<const T> c) {
  std::vector<double> result;
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.shape[1]; ++k) sum += double{a(i, k)} * double{b(k, j)};
      result.push_back(alpha * sum + (beta == 0 ? 0 : beta * c(i, j)));
    }
  return result;
}

template <class T>
std::vector<T> random_values(size_t count, uint64_t stream) {
  const Philox random(1, stream);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(random.uniform(i, -1, 1));
  return values;
}

// The rounding error of a sum of depth products of numbers up to 1 is at most depth * epsilon for each product.
template <class T>
double tolerance(int64_t depth) {
  return std::numeric_limits<T>::epsilon() * static_cast<double>((depth + 2) * (depth + 2));
}

template <class T>
void check_product(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  const std::vector<double> expected = plain_product<T>(alpha, a, b, beta, c);
  gemm<T>(alpha, a, b, beta, c);
  double worst = 0;
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j)
      worst = std::max(worst, std::abs(c(i, j) - expected[static_cast<size_t>(i * c.shape[1] + j)]));
  CHECK(worst <= tolerance<T>(a.shape[1]));
}

struct Shape {
  int64_t m, k, n;
};
const Shape kShapes[] = {{1, 1, 1}, {1, 7, 5}, {5, 7, 1}, {1, 9, 1}, {3, 1, 4}, {2, 3, 4}, {7, 5, 9}, {17, 33, 13}, {64, 48, 31}};

std::string what_gemm_throws(Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  try {
    gemm(1.0, a, b, 0.0, c);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEMPLATE_TEST_CASE("a product equals the plain loops for every way of transposing the operands", "", float, double) {
  for (const auto& [m, k, n] : kShapes) {
    const auto a = random_values<TestType>(static_cast<size_t>(m * k), 0);
    const auto b = random_values<TestType>(static_cast<size_t>(k * n), 1);
    for (const bool turn_a : {false, true})
      for (const bool turn_b : {false, true})
        for (const bool turn_c : {false, true}) {
          CAPTURE(m, k, n, turn_a, turn_b, turn_c);
          auto c = random_values<TestType>(static_cast<size_t>(m * n), 2);
          using In = Matrix<const TestType>;
          using Out = Matrix<TestType>;
          const In in_a = turn_a ? In(a.data(), {k, m}).transposed() : In(a.data(), {m, k});
          const In in_b = turn_b ? In(b.data(), {n, k}).transposed() : In(b.data(), {k, n});
          const Out out = turn_c ? Out(c.data(), {n, m}).transposed() : Out(c.data(), {m, n});
          check_product<TestType>(1, in_a, in_b, 0, out);
          check_product<TestType>(TestType(0.5), in_a, in_b, TestType(-0.25), out);
          check_product<TestType>(-1, in_a, in_b, 1, out);
        }
  }
}

TEMPLATE_TEST_CASE("operands may be parts of larger matrices and have no stride of 1", "", float, double) {
  const auto memory_a = random_values<TestType>(40 * 40, 0), memory_b = random_values<TestType>(40 * 40, 1);
  auto memory_c = random_values<TestType>(40 * 40, 2);
  const auto before = memory_c;
  const Matrix<const TestType> every_third(memory_a.data(), {7, 9}, {120, 3});
  const Matrix<const TestType> backwards(memory_b.data() + 8 * 40, {9, 5}, {-40, 1});
  const Matrix<TestType> inner = Matrix<TestType>(memory_c.data(), {40, 40}).slice(0, 3, 10).slice(1, 4, 9);
  check_product<TestType>(2, every_third, backwards, 1, inner);
  for (size_t at = 0; at < before.size(); ++at) {
    const size_t row = at / 40, column = at % 40;
    if (row < 3 || row >= 10 || column < 4 || column >= 9) REQUIRE(memory_c[at] == before[at]);
  }
  const Matrix<const TestType> one_row_for_all(memory_a.data(), {7, 9}, {0, 1});
  check_product<TestType>(1, one_row_for_all, backwards, 0, inner);
}

TEST_CASE("a product over a zero-length axis is zero, and an empty result is left alone") {
  std::vector<double> c{1, 2, 3, 4, 5, 6};
  gemm(1.0, Matrix<const double>(nullptr, {2, 0}), Matrix<const double>(nullptr, {0, 3}), 2.0, Matrix<double>(c.data(), {2, 3}));
  CHECK(c == std::vector<double>{2, 4, 6, 8, 10, 12});
  c[0] = NAN;
  gemm(1.0, Matrix<const double>(nullptr, {2, 0}), Matrix<const double>(nullptr, {0, 3}), 0.0, Matrix<double>(c.data(), {2, 3}));
  CHECK(c == std::vector<double>(6, 0.0));
  const std::vector<double> b{1, 2, 3, 4, 5, 6};
  gemm(1.0, Matrix<const double>(nullptr, {0, 2}), Matrix<const double>(b.data(), {2, 3}), 0.0, Matrix<double>(nullptr, {0, 3}));
  gemm(1.0, View<const double, 3>(nullptr, {0, 2, 2}), View<const double, 3>(nullptr, {0, 2, 2}), 0.0,
       View<double, 3>(nullptr, {0, 2, 2}));
}

TEMPLATE_TEST_CASE("with beta 0 a NaN in the result is overwritten", "", float, double) {
  for (const auto& [m, k, n] : kShapes) {
    const auto a = random_values<TestType>(static_cast<size_t>(m * k), 0);
    const auto b = random_values<TestType>(static_cast<size_t>(k * n), 1);
    std::vector<TestType> c(static_cast<size_t>(m * n), std::numeric_limits<TestType>::quiet_NaN());
    check_product<TestType>(1, {a.data(), {m, k}}, {b.data(), {k, n}}, 0, {c.data(), {m, n}});
  }
}

TEMPLATE_TEST_CASE("one matrix is shared by all of a batch", "", float, double) {
  for (const int64_t batch : {1, 8, 16}) {
    const auto a = random_values<TestType>(static_cast<size_t>(batch * 5 * 7), 0), b = random_values<TestType>(7 * 3, 1);
    std::vector<TestType> c(static_cast<size_t>(batch * 5 * 3));
    const View<const TestType, 3> all_a(a.data(), {batch, 5, 7});
    const Matrix<const TestType> shared(b.data(), {7, 3});
    const View<TestType, 3> all_c(c.data(), {batch, 5, 3});
    gemm<TestType>(1, all_a, broadcast(shared, batch), 0, all_c);
    for (int64_t i = 0; i < batch; ++i) {
      const auto expected = plain_product<TestType>(1, all_a[i], shared, 0, all_c[i]);
      for (int64_t j = 0; j < 15; ++j)
        REQUIRE(all_c[i](j / 3, j % 3) == Approx(expected[static_cast<size_t>(j)]).margin(tolerance<TestType>(7)));
    }
  }
}

TEST_CASE("shapes that don't fit are named") {
  std::vector<double> memory(64);
  const Matrix<double> a(memory.data(), {2, 3}), b(memory.data(), {4, 5}), c(memory.data(), {2, 5});
  CHECK(what_gemm_throws(a, b, c) == "gemm: [2,3] by [4,5] does not give [2,5]");
  CHECK(what_gemm_throws(a, Matrix<double>(memory.data(), {3, 4}), c) == "gemm: [2,3] by [3,4] does not give [2,5]");
  const Matrix<double> strided(memory.data(), {2, 5}, {20, 2});
  CHECK(what_gemm_throws(a, Matrix<double>(memory.data(), {3, 5}), strided) == "gemm: the result has no stride of 1");
  const View<const double, 3> two(memory.data(), {2, 2, 2}), three(memory.data(), {3, 2, 2});
  CHECK_THROWS_WITH(gemm(1.0, two, three, 0.0, View<double, 3>(memory.data(), {2, 2, 2})),
                    "gemm: batches of 2, 3 and 2 differ; share one matrix with broadcast()");
}

TEMPLATE_TEST_CASE("the same shapes give the same bits, wherever the matrices lie", "", float, double) {
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  for (int64_t small = 0; small < 8 * 8 * 8; ++small) shapes.push_back({small / 64 + 1, small / 8 % 8 + 1, small % 8 + 1});
  for (const auto& [m, k, n] : shapes)
    for (const TestType beta : {TestType(0), TestType(0.5)}) {
      CAPTURE(m, k, n, beta);
      const auto size_a = static_cast<size_t>(m * k), size_b = static_cast<size_t>(k * n), size_c = static_cast<size_t>(m * n);
      const auto a = random_values<TestType>(size_a, 0), b = random_values<TestType>(size_b, 1), c = random_values<TestType>(size_c, 2);
      std::vector<TestType> first;
      for (size_t shift = 0; shift < 16; ++shift) {  // every place within 64 bytes, for every operand
        std::vector<TestType> there(size_a + size_b + size_c + 64);
        TestType *to_a = there.data() + shift, *to_b = to_a + size_a + shift % 3, *to_c = to_b + size_b + shift % 5;
        std::copy(a.begin(), a.end(), to_a), std::copy(b.begin(), b.end(), to_b), std::copy(c.begin(), c.end(), to_c);
        gemm<TestType>(1, Matrix<const TestType>(to_a, {m, k}), Matrix<const TestType>(to_b, {k, n}), beta, Matrix<TestType>(to_c, {m, n}));
        const std::vector<TestType> result(to_c, to_c + size_c);
        if (first.empty()) first = result;
        REQUIRE(std::memcmp(result.data(), first.data(), size_c * sizeof(TestType)) == 0);
      }
    }
}
