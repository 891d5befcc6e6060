#include "plugins/mamba2/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tutti::mamba2 {
namespace {

// Of Adam, PyTorch's defaults.
constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0;) strides[axis] = step, step *= shape[axis];
  return strides;
}

}  // namespace

template <class T>
Trainer<T>::Trainer(const Config& config, const Problem& problem)
    : config_(config), seed_(problem.seed), forecaster_(config, problem) {
  const auto size = static_cast<size_t>(forecaster_.layout().size());
  weights_.resize(size), gradient_.resize(size), mean_.resize(size), square_.resize(size);
  list_parameters();
  reset();
}

template <class T>
void Trainer<T>::reset() {
  forecaster_.layout().initialise(seed_, weights_.data());
  std::fill(mean_.begin(), mean_.end(), T(0)), std::fill(square_.begin(), square_.end(), T(0));
  counters_ = {};
}

template <class T>
void Trainer<T>::list_parameters() {
  const std::vector<Weight>& weights = forecaster_.layout().weights();
  for (const Weight& weight : weights) shapes_.push_back(weight.shape), strides_.push_back(dense_strides(weight.shape));
  shapes_.push_back({1}), strides_.push_back({1});
  const auto add = [&](const std::string& name, uint32_t role, void* data, tutti_dtype dtype, size_t shape) {
    parameters_.push_back({name,
                           role,
                           {data,
                            {TUTTI_CPU, 0},
                            static_cast<int32_t>(shapes_[shape].size()),
                            dtype,
                            shapes_[shape].data(),
                            strides_[shape].data(),
                            0}});
  };
  const auto add_all = [&](const std::string& prefix, uint32_t role, std::vector<T>& memory) {
    for (size_t i = 0; i < weights.size(); ++i)
      add(prefix + weights[i].name, role, memory.data() + weights[i].offset, dtype_of<T>(), i);
  };
  add_all("", TUTTI_ROLE_WEIGHT, weights_);
  add_all("optimizer.exp_avg.", TUTTI_ROLE_OPTIMIZER, mean_);
  add_all("optimizer.exp_avg_sq.", TUTTI_ROLE_OPTIMIZER, square_);
  add("optimizer.step", TUTTI_ROLE_OPTIMIZER, &counters_[0], dtype_of<int64_t>(), weights.size());
  add("optimizer.planned_steps", TUTTI_ROLE_OPTIMIZER, &counters_[1], dtype_of<int64_t>(), weights.size());
}

template <class T>
double Trainer<T>::learning_rate(int64_t done) const {
  const int64_t planned = counters_[1];
  const int64_t warmup = planned > 0 ? std::min(config_.warmup_steps, planned / 10) : config_.warmup_steps;
  if (done < warmup) return config_.learning_rate * static_cast<double>(done + 1) / static_cast<double>(warmup);
  if (planned <= 0) return config_.learning_rate;
  const double part =
      std::min(1.0, static_cast<double>(done - warmup) / static_cast<double>(std::max<int64_t>(1, planned - warmup)));
  const double floor = config_.min_learning_rate_ratio;
  return config_.learning_rate * (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * part)));
}

template <class T>
double Trainer<T>::gradient_norm() const {
  double squares = 0;
  for (T g : gradient_) squares += static_cast<double>(g) * static_cast<double>(g);
  return std::sqrt(squares);
}

template <class T>
void Trainer<T>::update(Executor& executor, double clip, double rate) {
  const double steps = static_cast<double>(counters_[0] + 1);
  const T beta1 = static_cast<T>(kMeanDecay), beta2 = static_cast<T>(kSquareDecay), factor = static_cast<T>(clip);
  const T step_size = static_cast<T>(rate / (1 - std::pow(kMeanDecay, steps)));
  const T correction = static_cast<T>(std::sqrt(1 - std::pow(kSquareDecay, steps)));
  const std::vector<Weight>& weights = forecaster_.layout().weights();
  executor.parallel_for(static_cast<int64_t>(weights.size()), 1, [&](int64_t index, int64_t) {
    const Weight& weight = weights[static_cast<size_t>(index)];
    const T shrink = static_cast<T>(weight.decays ? 1 - rate * config_.weight_decay : 1);
    for (int64_t i = weight.offset; i < weight.offset + weight.size; ++i) {
      const T g = gradient_[i] * factor;
      mean_[i] = beta1 * mean_[i] + (T(1) - beta1) * g;
      square_[i] = beta2 * square_[i] + (T(1) - beta2) * g * g;
      weights_[i] = weights_[i] * shrink - step_size * mean_[i] / (std::sqrt(square_[i]) / correction + static_cast<T>(kEpsilon));
    }
  });
}

template <class T>
void Trainer<T>::step(Executor& executor, const tutti_batch& batch, tutti_train_out& out) {
  const Dropout dropout{config_.dropout, seed_, static_cast<uint64_t>(counters_[0])};
  std::fill(gradient_.begin(), gradient_.end(), T(0));
  out.loss = static_cast<double>(forecaster_.loss_and_gradient(executor, weights_.data(), batch, dropout, gradient_.data()));
  const double norm = gradient_norm(), rate = learning_rate(counters_[0]);
  out.scalar_count = 2;
  out.scalars[0] = {"gradient_norm", norm}, out.scalars[1] = {"learning_rate", rate};
  if (!std::isfinite(out.loss) || !std::isfinite(norm)) {
    out.state = TUTTI_TRAIN_DIVERGED, out.gradient_steps = 0;
    return;
  }
  update(executor, config_.clip_norm > 0 && norm > config_.clip_norm ? config_.clip_norm / norm : 1.0, rate);
  ++counters_[0];
  out.state = TUTTI_TRAIN_DONE, out.gradient_steps = 1;
}

template <class T>
Result<double> Trainer<T>::gradient(Executor& executor, const tutti_batch& batch, const tutti_tensor* tensors) {
  const std::vector<Weight>& weights = forecaster_.layout().weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    const tutti_tensor &given = tensors[i], &own = parameters_[i].tensor;
    if (given.ndim == 0) continue;
    if (!same_dtype(given.dtype, own.dtype))
      return bad_input("the gradient of " + weights[i].name + " is " + name_of(given.dtype) + "; " + name_of(own.dtype) +
                       " is needed");
    if (given.ndim != own.ndim || !std::equal(own.shape, own.shape + own.ndim, given.shape))
      return bad_input("the gradient of " + weights[i].name + " has the shape " + shape_text(given.shape, given.ndim) + "; " +
                       shape_text(own.shape, own.ndim) + " is needed");
  }
  std::fill(gradient_.begin(), gradient_.end(), T(0));
  const T loss = forecaster_.loss_and_gradient(executor, weights_.data(), batch, {}, gradient_.data());
  for (size_t i = 0; i < weights.size(); ++i)
    if (tensors[i].ndim)
      std::copy_n(gradient_.data() + weights[i].offset, weights[i].size,
                  reinterpret_cast<T*>(static_cast<char*>(tensors[i].data) + tensors[i].byte_offset));
  return static_cast<double>(loss);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace tutti::mamba2
