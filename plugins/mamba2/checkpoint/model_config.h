// The config.json beside a published Mamba-2 language model, in the two layouts that are in use.
//
// state-spaces (MambaConfig of mamba_ssm): d_model, n_layer, vocab_size, pad_vocab_size_multiple, tie_embeddings and
// ssm_cfg with the arguments of its Mamba2. Hugging Face (Mamba2Config of transformers, model_type "mamba2"): hidden_size,
// num_hidden_layers, state_size, head_dim, n_groups … An absent key has the value that its owner gives it.
#pragma once

#include <filesystem>
#include <string>

#include "plugins/mamba2/language_model.h"
#include "shared/result.h"

namespace tutti::mamba2 {

enum class CheckpointLayout { state_spaces, hugging_face };

// "state-spaces" or "hf", and back.
const char* name_of(CheckpointLayout layout);
Result<CheckpointLayout> layout_named(const std::string& name);

struct ModelConfig {
  CheckpointLayout layout;  // told by its keys
  LanguageModelShape shape;
};

// An error names the file, the key and the cure. Models that are no pure Mamba-2 (attention, MLPs, Mamba-1, LayerNorm)
// are unsupported, and so is an argument of ssm_cfg that isn't known here. Both layouts may carry a key of ours,
// "grouped_norm": false (in ssm_cfg, or beside n_groups), for a model trained with a norm over all channels.
Result<ModelConfig> read_model_config(const std::filesystem::path& file);

// The text of config.json; f64 tells the weights' dtype. Unsupported where the layout's owner would compute something
// else from it: Hugging Face knows no d_ssm below d_inner, rmsnorm false, norm_before_gate, d_has_hdim, nor, with
// several groups, a norm over all channels; state-spaces no epsilon but 1e-5.
Result<std::string> model_config_text(const LanguageModelShape& shape, CheckpointLayout layout, bool f64);

}  // namespace tutti::mamba2
