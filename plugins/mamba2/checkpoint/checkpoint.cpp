#include "plugins/mamba2/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "shared/checkpoint/safetensors.h"

namespace tutti::mamba2 {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kEmbedding = "backbone.embedding.weight";
constexpr const char* kHead = "lm_head.weight";

struct Stored {
  std::string file;
  Tensor tensor;
};
using Tensors = std::map<std::string, Stored>;

std::string shape_of(const std::vector<int64_t>& shape) { return shape_text(shape.data(), static_cast<int>(shape.size())); }

Result<void> read_into(const fs::path& file, Tensors& tensors) {
  TUTTI_TRY(Checkpoint checkpoint, read_safetensors(file));
  for (NamedTensor& named : checkpoint.tensors) {
    const auto [at, is_new] = tensors.try_emplace(named.name, Stored{file.string(), std::move(named.tensor)});
    if (!is_new) return bad_input(file.string() + ": tensor \"" + named.name + "\" is in " + at->second.file + " too");
  }
  return {};
}

// The files that an index lists, which must lie beside it.
Result<std::set<std::string>> shards_of(const fs::path& index) {
  std::ifstream stream(index, std::ios::binary);
  const json object = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("weight_map") || !object["weight_map"].is_object())
    return bad_input(index.string() + " has no weight_map from tensors to files");
  std::set<std::string> files;
  const json& map = object["weight_map"];
  for (const auto& [name, file] : map.items()) {
    if (!file.is_string() || file.get<std::string>() != fs::path(file.get<std::string>()).filename().string() || file == "..")
      return bad_input(index.string() + ": the file of tensor \"" + name + "\" is no plain name of a file beside it");
    files.insert(file.get<std::string>());
  }
  return files;
}

Result<Tensors> read_tensors(const fs::path& folder) {
  Tensors tensors;
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    TUTTI_CHECK(read_into(single, tensors));
  } else if (fs::exists(index)) {
    TUTTI_TRY(const std::set<std::string> files, shards_of(index));
    for (const std::string& file : files) TUTTI_CHECK(read_into(folder / file, tensors));
  } else if (fs::exists(folder / "pytorch_model.bin")) {
    return unsupported((folder / "pytorch_model.bin").string() +
                       " is a pickle, which could run any program; load it in Python where you trust it, and save its tensors as "
                       "model.safetensors with safetensors.torch.save_file");
  } else {
    return bad_input(folder.string() + " holds no model.safetensors; name a folder with config.json and model.safetensors");
  }
  return tensors;
}

bool is_f64(const Tensor& tensor) { return same_dtype(tensor.dtype(), dtype_of<double>()); }

Result<Tensor> take(const fs::path& folder, Tensors& tensors, const Weight& weight, CheckpointLayout layout) {
  const std::string name = name_in(layout, weight.name);
  const auto found = tensors.find(name);
  if (found == tensors.end())
    return bad_input(folder.string() + ": tensor \"" + name + "\" of shape " + shape_of(weight.shape) +
                     ", which config.json calls for, is missing");
  const std::string where = found->second.file + ": tensor \"" + name + "\"";
  Tensor tensor = std::move(found->second.tensor);
  tensors.erase(found);
  if (!is_f64(tensor) && !same_dtype(tensor.dtype(), dtype_of<float>()))
    return unsupported(where + " is " + tutti::name_of(tensor.dtype()) + "; f32 and f64 can be read");
  if (tensor.shape() != weight.shape)
    return bad_input(where + " is " + shape_of(tensor.shape()) + ", but config.json makes it " + shape_of(weight.shape));
  return tensor;
}

Result<void> check_tied_head(const Tensors& tensors, const Tensor& embedding) {
  const auto head = tensors.find(kHead);
  if (head == tensors.end()) return {};
  const Tensor& tensor = head->second.tensor;
  if (same_dtype(tensor.dtype(), embedding.dtype()) && tensor.shape() == embedding.shape() &&
      std::memcmp(tensor.data(), embedding.data(), static_cast<size_t>(tensor.bytes())) == 0)
    return {};
  return bad_input(head->second.file +
                   ": tensor \"lm_head.weight\" is not the embedding, though config.json ties them; correct config.json");
}

Result<SavedModel> read(const fs::path& folder) {
  SavedModel model;
  TUTTI_TRY(model.config, read_model_config(folder / "config.json"));
  TUTTI_TRY(Tensors tensors, read_tensors(folder));
  const WeightLayout layout = weight_layout(model.config.shape);
  for (const Weight& weight : layout.weights()) {
    TUTTI_TRY(Tensor tensor, take(folder, tensors, weight, model.config.layout));
    model.f64 = model.f64 || is_f64(tensor);
    model.tensors.push_back(std::move(tensor));
  }
  if (model.config.shape.tie_embeddings) {
    TUTTI_CHECK(check_tied_head(tensors, model.tensors.front()));
    tensors.erase(kHead);
  }
  if (tensors.empty()) return model;
  return bad_input(tensors.begin()->second.file + ": tensor \"" + tensors.begin()->first +
                   "\" is none that config.json calls for; remove it, or correct config.json");
}

Result<void> write_text(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text << std::flush;
  if (stream) return {};
  return failed(file.string() + " can't be written");
}

}  // namespace

std::string name_in(CheckpointLayout layout, const std::string& name) {
  return layout == CheckpointLayout::hugging_face && name == kEmbedding ? "backbone.embeddings.weight" : name;
}

template <class T>
std::vector<T> SavedModel::weights() const {
  const WeightLayout layout = weight_layout(config.shape);
  std::vector<T> values(static_cast<size_t>(layout.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Weight& weight = layout.weights()[i];
    const auto convert = [&](const auto* from) {
      std::transform(from, from + weight.size, values.data() + weight.offset, [](auto v) { return static_cast<T>(v); });
    };
    if (is_f64(tensors[i]))
      convert(tensors[i].data<double>());
    else
      convert(tensors[i].data<float>());
  }
  return values;
}

Result<SavedModel> read_checkpoint(const fs::path& folder) {
  try {
    return read(folder);
  } catch (const std::bad_alloc&) {
    return failed(folder.string() + ": there is not enough memory for this model");
  } catch (const std::exception& problem) {
    return failed(folder.string() + ": " + problem.what());
  }
}

template <class T>
Result<void> write_checkpoint(const fs::path& folder, CheckpointLayout layout, const LanguageModelShape& shape,
                              const T* weights) {
  TUTTI_TRY(const std::string config, model_config_text(shape, layout, std::is_same_v<T, double>));
  std::error_code error;
  if (fs::exists(folder / "config.json", error))
    return bad_input(folder.string() + " already holds a config.json; choose another folder");
  fs::create_directories(folder, error);
  if (error) return failed(folder.string() + " can't be made: " + error.message());

  const WeightLayout weight_names = weight_layout(shape);
  std::vector<View<const T, 1>> flat;  // borrowed below
  std::vector<TensorToWrite> tensors;
  std::vector<std::vector<int64_t>> strides;
  flat.reserve(weight_names.weights().size()), strides.reserve(weight_names.weights().size());
  for (const Weight& weight : weight_names.weights()) {
    flat.emplace_back(weights + weight.offset, std::array<int64_t, 1>{weight.size});
    strides.emplace_back(weight.shape.size());
    int64_t step = 1;
    for (size_t axis = weight.shape.size(); axis-- > 0; step *= weight.shape[axis]) strides.back()[axis] = step;
    tutti_tensor tensor = as_tensor(flat.back());
    tensor.ndim = static_cast<int32_t>(weight.shape.size()), tensor.shape = weight.shape.data(),
    tensor.strides = strides.back().data();
    tensors.push_back({name_in(layout, weight.name), tensor});
  }
  // state-spaces' own loader wants lm_head.weight even where it is the embedding
  if (layout == CheckpointLayout::state_spaces && shape.tie_embeddings) tensors.push_back({kHead, tensors.front().tensor});
  TUTTI_CHECK(write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}}));
  return write_text(folder / "config.json", config);
}

#define TUTTI_INSTANTIATE(T)                              \
  template std::vector<T> SavedModel::weights<T>() const; \
  template Result<void> write_checkpoint(const fs::path&, CheckpointLayout, const LanguageModelShape&, const T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2
