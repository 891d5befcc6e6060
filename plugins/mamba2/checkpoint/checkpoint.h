// A trained Mamba-2 language model in a folder: config.json, and its weights in model.safetensors or in the files that
// model.safetensors.index.json lists. The layouts of state-spaces and Hugging Face differ in config.json and in one name
// (backbone.embedding.weight, backbone.embeddings.weight); their tensors are the same.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugins/mamba2/checkpoint/model_config.h"
#include "shared/tensor/tensor.h"

namespace tutti::mamba2 {

struct SavedModel {
  ModelConfig config;
  bool f64 = false;             // some tensor is; else all are f32
  std::vector<Tensor> tensors;  // in the order of weight_layout(config.shape), f32 or f64

  // The weights as a LanguageModel<T> wants them, [weight_layout(config.shape).size()].
  template <class T>
  std::vector<T> weights() const;
};

// A weight's name in a layout, from that in weight_layout.
std::string name_in(CheckpointLayout layout, const std::string& name);

// Every tensor of the model must be there, of the shape that config.json gives it, in f32 or f64, and no other. A tied
// lm_head.weight may be there if it equals the embedding. An error names the file and the tensor. pytorch_model.bin is
// refused: a pickle is a program.
Result<SavedModel> read_checkpoint(const std::filesystem::path& folder);

// Writes config.json and model.safetensors into folder, made where missing; one that holds a config.json is refused.
// weights [weight_layout(shape).size()]. Unsupported where the layout can't hold the model; see model_config_text.
template <class T>
Result<void> write_checkpoint(const std::filesystem::path& folder, CheckpointLayout layout, const LanguageModelShape& shape,
                              const T* weights);

}  // namespace tutti::mamba2
