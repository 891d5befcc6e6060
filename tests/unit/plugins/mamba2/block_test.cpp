#include "plugins/mamba2/block.h"

#include <catch2/catch.hpp>

#include "tests/unit/plugins/mamba2/differences.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

void check_gradients(const BlockCase<double>& c, const std::string& kernels) {
  for (const auto& [name, error] : gradient_errors(c, kernels)) {
    INFO(kernels << ", " << name);
    CHECK(error < 1e-8);
  }
}

}  // namespace

TEST_CASE("every gradient of a block is the limit of its differences") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  for (const BlockShape& shape : interesting_shapes()) check_gradients({shape, Segments::whole(2, 7)}, kernels);
}

TEST_CASE("gradients are right in packed and padded rows") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  const std::vector<int32_t> sequence{0, 0, 0, 1, 1, 2, 2, -1, -1, 4, 4, 4, 4, 4};
  for (const BlockShape& shape : interesting_shapes()) {
    check_gradients({shape, Segments::packed(2, 7, sequence.data())}, kernels);
    check_gradients({shape, Segments::left_padded(6, {6, 2, 5})}, kernels);
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
          BlockCase<double> reference(shape, Segments::whole(1, steps));
          const auto d_y = random_values<double>(static_cast<int64_t>(reference.y.size()), 90);
          reference.forward("reference");
          reference.backward(d_y, reference.conv0, reference.ssm0, "reference");
          for (const std::string& kernels : kernel_tables()) {
            BlockCase<double> other = reference;
            other.forward(kernels);
            INFO(kernels << ", chunk " << chunk << " steps " << steps << " groups " << groups << " state " << state);
            REQUIRE(relative_difference(other.y, reference.y) < 1e-12);  // rounding of 257 steps
            REQUIRE(relative_difference(other.ssm1, reference.ssm1) < 1e-12);
            REQUIRE(other.conv1 == reference.conv1);
            other.backward(d_y, reference.conv0, reference.ssm0, kernels);
            REQUIRE(relative_difference(other.d_x, reference.d_x) < 1e-11);
            REQUIRE(relative_difference(other.d_ssm0, reference.d_ssm0) < 1e-11);
            for (size_t i = 0; i < reference.gradient.size(); ++i) {
              INFO(reference.gradient[i].first);
              REQUIRE(relative_difference(other.gradient[i].second, reference.gradient[i].second) < 1e-11);
            }
          }
        }
    }
}

TEST_CASE("without rows or without steps a block computes nothing and has no gradient") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  for (const BlockShape& shape : interesting_shapes())
    for (const auto& [rows, steps] : {std::pair<int64_t, int64_t>(0, 5), std::pair<int64_t, int64_t>(3, 0)}) {
      BlockCase<double> c(shape, Segments::whole(rows, steps));
      c.forward(kernels);
      c.backward(c.x, c.conv0, c.ssm0, kernels);
      INFO(kernels << ", " << rows << " rows of " << steps << " steps");
      for (const auto& [name, values] : c.gradient)
        CHECK(std::all_of(values.begin(), values.end(), [](double g) { return g == 0; }));
    }
}

TEST_CASE("NaN, infinity and huge numbers in one row don't reach the others") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  ThreadPool threads(2);
  for (const BlockShape& shape : interesting_shapes())
    for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), 1e300}) {
      BlockCase<double> clean(shape, Segments::whole(3, 6)), spoilt = clean;
      std::fill_n(spoilt.x.begin() + 6 * shape.d_model, 6 * shape.d_model, bad);
      for (BlockCase<double>* c : {&clean, &spoilt}) {
        c->forward(kernels, &threads);
        c->backward(random_values<double>(static_cast<int64_t>(c->y.size()), 90), c->conv0, c->ssm0, kernels, &threads);
      }
      INFO(kernels << " with " << bad);
      for (const auto values : {&BlockCase<double>::y, &BlockCase<double>::conv1, &BlockCase<double>::ssm1,
                                &BlockCase<double>::d_x, &BlockCase<double>::d_conv0, &BlockCase<double>::d_ssm0}) {
        const std::vector<double>&a = clean.*values, &b = spoilt.*values;
        const auto row = static_cast<std::ptrdiff_t>(a.size() / 3);
        CHECK(std::equal(a.begin(), a.begin() + row, b.begin()));
        CHECK(std::equal(a.begin() + 2 * row, a.end(), b.begin() + 2 * row));
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
