#include "plugins/mamba2/linear.h"

#include <catch2/catch.hpp>

#include "shared/parallel/thread_pool.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

// A linear layer over a batch with padding in it, and all that comes out of both passes.
template <class T>
struct LinearCase {
  int64_t inputs, outputs;
  Segments segments;
  std::vector<T> x, weight, bias, d_y;
  std::vector<T> y, d_x, d_weight, d_bias;

  LinearCase(int64_t inputs, int64_t outputs, Segments segments)
      : inputs(inputs),
        outputs(outputs),
        segments(std::move(segments)),
        x(random_values<T>(positions() * inputs, 1)),
        weight(random_values<T>(outputs * inputs, 2)),
        bias(random_values<T>(outputs, 3)),
        d_y(random_values<T>(positions() * outputs, 4)) {}

  int64_t positions() const { return segments.rows() * segments.steps(); }
  View<T, 3> view(std::vector<T>& values, int64_t width) const {
    return {values.data(), {segments.rows(), segments.steps(), width}};
  }

  LinearCase& run(const char* name, Executor& executor) {
    const Kernels<T>& kernels = *find_kernels<T>(name);
    Scratch<T> scratch;
    y.assign(d_y.size(), T(7)), d_x.assign(x.size(), T(7)), d_weight = weight, d_bias = bias;
    const Matrix<const T> w(weight.data(), {outputs, inputs});
    linear_forward<T>(kernels, executor, segments, view(x, inputs), w, bias.data(), view(y, outputs), scratch);
    linear_backward_input<T>(kernels, executor, segments, view(d_y, outputs), w, view(d_x, inputs), scratch);
    linear_backward_weight<T>(kernels, executor, segments, view(d_y, outputs), view(x, inputs), {d_weight.data(), {outputs, inputs}},
                              d_bias.data(), scratch);
    return *this;
  }
};

template <class T>
bool same_bits(const LinearCase<T>& a, const LinearCase<T>& b) {
  return a.y == b.y && a.d_x == b.d_x && a.d_weight == b.d_weight && a.d_bias == b.d_bias;
}

}  // namespace

TEMPLATE_TEST_CASE("every kernel's linear layer has the bits of the plain chain of multiply-adds, whatever its shape", "", float,
                   double) {
  ThreadPool pool(2);
  const std::vector<std::pair<int64_t, int64_t>> shapes{{1, 1}, {3, 5}, {16, 33}, {31, 64}, {257, 8}, {300, 131}, {520, 70}};
  for (const auto& [inputs, outputs] : shapes)
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{1}, {9, 9}, {4, 9, 1}, {60, 60, 60, 60, 60}}) {
      const Segments segments = Segments::left_padded(*std::max_element(lengths.begin(), lengths.end()), lengths);
      LinearCase<TestType> plain(inputs, outputs, segments), fast(inputs, outputs, segments);
      plain.run("reference", pool);
      for (const char* kernels : kernel_names()) {
        INFO(kernels << " " << inputs << " to " << outputs << ", rows of up to " << segments.steps());
        CHECK(same_bits(fast.run(kernels, pool), plain));
      }
    }
}

TEST_CASE("a linear layer refuses operands whose shapes don't fit") {
  SerialExecutor executor;
  Scratch<double> scratch;
  std::vector<double> x(12), weight(12), y(12);
  const Segments segments = Segments::whole(1, 3);
  const View<const double, 3> in(x.data(), {1, 3, 4});
  const Matrix<const double> w(weight.data(), {2, 4});
  const Kernels<double>& kernels = *find_kernels<double>("auto");
  const auto forward = [&](View<const double, 3> x, Matrix<const double> w, View<double, 3> y) {
    linear_forward<double>(kernels, executor, segments, x, w, nullptr, y, scratch);
  };
  CHECK_NOTHROW(forward(in, w, {y.data(), {1, 3, 2}}));
  CHECK_THROWS_WITH(forward(in, w.transposed(), {y.data(), {1, 3, 2}}), Catch::Contains("does not give"));
  CHECK_THROWS(forward(in, {weight.data(), {4, 2}}, {y.data(), {1, 3, 4}}));
  CHECK_THROWS(forward(in, w, {y.data(), {1, 3, 4}}));
  CHECK_THROWS(forward({x.data(), {1, 2, 4}}, w, {y.data(), {1, 3, 2}}));
}
