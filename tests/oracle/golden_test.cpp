// Our blocks and models against numbers that PyTorch made; see golden/PROVENANCE.md.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "plugins/mamba2/checkpoint/checkpoint.h"
#include "shared/checkpoint/safetensors.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;
using nlohmann::json;

namespace {

const std::filesystem::path kGolden = TUTTI_SOURCE_DIR "/tests/oracle/golden";

std::vector<std::filesystem::path> golden_blocks() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

template <class T, class Stored = double>
std::vector<T> values_of(const Checkpoint& golden, const std::string& name) {
  const Tensor* tensor = golden.find(name);
  INFO(name);
  REQUIRE(tensor);
  const Stored* values = tensor->data<Stored>();
  return std::vector<T>(values, values + tensor->size());
}

BlockShape shape_of(const Checkpoint& golden) {
  const json g = json::parse(golden.metadata.at("shape"));
  BlockShape s;
  s.d_model = g.at("d_model"), s.d_inner = g.at("d_inner"), s.d_ssm = g.at("d_ssm"), s.headdim = g.at("headdim");
  s.ngroups = g.at("ngroups"), s.d_state = g.at("d_state"), s.d_conv = g.at("d_conv"), s.chunk = g.at("chunk");
  s.bias = g.at("bias"), s.conv_bias = g.at("conv_bias"), s.rmsnorm = g.at("rmsnorm"), s.grouped_norm = g.at("grouped_norm");
  s.norm_before_gate = g.at("norm_before_gate"), s.d_has_hdim = g.at("d_has_hdim"), s.epsilon = g.at("epsilon");
  s.dt_limit_min = g.at("dt_limit_min"), s.dt_limit_max = g.at("dt_limit_max");
  return s;
}

template <class T>
void compare(const std::filesystem::path& file, const char* kernels, double outputs_within, double gradients_within) {
  INFO(file.filename() << ", " << kernels << ", " << sizeof(T) * 8 << " bits");
  const auto golden = read_safetensors(file);
  REQUIRE(golden);
  const std::vector<int64_t>& x = golden->find("x")->shape();
  BlockCase<T> c(shape_of(*golden), Segments::whole(x[0], x[1]));
  for (auto& [name, values] : c.parameters) {
    const size_t size = values.size();
    values = values_of<T>(*golden, name);
    REQUIRE(values.size() == size);
  }
  c.x = values_of<T>(*golden, "x"), c.conv0 = values_of<T>(*golden, "conv0"), c.ssm0 = values_of<T>(*golden, "ssm0");
  c.forward(kernels);
  CHECK(relative_difference(c.y, values_of<double>(*golden, "y")) < outputs_within);
  CHECK(relative_difference(c.conv1, values_of<double>(*golden, "conv1")) < outputs_within);
  CHECK(relative_difference(c.ssm1, values_of<double>(*golden, "ssm1")) < outputs_within);

  c.backward(values_of<T>(*golden, "d_y"), values_of<T>(*golden, "d_conv1"), values_of<T>(*golden, "d_ssm1"), kernels);
  for (const auto& [name, values] : c.gradient) {
    INFO(name);
    CHECK(relative_difference(values, values_of<double>(*golden, "d_" + name)) < gradients_within);
  }
  CHECK(relative_difference(c.d_x, values_of<double>(*golden, "d_x")) < gradients_within);
  CHECK(relative_difference(c.d_conv0, values_of<double>(*golden, "d_conv0")) < gradients_within);
  CHECK(relative_difference(c.d_ssm0, values_of<double>(*golden, "d_ssm0")) < gradients_within);
}

}  // namespace

TEST_CASE("blocks and all their gradients are those of PyTorch, in f64") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  REQUIRE(golden_blocks().size() == 12);
  for (const auto& file : golden_blocks()) compare<double>(file, kernels.c_str(), 1e-12, 1e-10);  // rounding of some hundred terms
}

TEST_CASE("blocks and all their gradients are those of PyTorch, in f32 but for its rounding") {
  const std::string kernels = GENERATE(from_range(kernel_tables()));
  // 2^-24 through some hundred operations; gradients pass twice as many, and small norms enlarge some
  for (const auto& file : golden_blocks()) compare<float>(file, kernels.c_str(), 5e-6, 2e-5);
}

TEST_CASE("a checkpoint of transformers gives its logits, loss and gradients") {
  for (const char* name : {"hf-one-group", "hf-eight-groups"}) {
    INFO(name);
    const auto saved = read_checkpoint(kGolden / name);
    REQUIRE(saved);
    const auto golden = read_safetensors(kGolden / name / "expected.safetensors");
    REQUIRE(golden);
    const auto tokens = values_of<int64_t, int64_t>(*golden, "tokens");
    const int64_t rows = golden->find("tokens")->shape()[0], steps = golden->find("tokens")->shape()[1];
    std::vector<int64_t> targets(tokens.size(), -1);  // the next token, where there is one
    for (size_t i = 0; i + 1 < tokens.size(); ++i)
      if ((i + 1) % static_cast<size_t>(steps)) targets[i] = tokens[i + 1];

    LanguageModel<float> model(saved->config.shape);
    SerialExecutor executor;
    const std::vector<float> weights = saved->weights<float>();
    std::vector<float> logits(tokens.size() * static_cast<size_t>(model.shape().vocabulary())), gradient(weights.size());
    model.forward(executor, weights.data(), {tokens.data(), {rows, steps}}, logits.data());
    CHECK(relative_difference(logits, values_of<float, float>(*golden, "logits")) < 2e-5);
    const float loss = model.loss_and_gradient(executor, weights.data(), {tokens.data(), {rows, steps}},
                                               {targets.data(), {rows, steps}}, gradient.data());
    CHECK(loss == Approx(values_of<float, float>(*golden, "loss")[0]).epsilon(2e-5));
    for (const Weight& weight : model.layout().weights()) {
      INFO(weight.name);
      const std::vector<float> ours(gradient.data() + weight.offset, gradient.data() + weight.offset + weight.size);
      CHECK(relative_difference(ours, values_of<float, float>(*golden, name_in(saved->config.layout, weight.name))) < 1e-4);
    }
  }
}
