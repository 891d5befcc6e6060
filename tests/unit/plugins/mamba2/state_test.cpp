#include "plugins/mamba2/state.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

// Steps first … last-1 of c's input, from the states given, as a case of its own.
BlockCase<double> part_of(const BlockCase<double>& c, int64_t first, int64_t last, const std::vector<double>& conv,
                          const std::vector<double>& ssm) {
  const int64_t rows = c.segments.rows(), D = c.shape.d_model;
  BlockCase<double> part(c.shape, Segments::whole(rows, last - first));
  part.parameters = c.parameters, part.conv0 = conv, part.ssm0 = ssm;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(c.x.begin() + (row * c.segments.steps() + first) * D, (last - first) * D,
                part.x.begin() + row * (last - first) * D);
  part.forward();
  return part;
}

std::vector<double> steps_of(const BlockCase<double>& c, int64_t first, int64_t last) {
  const int64_t D = c.shape.d_model;
  std::vector<double> steps;
  for (int64_t row = 0; row < c.segments.rows(); ++row) {
    const auto begin = c.y.begin() + (row * c.segments.steps() + first) * D;
    steps.insert(steps.end(), begin, begin + (last - first) * D);
  }
  return steps;
}

}  // namespace

TEST_CASE("a sequence split anywhere, also inside the convolution's window, gives outputs and states of the whole") {
  for (const BlockShape& shape : interesting_shapes()) {
    BlockCase<double> whole(shape, Segments::whole(2, 11));
    whole.forward();
    for (int64_t split = 1; split < 11; ++split) {
      const BlockCase<double> first = part_of(whole, 0, split, whole.conv0, whole.ssm0);
      const BlockCase<double> second = part_of(whole, split, 11, first.conv1, first.ssm1);
      INFO("split " << split);
      CHECK(relative_difference(first.y, steps_of(whole, 0, split)) < 1e-13);
      CHECK(relative_difference(second.y, steps_of(whole, split, 11)) < 1e-13);
      CHECK(relative_difference(second.conv1, whole.conv1) < 1e-13);
      CHECK(relative_difference(second.ssm1, whole.ssm1) < 1e-13);
    }
  }
}

TEST_CASE("the gradient through two parts, handed over by their states, is that of the whole") {
  for (const BlockShape& shape : interesting_shapes()) {
    BlockCase<double> whole(shape, Segments::whole(2, 11));
    const auto d_y = random_values<double>(static_cast<int64_t>(whole.y.size()), 90);
    const std::vector<double> none_conv(whole.conv0.size()), none_ssm(whole.ssm0.size());
    whole.forward();
    whole.backward(d_y, none_conv, none_ssm);
    for (int64_t split : {1, 2, 5, 10}) {
      BlockCase<double> first = part_of(whole, 0, split, whole.conv0, whole.ssm0);
      BlockCase<double> second = part_of(whole, split, 11, first.conv1, first.ssm1);
      BlockCase<double> shown = whole;
      shown.y = d_y;
      second.backward(steps_of(shown, split, 11), none_conv, none_ssm);
      first.backward(steps_of(shown, 0, split), second.d_conv0, second.d_ssm0);
      CHECK(relative_difference(first.d_conv0, whole.d_conv0) < 1e-12);
      CHECK(relative_difference(first.d_ssm0, whole.d_ssm0) < 1e-12);
      for (size_t i = 0; i < whole.gradient.size(); ++i) {
        std::vector<double> sum = first.gradient[i].second;
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += second.gradient[i].second[k];
        INFO(whole.gradient[i].first << " split " << split);
        CHECK(relative_difference(sum, whole.gradient[i].second) < 1e-12);
      }
    }
  }
}

TEST_CASE("step after step a block gives what forward gives, with every option") {
  const char* kernels = GENERATE("reference", "auto");
  for (const BlockShape& shape : interesting_shapes()) {
    BlockCase<double> c(shape, Segments::whole(3, 9));
    c.forward(kernels);
    const Block<double> block(shape, *find_kernels<double>(kernels));
    SerialExecutor executor;
    std::vector<double> conv = c.conv0, ssm = c.ssm0, frame(static_cast<size_t>(3 * shape.d_model)), y = frame;
    BlockTape<double> tape;
    BlockWorkspace<double> workspace;
    for (int64_t t = 0; t < 9; ++t) {
      for (int64_t row = 0; row < 3; ++row)
        std::copy_n(c.x.begin() + (row * 9 + t) * shape.d_model, shape.d_model, frame.begin() + row * shape.d_model);
      block.step(executor, 3, bind(c.parameters), frame.data(), {conv.data(), ssm.data()}, y.data(), tape, workspace);
      CHECK(relative_difference(y, steps_of(c, t, t + 1)) < 1e-13);
    }
    CHECK(relative_difference(conv, c.conv1) < 1e-13);
    CHECK(relative_difference(ssm, c.ssm1) < 1e-13);
  }
}

TEST_CASE("packed sequences give the bits of each alone, and the first alone sees the initial state") {
  for (const BlockShape& shape : interesting_shapes()) {
    const std::vector<int32_t> sequence{4, 4, 4, 9, 9, 9, 9, 9, 2, 2};
    BlockCase<double> packed(shape, Segments::packed(1, 10, sequence.data()));
    packed.forward();
    const std::vector<double> zero_conv(packed.conv0.size()), zero_ssm(packed.ssm0.size());
    CHECK(steps_of(packed, 0, 3) == part_of(packed, 0, 3, packed.conv0, packed.ssm0).y);
    CHECK(steps_of(packed, 3, 8) == part_of(packed, 3, 8, zero_conv, zero_ssm).y);
    const BlockCase<double> last = part_of(packed, 8, 10, zero_conv, zero_ssm);
    CHECK(steps_of(packed, 8, 10) == last.y);
    CHECK(packed.ssm1 == last.ssm1);
    CHECK(packed.conv1 == last.conv1);
  }
}

TEST_CASE("padding leaks nothing, not even NaN, and rows of different lengths give the bits of each alone") {
  for (const BlockShape& shape : interesting_shapes()) {
    BlockCase<double> padded(shape, Segments::left_padded(8, {8, 3, 1}));
    for (int64_t at : {1 * 8 + 0, 1 * 8 + 4, 2 * 8 + 6})
      std::fill_n(padded.x.begin() + at * shape.d_model, shape.d_model, std::numeric_limits<double>::quiet_NaN());
    padded.forward();
    auto d_y = random_values<double>(static_cast<int64_t>(padded.y.size()), 90);
    d_y[static_cast<size_t>(8 * shape.d_model)] = NAN;  // a gradient at a padded step counts as nothing
    padded.backward(d_y, padded.conv0, padded.ssm0);
    CHECK(all_finite(padded.y));
    CHECK(all_finite(padded.d_x));
    for (const auto& [name, gradient] : padded.gradient) CHECK(all_finite(gradient));
    const auto row_of = [&](const std::vector<double>& values, int64_t row) {
      const auto size = static_cast<int64_t>(values.size()) / 3;
      return std::vector<double>(values.begin() + row * size, values.begin() + (row + 1) * size);
    };
    BlockCase<double> alone(shape, Segments::whole(1, 3));
    alone.parameters = padded.parameters;
    alone.conv0 = row_of(padded.conv0, 1), alone.ssm0 = row_of(padded.ssm0, 1);
    std::copy_n(padded.x.begin() + (8 + 5) * shape.d_model, 3 * shape.d_model, alone.x.begin());
    alone.forward();
    CHECK(std::equal(alone.y.begin(), alone.y.end(), padded.y.begin() + (8 + 5) * shape.d_model));
    CHECK(alone.ssm1 == row_of(padded.ssm1, 1));
    CHECK(alone.conv1 == row_of(padded.conv1, 1));
  }
}

TEST_CASE("outputs, states and gradients have the same bits at one thread and at two") {
  ThreadPool one(1), two(2);
  for (const char* kernels : {"reference", "auto"})
    for (const BlockShape& shape : interesting_shapes()) {
      BlockCase<double> serial(shape, Segments::left_padded(40, {40, 33, 1, 17, 40})), parallel = serial;
      serial.forward(kernels, &one), parallel.forward(kernels, &two);
      serial.backward(serial.x, serial.conv0, serial.ssm0, kernels, &one);
      parallel.backward(parallel.x, parallel.conv0, parallel.ssm0, kernels, &two);
      CHECK(serial.y == parallel.y);
      CHECK(serial.ssm1 == parallel.ssm1);
      CHECK(serial.d_x == parallel.d_x);
      CHECK(serial.d_ssm0 == parallel.d_ssm0);
      CHECK(serial.gradient == parallel.gradient);
    }
}
