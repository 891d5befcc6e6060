#include <algorithm>
#include <catch2/catch.hpp>

#include "plugins/mamba2/checkpoint/checkpoint.h"
#include "shared/checkpoint/safetensors.h"
#include "shared/parallel/executor.h"
#include "tests/support/program.h"

using namespace tutti;
using namespace tutti::mamba2;
using tutti::testing::Outcome;
using tutti::testing::TempDir;

namespace {

Outcome mamba2_tool(const std::string& arguments) {
  return tutti::testing::run("'" TUTTI_BINARY_DIR "/bin/mamba2' " + arguments);
}

void refuses(const std::string& arguments, const std::string& sentence) {
  INFO(arguments);
  const Outcome outcome = mamba2_tool(arguments);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Catch::StartsWith("mamba2: ") && Catch::Contains(sentence));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

struct Files {
  TempDir temp;
  LanguageModelShape shape;
  std::vector<float> weights;
  std::string model = (temp / "model").string(), tokens = (temp / "tokens").string(), out = (temp / "out").string();

  Files() {
    shape.block.d_model = 4, shape.block.d_inner = shape.block.d_ssm = 8, shape.block.headdim = 2, shape.vocab_size = 5;
    const WeightLayout layout = weight_layout(shape);
    weights.resize(static_cast<size_t>(layout.size()));
    layout.initialise(1, weights.data());
    REQUIRE(write_checkpoint(model, CheckpointLayout::hugging_face, shape, weights.data()));
    write_tokens({0, 1, 2, 3, 4, 0});
  }

  void write_tokens(const std::vector<int64_t>& values) const {
    Tensor tensor = Tensor::of<int64_t>({2, 3});
    std::copy(values.begin(), values.end(), tensor.data<int64_t>());
    REQUIRE(write_safetensors(tokens, {{"tokens", tensor.borrow()}}));
  }
  std::string run_arguments() const { return "run " + model + " --tokens " + tokens + " --out " + out; }
};

}  // namespace

TEST_CASE("mamba2 run writes the logits, the loss and a gradient for every weight") {
  const Files files;
  const Outcome outcome = mamba2_tool(files.run_arguments() + " --gradients");
  REQUIRE(outcome.exit_code == 0);
  CHECK((outcome.out.empty() && outcome.err.empty()));
  const auto results = read_safetensors(files.out);
  REQUIRE(results);
  LanguageModel<float> model(files.shape);
  SerialExecutor executor;
  const std::vector<int64_t> tokens{0, 1, 2, 3, 4, 0};
  std::vector<float> logits(2 * 3 * 5);
  model.forward(executor, files.weights.data(), View<const int64_t, 2>(tokens.data(), {2, 3}), logits.data());
  const Tensor* written = results->find("logits");
  REQUIRE((written && written->size() == 30));
  CHECK(std::equal(logits.begin(), logits.end(), written->data<float>()));
  CHECK(results->find("loss")->size() == 1);
  CHECK(results->find("backbone.embeddings.weight")->shape() == std::vector<int64_t>{5, 4});
  CHECK(results->tensors.size() == 2 + model.layout().weights().size());
}

TEST_CASE("mamba2 convert and inspect take a model in either layout") {
  const Files files;
  const std::string other = (files.temp / "other").string();
  REQUIRE(mamba2_tool("convert --from " + files.model + " --to " + other + " --layout state-spaces").exit_code == 0);
  const Outcome outcome = mamba2_tool("inspect " + other);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("state-spaces, f32") && Catch::Contains("parameters"));
}

TEST_CASE("mamba2 ends with 2 and one sentence where its input is wrong") {
  const Files files;
  refuses("", "subcommand");
  refuses("inspect /nowhere", "/nowhere/config.json is no file");
  refuses("convert --from " + files.model + " --to " + files.temp.path().string() + "/x --layout onnx",
          "choose state-spaces or hf");
  refuses("convert --from " + files.model + " --to " + files.model + " --layout hf", "already holds a config.json");
  refuses(files.run_arguments() + " --dtype f16", "--dtype");
  refuses(files.run_arguments() + " --kernels cuda", "choose auto, reference or chunked");
  files.write_tokens({0, 1, 2, 3, 4, 5});
  refuses(files.run_arguments(), "token 5 is none of the model's 0 … 4");
  files.write_tokens({0, 1, 2, 3, 4, -1});
  refuses(files.run_arguments(), "token -1 is none");
  refuses("run " + files.model + " --tokens " + files.model + "/model.safetensors --out " + files.out, "no tensor \"tokens\"");
}
