// How far f32 is from f64, and a sequence in parts from the whole.
#include <catch2/catch.hpp>

#include "plugins/mamba2/weights.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

// A block with the weights that training starts from, and no initial state.
BlockCase<float> fresh_block(int64_t d_state, int64_t steps) {
  Config config;
  config.layers = 1;
  BlockShape& s = config.block;
  s.d_model = 32, s.d_inner = s.d_ssm = 64, s.headdim = 16, s.d_state = d_state, s.chunk = 32;
  const WeightLayout layout(config, {1, 1});
  std::vector<float> weights(static_cast<size_t>(layout.size()));
  layout.initialise(3, weights.data());
  BlockCase<float> c(s, Segments::whole(1, steps));
  c.has_initial = false;
  for (auto& [name, values] : c.parameters) {
    const float* from = layout.find("layers.0.mixer." + name, weights.data());
    REQUIRE(from);
    values.assign(from, from + values.size());
  }
  return c;
}

}  // namespace

// 1e-5: some hundred roundings of 6e-8 in a sum of 60 steps; 1e-4: what may be added where a state with the slowest decay,
// exp(-1e-3), remembers thousands of steps.
TEST_CASE("f32 outputs and states are within 1e-5 of f64 at 60 steps and within 1e-4 at 16,384") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  for (const int64_t d_state : {16, 64})
    for (const auto& [steps, bound] : {std::pair<int64_t, double>(60, 1e-5), std::pair<int64_t, double>(16384, 1e-4)}) {
      BlockCase<float> narrow = fresh_block(d_state, steps);
      BlockCase<double> wide = widened(narrow);
      wide.has_initial = false;
      narrow.forward(kernels), wide.forward(kernels);
      INFO(kernels << ", d_state " << d_state << ", " << steps << " steps: " << relative_difference(narrow.y, wide.y)
                   << ", state " << relative_difference(narrow.ssm1, wide.ssm1));
      CHECK(relative_difference(narrow.y, wide.y) < bound);
      CHECK(relative_difference(narrow.ssm1, wide.ssm1) < bound);
    }
}

TEST_CASE("a sequence split anywhere is the whole within 1e-5 in f32 and 1e-13 in f64") {
  // Products of other shapes add in another order: the rounding of 60 steps. A convolution's window is copied.
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  const auto check = [&](const auto& whole, double bound) {
    using T = std::decay_t<decltype(whole.y[0])>;
    const std::vector<T> zero_conv(whole.conv0.size()), zero_ssm(whole.ssm0.size());
    for (int64_t split = 1; split < 60; ++split) {
      const BlockCase<T> first = part_of(whole, 0, split, zero_conv, zero_ssm, kernels);
      const BlockCase<T> second = part_of(whole, split, 60, first.conv1, first.ssm1, kernels);
      std::vector<T> y = first.y;
      y.insert(y.end(), second.y.begin(), second.y.end());
      INFO(kernels << ", split " << split << ": " << relative_difference(y, whole.y));
      CHECK(relative_difference(y, whole.y) < bound);
      CHECK(relative_difference(second.ssm1, whole.ssm1) < bound);
      CHECK(relative_difference(second.conv1, whole.conv1) < bound);
    }
  };
  BlockCase<float> narrow = fresh_block(16, 60);
  BlockCase<double> wide = widened(narrow);
  wide.has_initial = false;
  narrow.forward(kernels), wide.forward(kernels);
  check(narrow, 1e-5), check(wide, 1e-13);
}
