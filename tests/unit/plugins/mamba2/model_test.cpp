#include "plugins/mamba2/model.h"

#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/unit/plugins/mamba2/block_fixture.h"
#include "tests/unit/plugins/mamba2/contract_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

Problem quantile_problem() {
  Problem p = small_problem();
  p.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES;
  p.quantiles = {0.1, 0.5, 0.9};
  p.target_feature = {-1, 1};
  return p;
}

// The largest relative error of the contract's gradient against five-point differences of its loss, over all weights.
double worst_gradient_error(const Problem& problem, const nlohmann::json& changes, bool padded) {
  const TestHost host;
  TestModel model(host, problem, changes);
  TestBatch<double> batch(problem, 3, problem.lookback);
  batch.with_weight = true, batch.with_length = padded;
  batch.length.data<int64_t>()[1] = 7;
  const auto [loss, gradients] = model.gradient(batch);
  const auto parameters = model.parameters();
  double worst = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role != TUTTI_ROLE_WEIGHT) continue;
    auto* values = static_cast<double*>(parameters[i].tensor.data);
    std::vector<double> numeric(gradients[i].size());
    for (size_t k = 0; k < numeric.size(); ++k) {
      const double kept = values[k], step = 3e-4;
      const auto at = [&](double offset) { return values[k] = kept + offset * step, model.gradient(batch).first; };
      numeric[k] = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
      values[k] = kept;
    }
    const double error = relative_difference(gradients[i], numeric);
    INFO(parameters[i].name << " " << error);
    CHECK(error < 1e-7);
    worst = std::max(worst, error);
  }
  return worst;
}

nlohmann::json tiny() {
  return {{"d_model", 4}, {"d_state", 3}, {"headdim", 4}, {"chunk", 5}, {"dropout", 0.0}, {"dt_min", 0.1}, {"dt_max", 0.4}};
}

// What a model shows of one batch.
struct Trace {
  struct Value {
    std::string shape;
    std::vector<double> values;
  };
  std::vector<std::string> names;  // in order
  std::map<std::string, Value> values;

  Trace(TestModel& model, const TestBatch<double>& batch) {
    const tutti_batch b = batch.borrow();
    tutti_error error{};
    const auto visit = [](void* argument, const char* name, const tutti_tensor* tensor) {
      auto& self = *static_cast<Trace*>(argument);
      const auto* data = static_cast<const double*>(tensor->data);
      self.names.push_back(name);
      self.values[name] = {shape_text(tensor->shape, tensor->ndim),
                           {data, data + TestModel::byte_size(*tensor) / sizeof(double)}};
    };
    REQUIRE(TestModel::extension<tutti_trace>(TUTTI_TRACE_ID)->run(model.get(), &b, visit, this, &error) == TUTTI_OK);
  }
  const Value& at(const std::string& name) const { return values.at(name); }
};

std::vector<double> weight_of(TestModel& model, const std::string& name) {
  for (const tutti_parameter& p : model.parameters())
    if (p.name == name) {
      const auto* data = static_cast<const double*>(p.tensor.data);
      return {data, data + TestModel::byte_size(p.tensor) / sizeof(double)};
    }
  FAIL("there is no " << name);
  return {};
}

// x W^T, x [.., width] and W [.., width].
std::vector<double> product(const std::vector<double>& x, const std::vector<double>& W, int64_t width) {
  std::vector<double> y;
  for (auto row = x.begin(); row != x.end(); row += width)
    for (auto column = W.begin(); column != W.end(); column += width)
      y.push_back(std::inner_product(row, row + width, column, 0.0));
  return y;
}

}  // namespace

TEST_CASE("every gradient of the whole model is the limit of its differences, through the contract") {
  auto config = tiny();
  CHECK(worst_gradient_error(small_problem(), config, false) < 1e-7);
  config["ngroups"] = 2, config["patch"] = 4, config["bias"] = true;
  CHECK(worst_gradient_error(quantile_problem(), config, true) < 1e-7);
  config = tiny();
  config["channel_independent"] = true, config["revin"] = false, config["d_ssm"] = 4, config["d_has_hdim"] = true,
  config["layers"] = 1;
  CHECK(worst_gradient_error(small_problem(), config, true) < 1e-7);
}

TEST_CASE("a row's answer has the same bits in every batch and at any number of threads") {
  const TestHost one(1), two(2);
  for (const bool independent : {false, true}) {
    auto config = small_config();
    config["channel_independent"] = independent;
    TestModel serial(one, small_problem(), config), parallel(two, small_problem(), config);
    TestBatch<double> batch(small_problem(), 37, 12);
    const std::vector<double> all = serial.predict(batch);
    CHECK(parallel.predict(batch) == all);
    for (int64_t row : {0, 1, 17, 36}) {
      TestBatch<double> alone(small_problem(), 1, 12);
      std::memcpy(alone.past.data(), batch.past.data<double>() + row * 36, 36 * sizeof(double));
      CHECK(serial.predict(alone) == std::vector<double>(all.begin() + row * 4, all.begin() + row * 4 + 4));
    }
  }
}

TEST_CASE("exchanged rows give exchanged answers") {
  const TestHost host(2);
  TestModel model(host, small_problem());
  TestBatch<double> batch(small_problem(), 5, 12), reversed(small_problem(), 5, 12);
  for (int64_t row = 0; row < 5; ++row)
    std::memcpy(reversed.past.data<double>() + (4 - row) * 36, batch.past.data<double>() + row * 36, 36 * sizeof(double));
  const auto answers = model.predict(batch), exchanged = model.predict(reversed);
  for (int64_t row = 0; row < 5; ++row)
    CHECK(std::equal(answers.begin() + row * 4, answers.begin() + row * 4 + 4, exchanged.begin() + (4 - row) * 4));
}

TEST_CASE("a padded window gives the bits of the window alone, whatever the padding holds") {
  const TestHost host;
  for (const int64_t patch : {1, 3}) {
    auto config = small_config();
    config["patch"] = patch;
    TestModel model(host, small_problem(), config);
    TestBatch<double> padded(small_problem(), 3, 12), alone(small_problem(), 1, 7);
    padded.with_length = true;
    padded.length.data<int64_t>()[1] = 7;
    for (int64_t i = 0; i < 5 * 3; ++i) padded.past.data<double>()[36 + i] = i % 2 ? NAN : INFINITY;
    std::memcpy(alone.past.data(), padded.past.data<double>() + 36 + 15, 21 * sizeof(double));
    const auto answers = model.predict(padded);
    CHECK(all_finite(answers));
    CHECK(model.predict(alone) == std::vector<double>(answers.begin() + 4, answers.begin() + 8));
    padded.with_weight = true;
    const auto [loss, gradients] = model.gradient(padded);
    CHECK(std::isfinite(loss));
    for (const auto& gradient : gradients) CHECK(all_finite(gradient));
  }
}

TEST_CASE("f32 answers agree with f64 to the precision of f32") {
  const TestHost host;
  TestModel narrow(host, small_problem(dtype_of<float>())), wide(host, small_problem());
  TestBatch<double> batch(small_problem(), 4, 12);
  TestBatch<float> rounded(small_problem(dtype_of<float>()), 4, 12);
  const auto parameters = narrow.parameters(), exact = wide.parameters();
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].role == TUTTI_ROLE_WEIGHT)
      for (size_t k = 0; k < TestModel::byte_size(parameters[i].tensor) / 4; ++k)
        static_cast<double*>(exact[i].tensor.data)[k] = static_cast<float*>(parameters[i].tensor.data)[k];
  for (int64_t i = 0; i < batch.past.size(); ++i) batch.past.data<double>()[i] = rounded.past.data<float>()[i];
  const double difference = relative_difference(narrow.predict(rounded), wide.predict(batch));
  CHECK(difference < 5e-6);
  CHECK(difference > 0);
}

TEST_CASE("revin answers move and stretch with the window") {
  const TestHost host;
  TestModel model(host, small_problem());
  TestBatch<double> batch(small_problem(), 2, 12), moved(small_problem(), 2, 12);
  for (int64_t i = 0; i < batch.past.size(); ++i) {
    batch.past.data<double>()[i] *= 100;  // epsilon 1e-5 beside a variance of 1e4
    moved.past.data<double>()[i] = 3 * batch.past.data<double>()[i] + 500;
  }
  const auto answers = model.predict(batch), others = model.predict(moved);
  for (size_t i = 0; i < answers.size(); ++i) CHECK(others[i] == Approx(3 * answers[i] + 500).epsilon(1e-7));
}

TEST_CASE("quantiles of an answer rise") {
  const TestHost host;
  TestModel model(host, quantile_problem());
  TestBatch<double> batch(quantile_problem(), 6, 12);
  model.predict(batch);
  for (int64_t i = 0; i < batch.quantiles.size(); i += 3)
    CHECK(std::is_sorted(batch.quantiles.data<double>() + i, batch.quantiles.data<double>() + i + 3));
}

TEST_CASE("a stream answers as predict does on all frames so far") {
  const TestHost host;
  const auto* stream = TestModel::extension<tutti_stream>(TUTTI_STREAM_ID);
  for (const bool independent : {false, true}) {
    auto config = small_config();
    config["revin"] = false, config["channel_independent"] = independent, config["dt_limit_min"] = 0.01,
    config["dt_limit_max"] = 0.05;
    config["ngroups"] = 2, config["d_has_hdim"] = true, config["d_ssm"] = 8;
    TestModel model(host, small_problem(), config);
    tutti_error error{};
    tutti_stream_state* state = nullptr;
    REQUIRE(stream->create(model.get(), 2, &state, &error) == TUTTI_OK);
    TestBatch<double> batch(small_problem(), 2, 12);
    Tensor frame = Tensor::of<double>({2, 3});
    for (int64_t t = 0; t < 12; ++t) {
      for (int64_t b = 0; b < 2; ++b) std::memcpy(frame.data<double>() + b * 3, batch.past.data<double>() + (b * 12 + t) * 3, 24);
      if (t == 6) {  // a saved stream goes on as if nothing had happened
        uint64_t size = 0;
        REQUIRE(stream->save(model.get(), state, nullptr, &size, &error) == TUTTI_OK);
        std::vector<uint8_t> bytes(size);
        REQUIRE(stream->save(model.get(), state, bytes.data(), &size, &error) == TUTTI_OK);
        stream->destroy(model.get(), state);
        CHECK(stream->load(model.get(), bytes.data(), size - 1, &state, &error) == TUTTI_BAD_ARGUMENT);
        REQUIRE(stream->load(model.get(), bytes.data(), size, &state, &error) == TUTTI_OK);
      }
      TestBatch<double> answers(small_problem(), 2, 12), window(small_problem(), 2, t + 1);
      const tutti_tensor borrowed = frame.borrow();
      const tutti_output out = answers.output();
      REQUIRE(stream->step(model.get(), state, &borrowed, nullptr, &out, &error) == TUTTI_OK);
      for (int64_t b = 0; b < 2; ++b)
        std::memcpy(window.past.data<double>() + b * (t + 1) * 3, batch.past.data<double>() + b * 36,
                    static_cast<size_t>(t + 1) * 24);
      CHECK(relative_difference(answers.points(), model.predict(window)) < 1e-13);
    }
    stream->destroy(model.get(), state);
  }
}

TEST_CASE("with revin a stream is refused with a cure") {
  const TestHost host;
  TestModel model(host, small_problem());
  tutti_stream_state* state = nullptr;
  tutti_error error{};
  CHECK(TestModel::extension<tutti_stream>(TUTTI_STREAM_ID)->create(model.get(), 1, &state, &error) == TUTTI_UNSUPPORTED);
  CHECK_THAT(error.message, Catch::Contains("revin"));
}

TEST_CASE("a trace shows every intermediate value with its shape, in the order of computing") {
  const TestHost host;
  TestModel model(host, small_problem());
  const Trace trace(model, TestBatch<double>(small_problem(), 2, 12));
  std::string text;
  for (const std::string& name : trace.names) text += name + trace.at(name).shape + " ";
  const auto layer = [](const std::string& prefix) {
    std::string shapes;
    for (const char* shape : {"input[2,12,8] ", "norm[2,12,8] ", "mixer.in_proj[2,12,44] ", "mixer.conv1d[2,12,24] ",
                              "mixer.dt[2,12,4] ", "mixer.decay[2,12,4] ", "mixer.states[2,4,4,4] ", "mixer.scan[2,12,16] ",
                              "mixer.norm[2,12,16] ", "mixer.out_proj[2,12,8] "})
      shapes += prefix + shape;
    return shapes;
  };
  CHECK(text == "tokens[2,12,3] " + layer("layers.0.") + layer("layers.1.") + "hidden[2,12,8] norm_f[2,8] head[2,4] ");
}

TEST_CASE("each traced value follows from those before it by the block's equations, and is zero in padding") {
  const TestHost host;
  TestModel model(host, small_problem());
  TestBatch<double> batch(small_problem(), 2, 12);
  batch.with_length = true, batch.length.data<int64_t>()[1] = 7;
  const Trace trace(model, batch);
  const int64_t R = 2, L = 12, D = 8, W = 44, C = 24, H = 4, P = 4, N = 4;  // W: z 16, x 16, B 4, C 4, dt 4
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    const auto value = [&](const char* name) { return trace.at(layer + "mixer." + name).values; };
    const auto weight = [&](const char* name) { return weight_of(model, layer + "mixer." + name); };
    const auto in_proj = value("in_proj"), conv = value("conv1d"), dt = value("dt"), scan = value("scan"), norm = value("norm");
    const auto A_log = weight("A_log"), skip = weight("D"), norm_weight = weight("norm.weight");
    CHECK(relative_difference(in_proj, product(trace.at(layer + "norm").values, weight("in_proj.weight"), D)) < 1e-14);
    CHECK(relative_difference(value("out_proj"), product(norm, weight("out_proj.weight"), H * P)) < 1e-14);

    std::vector<double> decay(dt.size()), states(R * H * P * N), y(scan.size()), gated(norm.size());
    for (int64_t at = 0; at < R * L; ++at) {
      if (at / L == 1 && at % L < L - 7) continue;  // padding
      double squares = 0;
      for (int64_t h = 0; h < H; ++h) {
        const double step = dt[at * H + h], a = decay[at * H + h] = std::exp(-step * std::exp(A_log[h]));
        for (int64_t p = h * P; p < (h + 1) * P; ++p) {
          const double* x = &conv[at * C];
          y[at * H * P + p] = skip[h] * x[p];
          for (int64_t n = 0; n < N; ++n) {
            double& state = states[(at / L * H * P + p) * N + n];
            state = a * state + step * x[p] * x[H * P + n];
            y[at * H * P + p] += state * x[H * P + N + n];
          }
          const double z = in_proj[at * W + p];
          gated[at * H * P + p] = y[at * H * P + p] * z / (1 + std::exp(-z));
          squares += gated[at * H * P + p] * gated[at * H * P + p];
        }
      }
      for (int64_t i = 0; i < H * P; ++i) gated[at * H * P + i] *= norm_weight[i] / std::sqrt(squares / (H * P) + 1e-5);
    }
    CHECK(relative_difference(value("decay"), decay) < 1e-15);
    CHECK(relative_difference(value("states"), states) < 1e-14);
    CHECK(relative_difference(scan, y) < 1e-14);
    CHECK(relative_difference(norm, gated) < 1e-14);

    auto after = trace.at(layer + "input").values;
    for (size_t i = 0; i < after.size(); ++i) after[i] += value("out_proj")[i];
    CHECK(after == trace.at(layer == "layers.0." ? "layers.1.input" : "hidden").values);
  }
}

TEST_CASE("a window of NaN or of huge numbers leaves the answers to the others as they were") {
  const TestHost host(2);
  for (const bool independent : {false, true})
    for (const bool revin : {false, true}) {
      auto config = small_config();
      config["revin"] = revin, config["channel_independent"] = independent;
      TestModel model(host, small_problem(), config);
      TestBatch<double> batch(small_problem(), 5, 12);
      const auto clean = model.predict(batch);
      for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), 1e200}) {
        std::fill_n(batch.past.data<double>() + 2 * 36, 36, bad);
        const auto answers = model.predict(batch);
        CHECK(std::equal(clean.begin(), clean.begin() + 8, answers.begin()));
        CHECK(std::equal(clean.begin() + 12, clean.end(), answers.begin() + 12));
      }
    }
}

TEST_CASE("a stream that met NaN is clean after its reset, and the streams beside it never saw it") {
  const TestHost host;
  auto config = small_config();
  config["revin"] = false;
  TestModel model(host, small_problem(), config);
  const auto* stream = TestModel::extension<tutti_stream>(TUTTI_STREAM_ID);
  tutti_error error{};
  tutti_stream_state *state = nullptr, *fresh = nullptr;
  REQUIRE(stream->create(model.get(), 3, &state, &error) == TUTTI_OK);
  REQUIRE(stream->create(model.get(), 3, &fresh, &error) == TUTTI_OK);
  const auto step = [&](tutti_stream_state* memory, uint64_t number, double spoil) {
    TestBatch<double> frame(small_problem(), 3, 1, number);
    if (spoil != 0) frame.past.data<double>()[4] = spoil;  // of the second stream
    const View<double, 2> values(frame.past.data<double>(), {3, 3});
    const tutti_tensor tensor = as_tensor(values);
    const tutti_output out = frame.output();
    REQUIRE(stream->step(model.get(), memory, &tensor, nullptr, &out, &error) == TUTTI_OK);
    return frame.points();
  };
  const auto spoilt = step(state, 0, NAN), clean = step(fresh, 0, 0);
  CHECK(std::isnan(spoilt[4]));
  CHECK(std::equal(clean.begin(), clean.begin() + 4, spoilt.begin()));
  CHECK(std::equal(clean.begin() + 8, clean.end(), spoilt.begin() + 8));
  const std::vector<uint8_t> second{0, 1, 0};
  for (tutti_stream_state* memory : {state, fresh})
    REQUIRE(stream->reset(model.get(), memory, second.data(), &error) == TUTTI_OK);
  CHECK(step(state, 1, 0) == step(fresh, 1, 0));
  stream->destroy(model.get(), state), stream->destroy(model.get(), fresh);
}

TEST_CASE("more streams than memory can hold are refused, and the model lives on") {
  const TestHost host;
  auto config = small_config();
  config["revin"] = false;
  TestModel model(host, small_problem(), config);
  const auto* stream = TestModel::extension<tutti_stream>(TUTTI_STREAM_ID);
  for (const int64_t rows : {int64_t{1} << 60, std::numeric_limits<int64_t>::max() / 2, std::numeric_limits<int64_t>::max()}) {
    tutti_stream_state* state = nullptr;
    tutti_error error{};
    CHECK(stream->create(model.get(), rows, &state, &error) == TUTTI_OUT_OF_MEMORY);
    CHECK(state == nullptr);
  }
  CHECK(all_finite(model.predict(TestBatch<double>(small_problem(), 2, 12))));
}

TEST_CASE("a batch without rows has answers of no rows, and no loss, which it is told") {
  const TestHost host;
  TestModel model(host, small_problem());
  const TestBatch<double> none(small_problem(), 0, 12);
  CHECK(model.predict(none).empty());
  const tutti_batch batch = none.borrow();
  tutti_error error{};
  double loss = 0;
  std::vector<tutti_tensor> wanted(model.parameters().size());
  CHECK(TestModel::extension<tutti_gradient>(TUTTI_GRADIENT_ID)->evaluate(model.get(), &batch, &loss, wanted.data(), &error) ==
        TUTTI_BAD_ARGUMENT);
  CHECK(std::string(error.message) == "a batch without rows has no loss");
}

TEST_CASE("a row of weight 0 has no part in the loss, not even where its target is NaN") {
  const TestHost host;
  for (const Problem& problem : {small_problem(), quantile_problem()}) {
    TestModel model(host, problem);
    TestBatch<double> batch(problem, 3, 12);
    batch.with_weight = true, batch.weight.data<double>()[1] = 0;
    const auto expected = model.gradient(batch);
    batch.target.data<double>()[4] = NAN;
    CHECK(model.gradient(batch) == expected);
  }
}
