// The residual layers that every model of this plugin stands on:
//
//   h_i = h_{i-1} + dropout(block_i(rmsnorm(h_{i-1}))),  i = 1 … layers
//
// T is float or double. Hidden values are [rows, steps, d_model], dense; only steps inside segments are read, those
// outside stay zero. As with Block, a row has the same bits in every batch and at any number of threads. Calls share
// memory: one at a time.
#pragma once

#include <vector>

#include "plugins/mamba2/block.h"
#include "plugins/mamba2/weights.h"

namespace tutti::mamba2 {

// What one training step leaves out: each element by seed, step, layer and place.
struct Dropout {
  double rate = 0;
  uint64_t seed = 0;
  uint64_t step = 0;
};

// What a layer's forward leaves for its backward.
template <class T>
struct LayerTape {
  std::vector<T> input;  // [rows, steps, d_model]
  std::vector<T> rstd;   // [rows, steps]
  std::vector<T> mask;   // [rows, steps, d_model] factors of dropout; empty: none
  BlockTape<T> block;
};

// A stream's memory: the state of every block for each of its rows. A row of a forecaster may be several sequences.
template <class T>
struct ModelState {
  int64_t rows = 0;
  std::vector<T> conv, ssm;  // [layers, sequences, …] as in BlockState
};

// RMS normalisation of [rows, steps, width], without a gate.
template <class T>
Norm<T> plain_norm(const T* y, const T* weight, int64_t width, double epsilon) {
  return {width, 1, y, nullptr, 0, weight, false, static_cast<T>(epsilon)};
}

template <class T>
class Backbone {
 public:
  using Parameters = std::vector<LayerParameters<const T>>;

  // kernels is one of find_kernels' tables.
  Backbone(const BlockShape& shape, int64_t layers, const Kernels<T>& kernels)
      : shape_(shape), layers_(layers), kernels_(kernels), block_(shape, kernels) {}

  // hidden, from h_0 to h_layers in place. Where keep is set, tape holds what backward and trace need of each layer;
  // else it has memory for one.
  void forward(Executor& executor, const Segments& segments, const Parameters& p, const Dropout& dropout, bool keep, T* hidden,
               std::vector<LayerTape<T>>& tape);

  // What a layer's tape doesn't keep, computed once more from it: the scan's final states [rows, heads, headdim, state] and the
  // block's output [rows, steps, d_model].
  void run_again(Executor& executor, const Segments& segments, const LayerParameters<const T>& p, LayerTape<T>& tape, T* states,
                 T* out);

  // d_hidden, from the gradient of h_layers to that of h_0 in place; the parameters' are added to gradient.
  void backward(Executor& executor, const Segments& segments, const Parameters& p, const std::vector<LayerTape<T>>& tape,
                T* d_hidden, const std::vector<LayerParameters<T>>& gradient);

  // Zeros for rows of sequences_per_row sequences each. Throws std::bad_alloc where there isn't so much memory.
  ModelState<T> empty_state(int64_t rows, int64_t sequences_per_row) const;
  // Whether state has the sizes of those.
  bool fits(const ModelState<T>& state, int64_t sequences_per_row) const;
  void reset_row(ModelState<T>& state, int64_t row) const;

  // One step of each sequence: hidden [sequences, d_model] in place; state is read and updated.
  void step(Executor& executor, int64_t sequences, const Parameters& p, ModelState<T>& state, T* hidden);

 private:
  int64_t conv_size() const { return layers_ * (shape_.d_conv - 1) * shape_.conv_channels(); }  // of a sequence's state
  int64_t ssm_size() const { return layers_ * shape_.d_ssm * shape_.d_state; }

  BlockShape shape_;
  int64_t layers_;
  const Kernels<T>& kernels_;
  Block<T> block_;
  BlockWorkspace<T> workspace_;
  Segments one_step_ = Segments::whole(0, 0);
  LayerTape<T> step_tape_;
  std::vector<T> normed_, branch_, d_normed_, d_branch_;
};

}  // namespace tutti::mamba2
