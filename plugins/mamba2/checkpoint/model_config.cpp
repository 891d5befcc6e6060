#include "plugins/mamba2/checkpoint/model_config.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "plugins/mamba2/config.h"

namespace tutti::mamba2 {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uintmax_t kMaxConfig = 1 << 24;                // bytes; real ones have some hundred
constexpr double kLargestLimit = 3.4028234663852886e38;  // of f32: no limit, but a number that PyTorch can clamp f32 by
constexpr double kStateSpacesEpsilon = 1e-5;             // fixed in mamba_ssm
constexpr double kNoLimit = BlockShape{}.dt_limit_max;

// Reads keys of an object. The first that is wrong is remembered, and nothing after it counts.
class Keys {
 public:
  Keys(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  int64_t integer(const char* key, int64_t fallback, int64_t smallest, int64_t largest) {
    if (!has(key)) return fallback;
    const json& value = object_[key];
    const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
    if (fits && value.get<int64_t>() >= smallest && value.get<int64_t>() <= largest) return value.get<int64_t>();
    refuse(key, "is not a whole number from " + std::to_string(smallest) + " to " + std::to_string(largest));
    return fallback;
  }

  bool flag(const char* key, bool fallback) {
    if (!has(key)) return fallback;
    if (object_[key].is_boolean()) return object_[key].get<bool>();
    refuse(key, "is neither true nor false");
    return fallback;
  }

  double positive(const char* key, double fallback) {
    if (!has(key)) return fallback;
    if (object_[key].is_number() && object_[key].get<double>() > 0) return object_[key].get<double>();
    refuse(key, "is not a number above 0");
    return fallback;
  }

  std::string text(const char* key, const char* fallback) {
    if (!has(key)) return fallback;
    if (object_[key].is_string()) return object_[key].get<std::string>();
    refuse(key, "is not a text");
    return fallback;
  }

  // [min, max]; an infinity is Infinity, as Python writes it, or {"__float__": "Infinity"}, as transformers 5 does.
  void limits(const char* key, BlockShape& shape) {
    if (!has(key)) return;
    const json& pair = object_[key];
    const auto is_infinity = [](const json& v) { return v == "Infinity" || v == json{{"__float__", "Infinity"}}; };
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !(pair[1].is_number() || is_infinity(pair[1])))
      return refuse(key, "is not a pair of numbers");
    shape.dt_limit_min = pair[0].get<double>();
    shape.dt_limit_max = is_infinity(pair[1]) || pair[1].get<double>() >= kLargestLimit ? kNoLimit : pair[1].get<double>();
    if (shape.dt_limit_min < 0 || shape.dt_limit_min > shape.dt_limit_max) refuse(key, "does not run from 0 or more upwards");
  }

  void refuse(const char* key, const std::string& what) { fail(bad_input(where_ + ": " + key + " " + what)); }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  Result<void> finish() const {
    if (error_) return *error_;
    return {};
  }

 private:
  const json& object_;
  std::string where_;
  std::optional<Error> error_;
};

// Python writes infinities as Infinity, which is no JSON.
std::string with_quoted_infinity(const std::string& text) {
  static const std::string word = "Infinity";
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      result += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && text.compare(i, word.size(), word) == 0) {
      result += '"' + word + '"', i += word.size() - 1;
      continue;
    }
    result += text[i];
  }
  return result;
}

Result<json> parse(const std::filesystem::path& file) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error || !std::filesystem::is_regular_file(file))
    return bad_input(file.string() + " is no file that can be read; name a folder with config.json and model.safetensors");
  if (size > kMaxConfig) return bad_input(file.string() + " is above 16 MiB, too long for a configuration");
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream) return failed(file.string() + " can't be read");
  json object = json::parse(with_quoted_infinity(text.str()), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return bad_input(file.string() + " is not a JSON object");
  return object;
}

Result<void> read_state_spaces(const json& object, const std::string& file, LanguageModelShape& shape) {
  static const json none = json::object();
  Keys keys(object, file);
  BlockShape& s = shape.block;
  s.d_model = keys.integer("d_model", 2560, 1, 65536);
  shape.layers = keys.integer("n_layer", 64, 1, 1024);
  shape.vocab_size = keys.integer("vocab_size", 50277, 1, 1 << 24);
  shape.pad_vocab_size_multiple = keys.integer("pad_vocab_size_multiple", 8, 1, 1 << 16);
  shape.tie_embeddings = keys.flag("tie_embeddings", true);
  shape.residual_in_fp32 = keys.flag("residual_in_fp32", true);
  if (!keys.flag("rms_norm", true))
    keys.fail(unsupported(file + ": rms_norm is false; only layers with an RMS norm can be read"));
  if (keys.integer("d_intermediate", 0, 0, INT64_MAX))
    keys.fail(unsupported(file + ": d_intermediate is above 0; layers with an MLP can't be read"));
  if (object.contains("attn_layer_idx") && !object["attn_layer_idx"].empty())
    keys.fail(unsupported(file + ": attn_layer_idx names layers of attention, which can't be read"));
  TUTTI_CHECK(keys.finish());

  const json& ssm = object.contains("ssm_cfg") ? object["ssm_cfg"] : none;
  if (!ssm.is_object()) return bad_input(file + ": ssm_cfg is not an object");
  static const std::set<std::string> known{
      "layer",      "d_state",       "d_conv",           "expand",    "headdim",      "ngroups",
      "d_ssm",      "rmsnorm",       "norm_before_gate", "dt_limit",  "bias",         "conv_bias",
      "chunk_size", "D_has_hdim",    "grouped_norm",     "conv_init", "A_init_range", "dt_min",
      "dt_max",     "dt_init_floor", "use_mem_eff_path"};  // the last six don't change what is computed
  for (const auto& [key, value] : ssm.items())
    if (!known.count(key)) return unsupported(file + ": ssm_cfg has the key \"" + key + "\", which is not known here");
  Keys block(ssm, file + ": ssm_cfg");
  if (const std::string layer = block.text("layer", "Mamba1"); layer != "Mamba2")
    block.fail(unsupported(file + ": ssm_cfg has the layer \"" + layer + "\"; only Mamba2 can be read"));
  s.d_inner = s.d_model * block.integer("expand", 2, 1, 16);
  s.d_ssm = block.integer("d_ssm", s.d_inner, 1, s.d_inner);
  s.headdim = block.integer("headdim", 64, 1, 1024), s.ngroups = block.integer("ngroups", 1, 1, 1024);
  s.d_state = block.integer("d_state", 128, 1, 256), s.d_conv = block.integer("d_conv", 4, 2, 8);
  s.chunk = block.integer("chunk_size", 256, 1, 4096);
  s.bias = block.flag("bias", false), s.conv_bias = block.flag("conv_bias", true), s.rmsnorm = block.flag("rmsnorm", true);
  s.norm_before_gate = block.flag("norm_before_gate", false), s.d_has_hdim = block.flag("D_has_hdim", false);
  s.grouped_norm = block.flag("grouped_norm", true), s.epsilon = kStateSpacesEpsilon;
  block.limits("dt_limit", s);
  return block.finish();
}

Result<void> read_hugging_face(const json& object, const std::string& file, LanguageModelShape& shape) {
  Keys keys(object, file);
  BlockShape& s = shape.block;
  if (const std::string type = keys.text("model_type", "mamba2"); type != "mamba2")
    keys.fail(unsupported(file + ": model_type is \"" + type + "\"; only mamba2 can be read"));
  if (const std::string act = keys.text("hidden_act", "silu"); act != "silu" && act != "swish")
    keys.fail(unsupported(file + ": hidden_act is \"" + act + "\"; only silu can be read"));
  s.d_model = keys.integer("hidden_size", 4096, 1, 65536);
  s.d_inner = s.d_ssm = s.d_model * keys.integer("expand", 2, 1, 16);
  const int64_t heads = keys.integer("num_heads", 128, 1, 1 << 20);
  s.headdim = keys.integer("head_dim", 64, 1, 1024), s.ngroups = keys.integer("n_groups", 8, 1, 1024);
  s.d_state = keys.integer("state_size", 128, 1, 256), s.d_conv = keys.integer("conv_kernel", 4, 2, 8);
  s.chunk = keys.integer("chunk_size", 256, 1, 4096);
  s.bias = keys.flag("use_bias", false), s.conv_bias = keys.flag("use_conv_bias", true);
  s.grouped_norm = keys.flag("grouped_norm", true), s.epsilon = keys.positive("layer_norm_epsilon", 1e-5);
  keys.limits("time_step_limit", s);
  shape.layers = keys.integer("num_hidden_layers", 64, 1, 1024);
  shape.vocab_size = keys.integer("vocab_size", 32768, 1, 1 << 24), shape.pad_vocab_size_multiple = 1;
  shape.tie_embeddings = keys.flag("tie_word_embeddings", false);
  shape.residual_in_fp32 = keys.flag("residual_in_fp32", true);
  TUTTI_CHECK(keys.finish());
  if (heads * s.headdim != s.d_ssm)
    return bad_input(file + ": num_heads " + std::to_string(heads) + " times head_dim " + std::to_string(s.headdim) +
                     " is not expand times hidden_size, " + std::to_string(s.d_ssm));
  return {};
}

template <class Object>
void add_limits(Object& object, const char* key, const BlockShape& s) {
  if (s.dt_limit_min > 0 || s.dt_limit_max < kLargestLimit)
    object[key] = {s.dt_limit_min, std::min(s.dt_limit_max, kLargestLimit)};
}

Result<ordered_json> state_spaces_config(const LanguageModelShape& shape) {
  const BlockShape& s = shape.block;
  if (s.epsilon != kStateSpacesEpsilon)
    return unsupported("state-spaces has the norms' epsilon fixed at 1e-5, and this model has another; write the layout hf");
  ordered_json ssm{{"layer", "Mamba2"},    {"d_state", s.d_state}, {"d_conv", s.d_conv}, {"expand", s.d_inner / s.d_model},
                   {"headdim", s.headdim}, {"ngroups", s.ngroups}};
  if (s.d_ssm != s.d_inner) ssm["d_ssm"] = s.d_ssm;
  ssm.update({{"rmsnorm", s.rmsnorm},
              {"norm_before_gate", s.norm_before_gate},
              {"D_has_hdim", s.d_has_hdim},
              {"bias", s.bias},
              {"conv_bias", s.conv_bias},
              {"chunk_size", s.chunk}});
  add_limits(ssm, "dt_limit", s);
  if (s.norm_groups() != s.ngroups) ssm["grouped_norm"] = false;  // no argument of state-spaces' Mamba2, which will say so
  return ordered_json{{"d_model", s.d_model},
                      {"d_intermediate", 0},
                      {"n_layer", shape.layers},
                      {"vocab_size", shape.vocab_size},
                      {"ssm_cfg", ssm},
                      {"attn_layer_idx", ordered_json::array()},
                      {"attn_cfg", ordered_json::object()},
                      {"rms_norm", true},
                      {"residual_in_fp32", shape.residual_in_fp32},
                      {"fused_add_norm", true},
                      {"pad_vocab_size_multiple", shape.pad_vocab_size_multiple},
                      {"tie_embeddings", shape.tie_embeddings}};
}

Result<ordered_json> hugging_face_config(const LanguageModelShape& shape, bool f64) {
  const BlockShape& s = shape.block;
  const auto refuse = [](const std::string& what) {
    return unsupported("the layout hf can't hold " + what + "; write the layout state-spaces");
  };
  if (s.d_mlp()) return refuse("a gated linear unit beside the scan (d_ssm below d_inner)");
  if (!s.rmsnorm) return refuse("a block without its norm (rmsnorm false)");
  if (s.norm_before_gate) return refuse("a norm before the gate (norm_before_gate)");
  if (s.d_has_hdim) return refuse("a D per channel (D_has_hdim)");
  if (s.norm_groups() != s.ngroups)
    return refuse("a norm over all channels of " + std::to_string(s.ngroups) +
                  " groups: transformers from 5.23 on would normalise each group by itself");
  ordered_json config{{"architectures", {"Mamba2ForCausalLM"}},
                      {"model_type", "mamba2"},
                      {"hidden_size", s.d_model},
                      {"expand", s.d_inner / s.d_model},
                      {"num_heads", s.heads()},
                      {"head_dim", s.headdim},
                      {"n_groups", s.ngroups},
                      {"state_size", s.d_state},
                      {"conv_kernel", s.d_conv},
                      {"chunk_size", s.chunk},
                      {"num_hidden_layers", shape.layers},
                      {"vocab_size", shape.vocabulary()},
                      {"layer_norm_epsilon", s.epsilon},
                      {"hidden_act", "silu"},
                      {"rms_norm", true},
                      {"use_bias", s.bias},
                      {"use_conv_bias", s.conv_bias},
                      {"residual_in_fp32", shape.residual_in_fp32},
                      {"tie_word_embeddings", shape.tie_embeddings},
                      {"dtype", f64 ? "float64" : "float32"}};
  add_limits(config, "time_step_limit", s);
  return config;
}

}  // namespace

const char* name_of(CheckpointLayout layout) { return layout == CheckpointLayout::state_spaces ? "state-spaces" : "hf"; }

Result<CheckpointLayout> layout_named(const std::string& name) {
  if (name == "state-spaces") return CheckpointLayout::state_spaces;
  if (name == "hf") return CheckpointLayout::hugging_face;
  return bad_input("there is no layout \"" + name + "\"; choose state-spaces or hf");
}

Result<ModelConfig> read_model_config(const std::filesystem::path& file) {
  TUTTI_TRY(const json object, parse(file));
  ModelConfig config;
  if (object.contains("hidden_size") || object.contains("model_type")) {
    config.layout = CheckpointLayout::hugging_face;
    TUTTI_CHECK(read_hugging_face(object, file.string(), config.shape));
  } else if (object.contains("d_model") && object.contains("n_layer")) {
    config.layout = CheckpointLayout::state_spaces;
    TUTTI_CHECK(read_state_spaces(object, file.string(), config.shape));
  } else {
    return bad_input(file.string() +
                     " has neither d_model and n_layer (state-spaces) nor hidden_size (Hugging Face); it is no Mamba-2's");
  }
  if (const Result<void> fits = check_shape(config.shape.block); !fits)
    return bad_input(file.string() + ": " + fits.error().message);
  return config;
}

Result<std::string> model_config_text(const LanguageModelShape& shape, CheckpointLayout layout, bool f64) {
  if (shape.block.d_inner % shape.block.d_model)
    return unsupported("d_inner " + std::to_string(shape.block.d_inner) +
                       " is no multiple of d_model; neither layout can hold that");
  TUTTI_TRY(const ordered_json config,
            layout == CheckpointLayout::state_spaces ? state_spaces_config(shape) : hugging_face_config(shape, f64));
  return config.dump(2) + "\n";
}

}  // namespace tutti::mamba2
