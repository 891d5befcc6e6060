// The forecaster around the blocks: windows become sequences of tokens, the backbone reads them,
// and what the last token knows becomes the forecast.
//
//   h_0 = tokens embed^T,  h = backbone(h_0),  out = rmsnorm(h[last]) head^T
//   answer = mean + deviation * (last value + out)
//
// with mean 0 and deviation 1 without revin, and the last value left out without from_last. A target that is no
// feature is answered by out itself. T is float or double, the problem's dtype. A row's answer has the same bits in every
// batch and at any number of threads; steps before a row's length are never read.
#pragma once

#include <memory>
#include <vector>

#include "plugins/mamba2/backbone.h"
#include "plugins/mamba2/config.h"
#include "shared/plugin/model.h"

namespace tutti::mamba2 {

// What forward leaves for backward, trace and the answer. R sequences of L tokens: a sequence is a row of the batch, or
// a row and a target where channels are independent.
template <class T>
struct ModelTape {
  Segments segments = Segments::whole(0, 0);
  int64_t rows = 0;
  std::vector<T> tokens;                 // [R, L, token_width]
  std::vector<T> mean, deviation, last;  // [R, features of a sequence]; last is normalised
  std::vector<T> hidden;                 // [R, L, d_model], after all blocks
  std::vector<LayerTape<T>> layers;
  std::vector<T> hidden_last, normed_last, rstd_last;  // [R, d_model], [R, d_model], [R]
  std::vector<T> out;                                  // [R, outputs]
};

template <class T>
class Forecaster {
 public:
  Forecaster(const Config& config, const Problem& problem);

  const WeightLayout& layout() const { return layout_; }

  // Answers a batch into output.
  void predict(Executor& executor, const T* weights, const tutti_batch& batch, const tutti_output& output);

  // The training loss of a batch with targets, and its gradient, added to gradient [layout().size()]. The loss is the
  // mean over rows, by their weight, of the squared error of the point and the pinball loss of the quantiles, each a mean
  // over horizon, targets and levels, and added up where both are asked for. The targets of a row of weight 0 aren't read.
  T loss_and_gradient(Executor& executor, const T* weights, const tutti_batch& batch, const Dropout& dropout, T* gradient);

  // Why this model can't answer a stream in constant time; null where it can.
  const char* why_no_stream() const;
  ModelState<T> empty_state(int64_t rows) const;
  // Whether state has the sizes of this model's.
  bool fits(const ModelState<T>& state) const;
  void reset_row(ModelState<T>& state, int64_t row) const;
  // One frame [rows, features] for each stream.
  void step(Executor& executor, const T* weights, ModelState<T>& state, View<const T, 2> frame, const tutti_output& output);

  // predict, with every intermediate value shown.
  void trace(Executor& executor, const T* weights, const tutti_batch& batch, tutti_trace_fn visit, void* argument);

 private:
  int64_t sequences_per_row() const { return config_.channel_independent ? problem_.targets : 1; }
  int64_t features_per_sequence() const { return config_.channel_independent ? 1 : problem_.features; }
  int64_t targets_per_sequence() const { return config_.channel_independent ? 1 : problem_.targets; }
  int64_t outputs() const { return layout_.weights().back().size; }
  int64_t feature_of(int64_t sequence, int64_t f) const;
  // The parameters in weights, found by name once: a step of a stream looks for nothing and allocates nothing.
  const ModelParameters<const T>& bind(const T* weights);
  struct Place;
  Place place_of(int64_t row, int64_t h, int64_t k) const;

  void read_windows(const tutti_batch& batch, int64_t first, int64_t last, ModelTape<T>& tape) const;
  void normalise(View<const T, 3> past, int64_t first, ModelTape<T>& tape, const std::vector<int64_t>& lengths) const;
  void forward(Executor& executor, const ModelParameters<const T>& p, const Dropout& dropout, bool keep, ModelTape<T>& tape);
  void read_last(Executor& executor, const ModelParameters<const T>& p, ModelTape<T>& tape);
  void backward(Executor& executor, const ModelParameters<const T>& p, ModelTape<T>& tape, std::vector<T>& d_out,
                const ModelParameters<T>& gradient);
  T answer(const ModelTape<T>& tape, const Place& place, int64_t level, T* scale) const;
  void write_answers(const ModelTape<T>& tape, int64_t first, const tutti_output& output);
  T loss(const ModelTape<T>& tape, const tutti_batch& batch, std::vector<T>& d_out) const;

  Config config_;
  Problem problem_;
  const Kernels<T>& kernels_;
  WeightLayout layout_;
  Backbone<T> backbone_;
  ModelTape<T> tape_;
  Scratch<T> scratch_;
  Segments one_step_ = Segments::whole(0, 0);
  const T* bound_weights_ = nullptr;
  ModelParameters<const T> bound_{};
  std::vector<int64_t> lengths_;  // of step
  std::vector<T> levels_;         // of write_answers
  std::vector<T> d_hidden_, d_hidden_last_, d_normed_last_;
};

}  // namespace tutti::mamba2
