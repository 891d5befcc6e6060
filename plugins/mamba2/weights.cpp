#include "plugins/mamba2/weights.h"

#include <algorithm>
#include <cmath>

#include "shared/random/philox.h"

namespace tutti::mamba2 {
namespace {

constexpr double kTimeStepFloor = 1e-4;  // dt_init_floor of the reference
constexpr double kSmallestDecay = 1;     // A_init_range of the reference
constexpr double kLargestDecay = 16;
constexpr int64_t kAlignment = 16;  // elements: 64 bytes of f32

std::string layer_name(const std::string& prefix, int64_t layer, const char* part) {
  return prefix + "layers." + std::to_string(layer) + "." + part;
}

// Of a layer with so many inputs: the bound of PyTorch's uniform initialisation.
double fan(int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

}  // namespace

void WeightLayout::add(std::string name, std::vector<int64_t> shape, Weight::Start start, double bound, bool decays) {
  int64_t size = 1;
  for (int64_t length : shape) size *= length;
  weights_.push_back({std::move(name), std::move(shape), start, bound, decays, size_, size});
  size_ += (size + kAlignment - 1) / kAlignment * kAlignment;
}

void WeightLayout::add_layers(const std::string& prefix, const BlockShape& s, int64_t layers) {
  using enum Weight::Start;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto name = [&](const char* part) { return layer_name(prefix, layer, part); };
    add(name("norm.weight"), {s.d_model}, one, 0, false);
    add(name("mixer.in_proj.weight"), {s.in_proj_width(), s.d_model}, uniform, fan(s.d_model), true);
    if (s.bias) add(name("mixer.in_proj.bias"), {s.in_proj_width()}, uniform, 0, false);
    add(name("mixer.conv1d.weight"), {s.conv_channels(), 1, s.d_conv}, uniform, fan(s.d_conv), true);
    if (s.conv_bias) add(name("mixer.conv1d.bias"), {s.conv_channels()}, uniform, fan(s.d_conv), false);
    add(name("mixer.dt_bias"), {s.heads()}, time_step, 0, false);
    add(name("mixer.A_log"), {s.heads()}, decay, 0, false);
    add(name("mixer.D"), {s.d_has_hdim ? s.d_ssm : s.heads()}, one, 0, false);
    if (s.rmsnorm) add(name("mixer.norm.weight"), {s.d_ssm}, one, 0, false);
    add(name("mixer.out_proj.weight"), {s.d_model, s.d_inner}, uniform, fan(s.d_inner) * fan(layers), true);
    if (s.bias) add(name("mixer.out_proj.bias"), {s.d_model}, uniform, 0, false);
  }
}

WeightLayout::WeightLayout(const Config& config, const Ends& ends) : dt_min_(config.dt_min), dt_max_(config.dt_max) {
  using enum Weight::Start;
  const BlockShape& s = config.block;
  add("embed.weight", {s.d_model, ends.token_width}, uniform, fan(ends.token_width), true);
  add("embed.bias", {s.d_model}, uniform, fan(ends.token_width), false);
  add_layers("", s, config.layers);
  add("norm_f.weight", {s.d_model}, one, 0, false);
  add("head.weight", {ends.outputs, s.d_model}, uniform, fan(s.d_model), true);
  add("head.bias", {ends.outputs}, uniform, fan(s.d_model), false);
}

template <class T>
void WeightLayout::initialise(uint64_t seed, T* values) const {
  std::fill_n(values, size_, T(0));
  for (size_t index = 0; index < weights_.size(); ++index) {
    const Weight& weight = weights_[index];
    const Philox random(seed, index);
    const auto draw = [&](uint64_t i) {
      switch (weight.start) {
        case Weight::Start::uniform:
          return random.uniform(i, -weight.bound, weight.bound);
        case Weight::Start::one:
          return 1.0;
        case Weight::Start::decay:
          return std::log(random.uniform(i, kSmallestDecay, kLargestDecay));
        case Weight::Start::time_step:
          break;
      }
      const double dt = std::max(std::exp(random.uniform(i, std::log(dt_min_), std::log(dt_max_))), kTimeStepFloor);
      return dt + std::log(-std::expm1(-dt));
    };
    for (int64_t i = 0; i < weight.size; ++i) values[weight.offset + i] = static_cast<T>(draw(static_cast<uint64_t>(i)));
  }
}

template <class T>
std::vector<LayerParameters<T>> bind_layers(const WeightLayout& layout, const std::string& prefix, int64_t layers, T* memory) {
  std::vector<LayerParameters<T>> bound;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto in_layer = [&](const char* part) { return layout.find(layer_name(prefix, layer, part), memory); };
    bound.push_back({in_layer("norm.weight"),
                     {in_layer("mixer.in_proj.weight"), in_layer("mixer.in_proj.bias"), in_layer("mixer.conv1d.weight"),
                      in_layer("mixer.conv1d.bias"), in_layer("mixer.dt_bias"), in_layer("mixer.A_log"), in_layer("mixer.D"),
                      in_layer("mixer.norm.weight"), in_layer("mixer.out_proj.weight"), in_layer("mixer.out_proj.bias")}});
  }
  return bound;
}

template <class T>
ModelParameters<T> bind_parameters(const WeightLayout& layout, const Config& config, T* memory) {
  const auto at = [&](const std::string& name) { return layout.find(name, memory); };
  return {at("embed.weight"),  at("embed.bias"),  bind_layers(layout, "", config.layers, memory),
          at("norm_f.weight"), at("head.weight"), at("head.bias")};
}

#define TUTTI_INSTANTIATE(T)                                                                                              \
  template void WeightLayout::initialise(uint64_t, T*) const;                                                             \
  template std::vector<LayerParameters<T>> bind_layers(const WeightLayout&, const std::string&, int64_t, T*);             \
  template std::vector<LayerParameters<const T>> bind_layers(const WeightLayout&, const std::string&, int64_t, const T*); \
  template ModelParameters<T> bind_parameters(const WeightLayout&, const Config&, T*);                                    \
  template ModelParameters<const T> bind_parameters(const WeightLayout&, const Config&, const T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2
