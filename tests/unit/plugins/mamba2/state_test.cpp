#include "plugins/mamba2/state.h"

#include <catch2/catch.hpp>

#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

TEST_CASE("packed sequences give the bits of each alone, and the first alone sees the initial state") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  for (const BlockShape& shape : interesting_shapes()) {
    const std::vector<int32_t> sequence{4, 4, 4, 9, 9, 9, 9, 9, 2, 2};
    BlockCase<double> packed(shape, Segments::packed(1, 10, sequence.data()));
    packed.forward(kernels);
    const std::vector<double> zero_conv(packed.conv0.size()), zero_ssm(packed.ssm0.size());
    CHECK(steps_of(packed, packed.y, 0, 3) == part_of(packed, 0, 3, packed.conv0, packed.ssm0, kernels).y);
    CHECK(steps_of(packed, packed.y, 3, 8) == part_of(packed, 3, 8, zero_conv, zero_ssm, kernels).y);
    const BlockCase<double> last = part_of(packed, 8, 10, zero_conv, zero_ssm, kernels);
    CHECK(steps_of(packed, packed.y, 8, 10) == last.y);
    CHECK(packed.ssm1 == last.ssm1);
    CHECK(packed.conv1 == last.conv1);
  }
}

TEST_CASE("a state that one table of kernels left is taken up by any other") {
  for (const BlockShape& shape : interesting_shapes()) {
    BlockCase<double> whole(shape, Segments::whole(2, 11));
    whole.forward("reference");
    for (const std::string& before : kernel_tables())
      for (const std::string& after : kernel_tables()) {
        const BlockCase<double> first = part_of(whole, 0, 5, whole.conv0, whole.ssm0, before);
        const BlockCase<double> second = part_of(whole, 5, 11, first.conv1, first.ssm1, after);
        INFO(before << ", then " << after);
        CHECK(relative_difference(second.y, steps_of(whole, whole.y, 5, 11)) < 1e-13);  // rounding of eleven steps
        CHECK(relative_difference(second.ssm1, whole.ssm1) < 1e-13);
        CHECK(relative_difference(second.conv1, whole.conv1) < 1e-13);
      }
  }
}

TEST_CASE("an output whose steps lie apart is zeroed outside segments and touched nowhere else") {
  const BlockShape shape = interesting_shapes()[0];
  BlockCase<double> c(shape, Segments::left_padded(4, {4, 2}));
  c.forward();
  const int64_t D = shape.d_model, stride = D + 3;
  std::vector<double> wide(static_cast<size_t>(2 * 4 * stride), 7);
  SerialExecutor executor;
  Block<double>(shape, *find_kernels<double>("auto"))
      .forward(executor, c.segments, bind(c.parameters), c.steps(c.x), {c.conv0.data(), c.ssm0.data()},
               {wide.data(), {2, 4, D}, {4 * stride, stride, 1}}, {}, c.tape, c.workspace);
  for (int64_t at = 0; at < 8; ++at)
    for (int64_t i = 0; i < stride; ++i) CHECK(wide[at * stride + i] == (i < D ? c.y[at * D + i] : 7));
}
