// What a stream allocates: nothing after its first step, so that its latency has no surprises.
#include "tests/support/counted_memory.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"
#include "tests/unit/plugins/mamba2/contract_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

TEST_CASE("the counter sees what is allocated") {
  const int64_t before = testing::allocations(), bytes = testing::live_bytes();
  auto memory = std::make_unique<std::vector<double>>(1000);
  CHECK(testing::allocations() == before + 2);
  CHECK(testing::live_bytes() >= bytes + 8000);
  CHECK(testing::peak_bytes() >= testing::live_bytes());
}

TEST_CASE("a block's steps after the first allocate nothing") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    for (const BlockShape& shape : interesting_shapes()) {
      const int64_t rows = GENERATE(1, 20);
      BlockCase<T> c(shape, Segments::whole(rows, 1));
      const Block<T> block(shape, *find_kernels<T>(kernels.c_str()));
      const BlockParameters<const T> parameters = bind(c.parameters);
      SerialExecutor executor;
      const auto step = [&] {
        block.step(executor, rows, parameters, c.x.data(), {c.conv0.data(), c.ssm0.data()}, c.y.data(), c.tape, c.workspace);
      };
      step();
      const int64_t before = testing::allocations();
      for (int i = 0; i < 10; ++i) step();
      const int64_t after = testing::allocations();
      INFO(kernels);
      CHECK(after == before);
    }
  };
  check(0.0f), check(0.0);
}

TEST_CASE("a stream's steps after the first allocate nothing, through the contract") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  const TestHost host;
  for (const bool independent : {false, true}) {
    auto config = small_config();
    config["revin"] = false, config["channel_independent"] = independent, config["kernels"] = kernels;
    config["d_model"] = 40, config["d_state"] = 20;
    Problem problem = small_problem();
    problem.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES, problem.quantiles = {0.1, 0.5, 0.9};
    TestModel model(host, problem, config);
    const auto* table = TestModel::extension<tutti_stream>(TUTTI_STREAM_ID);
    tutti_error error{};
    tutti_stream_state* state = nullptr;
    REQUIRE(table->create(model.get(), 1, &state, &error) == TUTTI_OK);
    TestBatch<double> batch(problem, 1, 1);
    const View<double, 2> values(batch.past.data<double>(), {1, problem.features});
    const tutti_tensor frame = as_tensor(values);
    const tutti_output out = batch.output();
    const auto step = [&] { return table->step(model.get(), state, &frame, nullptr, &out, &error); };
    REQUIRE(step() == TUTTI_OK);
    const int64_t before = testing::allocations();
    bool all_ok = true;
    for (int i = 0; i < 10; ++i) all_ok = step() == TUTTI_OK && all_ok;
    const int64_t after = testing::allocations();
    INFO(kernels);
    CHECK(all_ok);
    CHECK(after == before);
    table->destroy(model.get(), state);
  }
}
