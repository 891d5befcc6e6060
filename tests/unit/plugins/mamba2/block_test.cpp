#include "plugins/mamba2/block.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Central differences at every element of values, against the analytic gradient. The step balances a rounding error of
// 1e-15 / step against a truncation error of step^4 (five-point rule), which small norms make some 1e6 times larger.
double gradient_error(std::vector<double>& values, const std::vector<double>& analytic, const std::function<double()>& loss) {
  const double step = 1e-4;
  std::vector<double> numeric(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double kept = values[i];
    const auto at = [&](double offset) { return values[i] = kept + offset * step, loss(); };
    numeric[i] = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
    values[i] = kept;
  }
  return relative_difference(analytic, numeric);
}

void check_gradients(BlockCase<double> c, const char* kernels) {
  const auto d_y = random_values<double>(static_cast<int64_t>(c.y.size()), 90);
  const auto d_conv1 = random_values<double>(static_cast<int64_t>(c.conv1.size()), 91);
  const auto d_ssm1 = random_values<double>(static_cast<int64_t>(c.ssm1.size()), 92);
  const auto loss = [&] {
    c.forward(kernels);
    return dot(c.y, d_y) + dot(c.conv1, d_conv1) + dot(c.ssm1, d_ssm1);
  };
  loss();
  c.backward(d_y, d_conv1, d_ssm1, kernels);
  for (size_t i = 0; i < c.parameters.size(); ++i) {
    INFO(c.parameters[i].first);
    CHECK(gradient_error(c.parameters[i].second, c.gradient[i].second, loss) < 1e-8);
  }
  CHECK(gradient_error(c.x, c.d_x, loss) < 1e-8);
  CHECK(gradient_error(c.conv0, c.d_conv0, loss) < 1e-8);
  CHECK(gradient_error(c.ssm0, c.d_ssm0, loss) < 1e-8);
}

}  // namespace

TEST_CASE("every gradient of a block is the limit of its differences") {
  const char* kernels = GENERATE("reference", "auto");
  for (const BlockShape& shape : interesting_shapes()) check_gradients({shape, Segments::whole(2, 7)}, kernels);
}

TEST_CASE("gradients are right in packed and padded rows") {
  const char* kernels = GENERATE("reference", "auto");
  const std::vector<int32_t> sequence{0, 0, 0, 1, 1, 2, 2, -1, -1, 4, 4, 4, 4, 4};
  for (const BlockShape& shape : interesting_shapes()) {
    check_gradients({shape, Segments::packed(2, 7, sequence.data())}, kernels);
    check_gradients({shape, Segments::left_padded(6, {6, 2, 5})}, kernels);
  }
}

TEST_CASE("without grouped_norm the norm looks at all channels, with it at each group's alone") {
  // The tape holds what the norm saw and made, so its equation can be checked by hand.
  BlockShape shape;
  shape.d_model = 3, shape.d_inner = shape.d_ssm = 4, shape.headdim = 2, shape.ngroups = 2, shape.d_state = 2;
  for (const bool grouped : {true, false}) {
    shape.grouped_norm = grouped;
    BlockCase<double> c(shape, Segments::whole(1, 1));
    c.forward();
    double v[4], square[2] = {0, 0};
    for (int i = 0; i < 4; ++i) {
      const double z = c.tape.projected[static_cast<size_t>(i)];
      v[i] = c.tape.y[static_cast<size_t>(i)] * z / (1 + std::exp(-z));
      square[i / 2] += v[i] * v[i];
    }
    for (int i = 0; i < 4; ++i) {
      const double mean = grouped ? square[i / 2] / 2 : (square[0] + square[1]) / 4;
      const double expected = v[i] / std::sqrt(mean + 1e-5) * find(c.parameters, "norm.weight")[i];
      CHECK(c.tape.mixed[static_cast<size_t>(i)] == Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("chunks of any length give what the recurrences give") {
  for (int64_t chunk : {1, 2, 16, 64, 256})
    for (int64_t steps :
         {int64_t{1}, int64_t{2}, int64_t{3}, chunk - 1, chunk, chunk + 1, int64_t{255}, int64_t{256}, int64_t{257}}) {
      if (steps < 1) continue;
      for (int64_t groups : {1, 3})
        for (int64_t state : {1, 16}) {
          BlockShape shape;
          shape.d_model = 4, shape.d_inner = shape.d_ssm = 9, shape.headdim = 3, shape.ngroups = groups, shape.d_state = state;
          shape.chunk = chunk;
          BlockCase<double> reference(shape, Segments::whole(1, steps)), chunked = reference;
          reference.forward("reference"), chunked.forward("auto");
          INFO("chunk " << chunk << " steps " << steps << " groups " << groups << " state " << state);
          REQUIRE(relative_difference(chunked.y, reference.y) < 1e-12);  // rounding of 257 steps
          REQUIRE(relative_difference(chunked.ssm1, reference.ssm1) < 1e-12);
          REQUIRE(chunked.conv1 == reference.conv1);
          const auto d_y = random_values<double>(static_cast<int64_t>(reference.y.size()), 90);
          reference.backward(d_y, reference.conv0, reference.ssm0, "reference");
          chunked.backward(d_y, reference.conv0, reference.ssm0, "auto");
          REQUIRE(relative_difference(chunked.d_x, reference.d_x) < 1e-11);
          REQUIRE(relative_difference(chunked.d_ssm0, reference.d_ssm0) < 1e-11);
          for (size_t i = 0; i < reference.gradient.size(); ++i) {
            INFO(reference.gradient[i].first);
            REQUIRE(relative_difference(chunked.gradient[i].second, reference.gradient[i].second) < 1e-11);
          }
        }
    }
}

TEMPLATE_TEST_CASE("all instruction sets give the same bits", "", float, double) {
  std::vector<BlockCase<TestType>> cases;
  std::vector<std::string> names;
  for (const char* name : kernel_names()) {
    if (name == std::string("reference")) continue;
    BlockShape shape;
    shape.d_model = 24, shape.d_inner = 60, shape.d_ssm = 42, shape.headdim = 7, shape.ngroups = 2, shape.d_state = 19;
    shape.chunk = 10, shape.bias = true;
    cases.emplace_back(shape, Segments::left_padded(93, {93, 17, 60}));
    names.push_back(name);
    const auto d_y = random_values<TestType>(3 * 93 * shape.d_model, 40);
    cases.back().forward(name), cases.back().backward(d_y, cases.back().conv0, cases.back().ssm0, name);
  }
  for (size_t i = 1; i < cases.size(); ++i) {
    INFO(names[i] << " against " << names[0]);
    CHECK(cases[i].y == cases[0].y);
    CHECK(cases[i].ssm1 == cases[0].ssm1);
    CHECK(cases[i].d_x == cases[0].d_x);
    CHECK(cases[i].d_ssm0 == cases[0].d_ssm0);
    CHECK(cases[i].gradient == cases[0].gradient);
  }
}
