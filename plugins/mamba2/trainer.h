// A forecaster with its weights and their optimizer: AdamW (Loshchilov and Hutter, arXiv 1711.05101; bias correction and
// order of operations as in PyTorch) with weight decay on matrices and convolutions only, the gradient clipped by its
// norm, linear warm-up and a cosine to a floor. Everything that a later step depends on is a named tensor.
#pragma once

#include <array>
#include <vector>

#include "plugins/mamba2/model.h"

namespace tutti::mamba2 {

template <class T>
class Trainer {
 public:
  Trainer(const Config& config, const Problem& problem);

  // Weights from the seed, optimizer empty.
  void reset();

  // One step. A loss or gradient that isn't finite is answered with TUTTI_TRAIN_DIVERGED and changes nothing.
  void step(Executor& executor, const tutti_batch& batch, tutti_train_out& out);

  // The length of the schedule, in steps; 0: unknown, the learning rate stays after its warm-up.
  void plan(int64_t steps) { counters_[1] = steps; }

  // The loss of a batch without dropout; its gradients go to tensors [parameters().size()], dense, ndim 0 where none is
  // wanted. An error where a tensor has the wrong shape or dtype.
  Result<double> gradient(Executor& executor, const tutti_batch& batch, const tutti_tensor* tensors);

  // The learning rate of the step after `done` steps.
  double learning_rate(int64_t done) const;

  // Weights first, in the order of the layout; then the optimizer's state.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const T* weights() const { return weights_.data(); }
  Forecaster<T>& forecaster() { return forecaster_; }

 private:
  void list_parameters();
  double gradient_norm() const;
  void update(Executor& executor, double clip, double rate);

  Config config_;
  uint64_t seed_;
  Forecaster<T> forecaster_;
  std::vector<T> weights_, gradient_, mean_, square_;  // [layout.size()]; the last two are Adam's moments
  std::array<int64_t, 2> counters_{};                  // steps done, steps planned
  std::vector<std::vector<int64_t>> shapes_, strides_;
  std::vector<Parameter> parameters_;
};

}  // namespace tutti::mamba2
