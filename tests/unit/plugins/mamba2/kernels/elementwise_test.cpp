#include "plugins/mamba2/kernels/cpu/elementwise.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace tutti::mamba2::TUTTI_KERNELS;

namespace {

// How many of T's steps between numbers got is away from exact.
template <class T>
double ulp(T got, long double exact) {
  const T magnitude = std::abs(static_cast<T>(exact));
  const long double step = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - static_cast<long double>(magnitude);
  return static_cast<double>(std::abs(got - exact) / step);
}

// The largest ulp of function over many arguments from first to last.
template <class T, class Function, class Exact>
double worst(double first, double last, Function function, Exact exact) {
  constexpr int kCount = 40001;
  double result = 0;
  for (int i = 0; i < kCount; ++i) {
    const T v = static_cast<T>(first + (last - first) * i / (kCount - 1));
    const double error = ulp(function(v), exact(static_cast<long double>(v)));
    result = error <= result ? result : error;  // NaN counts
  }
  return result;
}

}  // namespace

// Bounds: the series are cut below 0.2 ulp; what remains are the roundings of the last few operations, counted from 1
// (exp) to 3 (softplus and silu: exp, addition, division, multiplication).
TEMPLATE_TEST_CASE("exp is within one ulp, also where it is subnormal", "", float, double) {
  using T = TestType;
  const double lowest = sizeof(T) == 4 ? -103 : -745, highest = sizeof(T) == 4 ? 88.7 : 709.7;
  const auto exact = [](long double v) { return std::exp(v); };
  CHECK(worst<T>(-1, 1, fast_exp<T>, exact) <= 1);
  CHECK(worst<T>(-30, 30, fast_exp<T>, exact) <= 1);
  CHECK(worst<T>(lowest, highest, fast_exp<T>, exact) <= 1);
  CHECK(fast_exp(T(0)) == 1);
}

TEMPLATE_TEST_CASE("softplus is within three ulp from -100 to 1e4", "", float, double) {
  using T = TestType;
  const auto exact = [](long double v) { return v > 1000 ? v : std::log1p(std::exp(v)); };
  CHECK(worst<T>(-1, 1, fast_softplus<T>, exact) <= 3);
  CHECK(worst<T>(-100, 100, fast_softplus<T>, exact) <= 3);
  CHECK(worst<T>(100, 1e4, fast_softplus<T>, exact) <= 3);
}

TEMPLATE_TEST_CASE("silu and sigmoid are within three ulp", "", float, double) {
  using T = TestType;
  const auto sigmoid = [](long double v) { return 1 / (1 + std::exp(-v)); };
  for (double range : {1.0, 20.0, 80.0}) {
    CHECK(worst<T>(-range, range, fast_sigmoid<T>, sigmoid) <= 3);
    CHECK(worst<T>(-range, range, fast_silu<T>, [&](long double v) { return v * sigmoid(v); }) <= 3);
  }
}

TEMPLATE_TEST_CASE("the ends of the range are those of the standard library", "", float, double) {
  using T = TestType;
  const T infinity = std::numeric_limits<T>::infinity();
  CHECK(fast_exp(infinity) == infinity);
  CHECK(fast_exp(-infinity) == 0);
  CHECK(fast_exp(T(1e30)) == infinity);
  CHECK(fast_exp(T(-1e30)) == 0);
  CHECK(std::isnan(fast_exp(std::numeric_limits<T>::quiet_NaN())));
  CHECK(std::isnan(fast_softplus(std::numeric_limits<T>::quiet_NaN())));
  CHECK(std::isnan(fast_silu(std::numeric_limits<T>::quiet_NaN())));
  CHECK(fast_silu(T(1e30)) == T(1e30));
  CHECK(fast_silu(T(-1e30)) == 0);
  CHECK(fast_softplus(T(1e30)) == T(1e30));
}

TEMPLATE_TEST_CASE("an element has the same bits in a vector and alone", "", float, double) {
  using T = TestType;
  std::vector<T> v(67), exp(67), silu(67), softplus(67);  // no multiple of a vector
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(0.37 * static_cast<double>(i) - 11);
  for (size_t i = 0; i < v.size(); ++i) exp[i] = fast_exp(v[i]), silu[i] = fast_silu(v[i]), softplus[i] = fast_softplus(v[i]);
  for (size_t i = 0; i < v.size(); ++i) {
    const volatile T alone = v[i];
    CHECK(exp[i] == fast_exp<T>(alone));
    CHECK(silu[i] == fast_silu<T>(alone));
    CHECK(softplus[i] == fast_softplus<T>(alone));
  }
}
