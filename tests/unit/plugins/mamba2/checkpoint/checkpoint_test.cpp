#include "plugins/mamba2/checkpoint/checkpoint.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "shared/checkpoint/safetensors.h"
#include "tests/support/temp_dir.h"

using namespace tutti;
using namespace tutti::mamba2;
using nlohmann::json;
using tutti::testing::TempDir;
using tutti::testing::text_of;

namespace {

LanguageModelShape small_shape(bool tied) {
  LanguageModelShape shape;
  shape.block.d_model = 4, shape.block.d_inner = shape.block.d_ssm = 8, shape.block.headdim = 2, shape.block.ngroups = 2;
  shape.block.d_state = 3, shape.block.d_conv = 3, shape.block.chunk = 16, shape.block.bias = true;
  shape.vocab_size = 6, shape.tie_embeddings = tied;
  return shape;
}

template <class T>
std::vector<T> weights_of(const LanguageModelShape& shape) {
  const WeightLayout layout = weight_layout(shape);
  std::vector<T> weights(static_cast<size_t>(layout.size()));
  layout.initialise(1, weights.data());
  return weights;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// A folder with a small tied model in the layout hf, to be damaged.
struct Folder {
  TempDir temp;
  std::filesystem::path path = temp / "model";

  Folder() {
    REQUIRE(
        write_checkpoint(path, CheckpointLayout::hugging_face, small_shape(true), weights_of<float>(small_shape(true)).data()));
  }

  std::string refusal() const {
    const Result<SavedModel> model = read_checkpoint(path);
    REQUIRE_FALSE(model);
    CHECK((model.error().code == ErrorCode::bad_input || model.error().code == ErrorCode::unsupported));
    return model.error().message;
  }

  std::string refusal_with(const json& changes) const {
    const std::string kept = text_of(path / "config.json");
    json config = json::parse(kept);
    config.update(changes);
    temp.write("model/config.json", config.dump());
    const std::string sentence = refusal();
    temp.write("model/config.json", kept);
    return sentence;
  }

  // Changes the tensors of model.safetensors.
  template <class Change>
  void change(const Change& change) const {
    Checkpoint checkpoint = *read_safetensors(path / "model.safetensors");
    change(checkpoint.tensors);
    std::vector<TensorToWrite> tensors;
    for (const NamedTensor& named : checkpoint.tensors) tensors.push_back({named.name, named.tensor.borrow()});
    REQUIRE(write_safetensors(path / "model.safetensors", tensors));
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a checkpoint goes through both layouts and comes back bit-equal", "", float, double) {
  for (const bool tied : {true, false}) {
    LanguageModelShape shape = small_shape(tied);
    shape.block.dt_limit_min = 0.01, shape.block.dt_limit_max = 0.1;
    const auto weights = weights_of<TestType>(shape);
    const TempDir temp;
    REQUIRE(write_checkpoint(temp / "a", CheckpointLayout::hugging_face, shape, weights.data()));
    const auto a = read_checkpoint(temp / "a");
    REQUIRE(a);
    CHECK(a->config.layout == CheckpointLayout::hugging_face);
    CHECK(a->f64 == std::is_same_v<TestType, double>);
    REQUIRE(write_checkpoint(temp / "b", CheckpointLayout::state_spaces, a->config.shape, a->weights<TestType>().data()));
    const auto b = read_checkpoint(temp / "b");
    REQUIRE(b);
    CHECK(b->config.layout == CheckpointLayout::state_spaces);
    CHECK(b->config.shape.tie_embeddings == tied);
    CHECK(b->config.shape.block.dt_limit_max == 0.1);
    CHECK(same_bits(b->weights<TestType>(), weights));
    REQUIRE(write_checkpoint(temp / "c", CheckpointLayout::hugging_face, b->config.shape, b->weights<TestType>().data()));
    CHECK(text_of(temp / "a/config.json") == text_of(temp / "c/config.json"));
    CHECK(text_of(temp / "a/model.safetensors") == text_of(temp / "c/model.safetensors"));
  }
}

TEST_CASE("every option of a block survives the layout of state-spaces") {
  LanguageModelShape shape = small_shape(true);
  shape.block.d_ssm = 6, shape.block.headdim = 3, shape.block.d_has_hdim = true, shape.block.rmsnorm = false;
  shape.block.norm_before_gate = true, shape.block.conv_bias = false, shape.block.grouped_norm = false;
  shape.block.dt_limit_min = 0.5, shape.vocab_size = 5, shape.pad_vocab_size_multiple = 4;
  const TempDir temp;
  REQUIRE(write_checkpoint(temp / "a", CheckpointLayout::state_spaces, shape, weights_of<double>(shape).data()));
  const auto model = read_checkpoint(temp / "a");
  REQUIRE(model);
  const BlockShape& s = model->config.shape.block;
  CHECK((s.d_ssm == 6 && s.headdim == 3 && s.d_has_hdim && !s.rmsnorm && s.norm_before_gate && !s.conv_bias && !s.grouped_norm));
  CHECK((s.dt_limit_min == 0.5 && s.dt_limit_max == BlockShape{}.dt_limit_max));
  CHECK(model->config.shape.vocabulary() == 8);
}

TEST_CASE("what the owner of a layout would compute differently is not written in it") {
  const TempDir temp;
  const auto refusal = [&](CheckpointLayout layout, const LanguageModelShape& shape) {
    const Result<void> written = write_checkpoint(temp / "x", layout, shape, weights_of<float>(shape).data());
    REQUIRE_FALSE(written);
    CHECK_FALSE(std::filesystem::exists(temp / "x"));
    return written.error().message;
  };
  LanguageModelShape whole = small_shape(true), mlp = whole, other_epsilon = whole;
  whole.block.grouped_norm = false, mlp.block.d_ssm = 4, other_epsilon.block.epsilon = 1e-6;
  CHECK(refusal(CheckpointLayout::hugging_face, whole) ==
        "the layout hf can't hold a norm over all channels of 2 groups: transformers from 5.23 on would normalise each group by "
        "itself; write the layout state-spaces");
  CHECK_THAT(refusal(CheckpointLayout::hugging_face, mlp), Catch::Contains("d_ssm below d_inner"));
  CHECK_THAT(refusal(CheckpointLayout::state_spaces, other_epsilon), Catch::Contains("epsilon"));
}

TEST_CASE("a folder that holds a model is not written over") {
  const Folder folder;
  const Result<void> written = write_checkpoint(folder.path, CheckpointLayout::hugging_face, small_shape(true),
                                                weights_of<float>(small_shape(true)).data());
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error().message, Catch::Contains("already holds a config.json"));
}

TEST_CASE("infinite limits are read as Python and as transformers write them") {
  const Folder folder;
  json config = json::parse(text_of(folder.path / "config.json"));
  config["time_step_limit"] = {0.25, {{"__float__", "Infinity"}}};
  folder.temp.write("model/config.json", config.dump());
  CHECK(read_checkpoint(folder.path)->config.shape.block.dt_limit_max == BlockShape{}.dt_limit_max);
  config["time_step_limit"] = "LIMIT", config["note"] = "a \"quoted\" Infinity stays";
  std::string text = config.dump();
  text.replace(text.find("\"LIMIT\""), 7, "[0.25, Infinity]");
  folder.temp.write("model/config.json", text);
  const auto model = read_checkpoint(folder.path);
  REQUIRE(model);
  CHECK(model->config.shape.block.dt_limit_min == 0.25);
  CHECK(model->config.shape.block.dt_limit_max == BlockShape{}.dt_limit_max);
}

TEST_CASE("shards are read as one, and only from their folder") {
  const Folder folder;
  const Checkpoint whole = *read_safetensors(folder.path / "model.safetensors");
  json map;
  std::vector<TensorToWrite> half[2];
  for (size_t i = 0; i < whole.tensors.size(); ++i) {
    half[i % 2].push_back({whole.tensors[i].name, whole.tensors[i].tensor.borrow()});
    map[whole.tensors[i].name] = i % 2 ? "two.safetensors" : "one.safetensors";
  }
  std::filesystem::remove(folder.path / "model.safetensors");
  REQUIRE(write_safetensors(folder.path / "one.safetensors", half[0]));
  REQUIRE(write_safetensors(folder.path / "two.safetensors", half[1]));
  folder.temp.write("model/model.safetensors.index.json", json{{"weight_map", map}}.dump());
  const auto model = read_checkpoint(folder.path);
  REQUIRE(model);
  CHECK(same_bits(model->weights<float>(), weights_of<float>(small_shape(true))));

  for (const char* name : {"../one.safetensors", "/etc/passwd", ".."}) {
    map.begin().value() = name;
    folder.temp.write("model/model.safetensors.index.json", json{{"weight_map", map}}.dump());
    CHECK_THAT(folder.refusal(), Catch::Contains("is no plain name of a file"));
  }
  for (const char* text : {"", "[]", "{\"weight_map\": 3}", "{\"weight_map\": {\"a\": 3}}"}) {
    folder.temp.write("model/model.safetensors.index.json", text);
    CHECK_THAT(folder.refusal(), Catch::Contains("model.safetensors.index.json"));
  }
}

TEST_CASE("a missing, extra, misshapen or odd tensor is named") {
  const Folder folder;
  folder.change([](auto& tensors) { tensors[2].tensor = Tensor::of<float>({3, 3}); });
  CHECK_THAT(folder.refusal(),
             Catch::Contains("tensor \"backbone.layers.0.mixer.in_proj.weight\" is [3,3], but config.json makes it [32,4]"));
  folder.change([](auto& tensors) { tensors[2].tensor = Tensor::of<int64_t>({32, 4}); });
  CHECK_THAT(folder.refusal(), Catch::Contains("mixer.in_proj.weight\" is i64; f32 and f64 can be read"));
  folder.change([](auto& tensors) { tensors.erase(tensors.begin() + 2); });
  CHECK_THAT(
      folder.refusal(),
      Catch::Contains("\"backbone.layers.0.mixer.in_proj.weight\" of shape [32,4], which config.json calls for, is missing"));

  const Folder other;
  other.change([](auto& tensors) { tensors.push_back({"lm_head.weight", Tensor::of<float>({6, 4})}); });
  CHECK_THAT(other.refusal(), Catch::Contains("lm_head.weight\" is not the embedding"));
  other.change([](auto& tensors) { tensors.back() = {"backbone.layers.2.norm.weight", Tensor::of<float>({4})}; });
  CHECK_THAT(other.refusal(), Catch::Contains("\"backbone.layers.2.norm.weight\" is none that config.json calls for"));
}

TEST_CASE("a configuration that makes no Mamba-2 is refused with its key") {
  const Folder folder;
  CHECK_THAT(folder.refusal_with({{"model_type", "llama"}}), Catch::Contains("model_type is \"llama\""));
  CHECK_THAT(folder.refusal_with({{"hidden_act", "gelu"}}), Catch::Contains("hidden_act"));
  CHECK_THAT(folder.refusal_with({{"hidden_size", -4}}), Catch::Contains("hidden_size is not a whole number from 1"));
  CHECK_THAT(folder.refusal_with({{"hidden_size", 4.5}}), Catch::Contains("hidden_size"));
  CHECK_THAT(folder.refusal_with({{"hidden_size", "4"}}), Catch::Contains("hidden_size"));
  CHECK_THAT(folder.refusal_with({{"num_hidden_layers", 18446744073709551615u}}), Catch::Contains("num_hidden_layers"));
  CHECK_THAT(folder.refusal_with({{"num_heads", 3}}), Catch::Contains("num_heads 3 times head_dim 2"));
  CHECK_THAT(folder.refusal_with({{"n_groups", 3}}), Catch::Contains("ngroups 3 doesn't divide the 4 heads"));
  CHECK_THAT(folder.refusal_with({{"use_bias", 1}}), Catch::Contains("use_bias is neither true nor false"));
  CHECK_THAT(folder.refusal_with({{"layer_norm_epsilon", 0}}), Catch::Contains("layer_norm_epsilon"));
  CHECK_THAT(folder.refusal_with({{"time_step_limit", {1}}}), Catch::Contains("time_step_limit"));
  CHECK_THAT(folder.refusal_with({{"time_step_limit", {2, 1}}}), Catch::Contains("time_step_limit"));
  CHECK_THAT(folder.refusal_with({{"vocab_size", 16777216}, {"hidden_size", 65536}, {"num_heads", 65536}}),
             Catch::Contains("embeddings.weight\" is [6,4]"));  // 4 TiB are not asked for

  for (const char* text : {"", "{", "[]", "null", "{}", "{\"a\":", "\xff\xfe", "{\"n_layer\": 2}"}) {
    folder.temp.write("model/config.json", text);
    CHECK_THAT(folder.refusal(), Catch::Contains("config.json"));
  }
  const auto state_spaces = [&](const char* rest) {
    folder.temp.write("model/config.json", "{\"d_model\": 4, \"n_layer\": 2, \"vocab_size\": 6, " + std::string(rest) + "}");
    return folder.refusal();
  };
  CHECK_THAT(state_spaces("\"ssm_cfg\": {}"), Catch::Contains("ssm_cfg has the layer \"Mamba1\""));
  CHECK_THAT(state_spaces("\"ssm_cfg\": 3"), Catch::Contains("ssm_cfg is not an object"));
  CHECK_THAT(state_spaces("\"ssm_cfg\": {\"layer\": \"Mamba2\", \"learnable_init_states\": true}"),
             Catch::Contains("learnable_init_states"));
  CHECK_THAT(state_spaces("\"rms_norm\": false"), Catch::Contains("rms_norm"));
  CHECK_THAT(state_spaces("\"d_intermediate\": 8"), Catch::Contains("MLP"));
  CHECK_THAT(state_spaces("\"attn_layer_idx\": [1]"), Catch::Contains("attention"));
}

TEST_CASE("a pickle is refused with the way out, an empty folder with what is missing") {
  const Folder folder;
  std::filesystem::remove(folder.path / "model.safetensors");
  CHECK_THAT(folder.refusal(), Catch::Contains("holds no model.safetensors"));
  folder.temp.write("model/pytorch_model.bin", "");
  CHECK_THAT(folder.refusal(), Catch::Contains("is a pickle") && Catch::Contains("safetensors.torch.save_file"));
  const Result<SavedModel> nothing = read_checkpoint(folder.temp / "nothing");
  REQUIRE_FALSE(nothing);
  CHECK_THAT(nothing.error().message, Catch::Contains("nothing/config.json is no file that can be read"));
}
