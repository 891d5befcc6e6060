#include "plugins/mamba2/trainer.h"

#include <algorithm>
#include <numbers>

#include "tests/unit/plugins/mamba2/contract_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

TEST_CASE("training resumed from its parameters gives the same bits") {
  const TestHost host(2);
  auto config = small_config();
  config["dropout"] = 0.2, config["warmup_steps"] = 3;
  TestModel through(host, small_problem(), config);
  through.begin(20);
  for (uint64_t step = 0; step < 5; ++step) through.train(TestBatch<double>(small_problem(), 4, 12, step));
  const auto saved = through.snapshot();
  TestModel resumed(host, small_problem(), config);
  resumed.begin(20);
  resumed.restore(saved);
  for (uint64_t step = 5; step < 10; ++step) {
    const TestBatch<double> batch(small_problem(), 4, 12, step);
    CHECK(through.train(batch).loss == resumed.train(batch).loss);
  }
  CHECK(through.snapshot() == resumed.snapshot());
}

TEST_CASE("training has the same bits at one thread and at two") {
  const TestHost one(1), two(2);
  auto config = small_config();
  config["dropout"] = 0.2;
  for (const bool independent : {false, true}) {
    config["channel_independent"] = independent;
    TestModel serial(one, small_problem(), config), parallel(two, small_problem(), config);
    for (uint64_t step = 0; step < 4; ++step) {
      const TestBatch<double> batch(small_problem(), 9, 12, step);
      serial.train(batch), parallel.train(batch);
    }
    CHECK(serial.snapshot() == parallel.snapshot());
  }
}

TEST_CASE("reset gives back what create gave") {
  const TestHost host;
  TestModel model(host, small_problem());
  const auto fresh = model.snapshot();
  model.train(TestBatch<double>(small_problem(), 4, 12));
  CHECK(model.snapshot() != fresh);
  tutti_error error{};
  REQUIRE(model_type()->reset(model.get(), &error) == TUTTI_OK);
  CHECK(model.snapshot() == fresh);
}

TEST_CASE("a batch whose loss isn't finite is answered as diverged and changes nothing") {
  const TestHost host;
  TestModel model(host, small_problem());
  const auto before = model.snapshot();
  TestBatch<double> batch(small_problem(), 4, 12);
  batch.target.data<double>()[3] = NAN;
  CHECK(model.train(batch).state == TUTTI_TRAIN_DIVERGED);
  CHECK(model.snapshot() == before);
  batch.target.data<double>()[3] = 1e200;
  CHECK(model.train(batch).state == TUTTI_TRAIN_DIVERGED);
  CHECK(model.snapshot() == before);
}

TEST_CASE("without a batch a step asks for data") {
  const TestHost host;
  TestModel model(host, small_problem());
  tutti_train_in in{};
  in.struct_size = sizeof in;
  tutti_train_out out{};
  out.struct_size = sizeof out;
  tutti_error error{};
  REQUIRE(TestModel::extension<tutti_train>(TUTTI_TRAIN_ID)->step(model.get(), &in, &out, &error) == TUTTI_OK);
  CHECK(out.state == TUTTI_TRAIN_NEEDS_DATA);
}

TEST_CASE("the learning rate rises in a line and falls with a cosine to its floor") {
  const TestHost host;
  auto config = small_config();
  config["learning_rate"] = 0.01, config["warmup_steps"] = 4, config["min_learning_rate_ratio"] = 0.1;
  TestModel model(host, small_problem(), config);
  model.begin(44);
  std::vector<double> rates;
  for (int step = 0; step < 46; ++step) rates.push_back(model.train(TestBatch<double>(small_problem(), 2, 12)).scalars[1].value);
  CHECK(rates[0] == Approx(0.0025));
  CHECK(rates[3] == Approx(0.01));
  CHECK(rates[4] == Approx(0.01));
  CHECK(rates[24] == Approx(0.01 * 0.55));  // half way between 1 and 0.1
  CHECK(rates[44] == Approx(0.001));
  CHECK(rates[45] == Approx(0.001));
}

TEST_CASE("the first step moves each weight by the learning rate against its gradient") {
  // Adam's first step is rate * g / (|g| + epsilon'); decay multiplies by 1 - rate * decay before, where it applies.
  const TestHost host;
  auto config = small_config();
  config["learning_rate"] = 0.01, config["weight_decay"] = 0.5, config["clip_norm"] = 0;
  TestModel model(host, small_problem(), config);
  const TestBatch<double> batch(small_problem(), 4, 12);
  const auto gradients = model.gradient(batch).second;
  const auto parameters = model.parameters();
  std::vector<std::vector<double>> before;
  for (const auto& p : parameters)
    before.emplace_back(static_cast<double*>(p.tensor.data),
                        static_cast<double*>(p.tensor.data) + TestModel::byte_size(p.tensor) / 8);
  model.train(batch);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role != TUTTI_ROLE_WEIGHT) continue;
    const std::string name = parameters[i].name;
    const bool decays =
        name.ends_with("proj.weight") || name.ends_with("conv1d.weight") || name == "embed.weight" || name == "head.weight";
    for (size_t k = 0; k < gradients[i].size(); ++k) {
      const double g = gradients[i][k];
      INFO(name);
      REQUIRE(static_cast<double*>(parameters[i].tensor.data)[k] ==
              Approx(before[i][k] * (decays ? 0.995 : 1) - 0.01 * g / (std::abs(g) + 1e-8)).margin(1e-12));
    }
  }
}

TEST_CASE("a clipped gradient is as if the loss were smaller") {
  const TestHost host;
  auto config = small_config();
  config["clip_norm"] = 1e-3;
  TestModel model(host, small_problem(), config);
  const auto out = model.train(TestBatch<double>(small_problem(), 4, 12));
  REQUIRE(out.scalars[0].value > 1e-3);
  double squares = 0;  // the first moment is (1 - 0.9) times the clipped gradient
  for (const auto& p : model.parameters())
    if (std::string(p.name).starts_with("optimizer.exp_avg."))
      for (size_t k = 0; k < TestModel::byte_size(p.tensor) / 8; ++k)
        squares += std::pow(static_cast<double*>(p.tensor.data)[k] / 0.1, 2);
  CHECK(std::sqrt(squares) == Approx(1e-3));
}

TEST_CASE("weights start as the reference implementation's do") {
  const TestHost host;
  auto config = small_config();
  config["d_model"] = 64, config["headdim"] = 1, config["layers"] = 4;
  TestModel model(host, small_problem(), config);
  const auto range = [&](const std::string& name) {
    for (const auto& p : model.parameters())
      if (name == p.name) {
        const auto* values = static_cast<const double*>(p.tensor.data);
        const auto [low, high] = std::minmax_element(values, values + TestModel::byte_size(p.tensor) / 8);
        return std::pair(*low, *high);
      }
    return std::pair<double, double>(NAN, NAN);
  };
  const auto near_bound = [&](const std::string& name, double bound) {
    const auto [low, high] = range(name);
    INFO(name << " " << low << " " << high);
    CHECK((low >= -bound && low < -0.95 * bound && high <= bound && high > 0.95 * bound));
  };
  near_bound("layers.1.mixer.in_proj.weight", 1 / 8.0);
  near_bound("layers.1.mixer.conv1d.weight", 0.5);
  near_bound("layers.1.mixer.conv1d.bias", 0.5);
  near_bound("layers.1.mixer.out_proj.weight", 1 / std::sqrt(128.0) / 2);
  CHECK(range("layers.2.mixer.D") == std::pair(1.0, 1.0));
  CHECK(range("layers.2.norm.weight") == std::pair(1.0, 1.0));
  const auto [decay_low, decay_high] = range("layers.0.mixer.A_log");
  CHECK((decay_low >= 0 && decay_low < 0.5 && decay_high <= std::log(16.0) && decay_high > 2.6));
  const auto [bias_low, bias_high] = range("layers.0.mixer.dt_bias");
  CHECK((std::log1p(std::exp(bias_low)) >= 0.000999 && std::log1p(std::exp(bias_low)) < 0.0012));
  CHECK((std::log1p(std::exp(bias_high)) <= 0.1001 && std::log1p(std::exp(bias_high)) > 0.08));
}
