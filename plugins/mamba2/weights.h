// The names, shapes and first values of a model's weights, and typed access to them in one block of memory. Names are
// those of the reference implementation; a forecaster has embed and head around the layers.
#pragma once

#include <string>
#include <vector>

#include "plugins/mamba2/config.h"

namespace tutti::mamba2 {

struct Weight {
  enum class Start { uniform, one, time_step, decay };

  std::string name;
  std::vector<int64_t> shape;
  Start start = Start::uniform;
  double bound = 0;     // of uniform: -bound … bound
  bool decays = false;  // by weight decay
  int64_t offset = 0;   // of the first element in the model's memory; a multiple of 64 bytes
  int64_t size = 0;     // elements
};

// What surrounds the blocks.
struct Ends {
  int64_t token_width;  // inputs of embed
  int64_t outputs;      // of head
};

class WeightLayout {
 public:
  // Of a forecaster.
  WeightLayout(const Config& config, const Ends& ends);
  // Empty, for a model that adds its weights one by one.
  WeightLayout() = default;

  // A weight after those before.
  void add(std::string name, std::vector<int64_t> shape, Weight::Start start, double bound, bool decays);
  // The weights of residual layers, their names after prefix: "layers.0.norm.weight", "layers.0.mixer.in_proj.weight" …
  void add_layers(const std::string& prefix, const BlockShape& block, int64_t layers);

  const std::vector<Weight>& weights() const { return weights_; }
  int64_t size() const { return size_; }  // elements of the memory, gaps included

  // values [size()] as at the start of training; each weight draws from a stream of its own. Section 1.3 of the
  // reference: PyTorch's uniform for linear layers and convolution, out_proj divided by sqrt(layers), dt_bias the inverse
  // softplus of a log-uniform time step, A_log the logarithm of U(1,16), D and norms one.
  template <class T>
  void initialise(uint64_t seed, T* values) const;

  // Where a weight lies in memory; null where the model has none of that name.
  template <class T>
  T* find(const std::string& name, T* memory) const {
    for (const Weight& weight : weights_)
      if (weight.name == name) return memory + weight.offset;
    return nullptr;
  }

 private:
  std::vector<Weight> weights_;
  int64_t size_ = 0;
  double dt_min_ = 1e-3, dt_max_ = 0.1;  // of the reference
};

template <class T>
struct LayerParameters {
  T* norm_weight;  // [d_model]
  BlockParameters<T> mixer;
};

template <class T>
struct ModelParameters {
  T *embed_weight, *embed_bias;  // [d_model, token_width], [d_model]
  std::vector<LayerParameters<T>> layers;
  T* norm_f_weight;            // [d_model]
  T *head_weight, *head_bias;  // [outputs, d_model], [outputs]
};

// The layers' weights in memory [layout.size()], as add_layers named them; T may be const.
template <class T>
std::vector<LayerParameters<T>> bind_layers(const WeightLayout& layout, const std::string& prefix, int64_t layers, T* memory);

// The weights in memory [layout.size()]; T may be const.
template <class T>
ModelParameters<T> bind_parameters(const WeightLayout& layout, const Config& config, T* memory);

}  // namespace tutti::mamba2
