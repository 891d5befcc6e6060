// A language model of Mamba-2 layers, as state-spaces and Hugging Face train and publish them:
//
//   h_0 = embedding[token],  h = backbone(h_0),  logits = rmsnorm(h) lm_head^T
//
// lm_head is the embedding where they are tied. T is float or double, and all arithmetic is in T. The same bits at any
// number of threads; a row's don't depend on the other rows. Calls share memory: one at a time.
#pragma once

#include <string>
#include <vector>

#include "plugins/mamba2/backbone.h"

namespace tutti::mamba2 {

struct LanguageModelShape {
  BlockShape block;
  int64_t layers = 2;
  int64_t vocab_size = 256;             // tokens that mean something
  int64_t pad_vocab_size_multiple = 1;  // the embedding has that multiple of rows
  bool tie_embeddings = true;           // lm_head is the embedding
  bool residual_in_fp32 = true;         // kept for the checkpoint's sake; the residual is always T here

  int64_t vocabulary() const {  // rows of the embedding, V
    return (vocab_size + pad_vocab_size_multiple - 1) / pad_vocab_size_multiple * pad_vocab_size_multiple;
  }
};

// Names and shapes of the weights, named as in state-spaces: "backbone.embedding.weight" [V, d_model],
// "backbone.layers.0.norm.weight", "backbone.layers.0.mixer.in_proj.weight" …, "backbone.norm_f.weight" and, untied,
// "lm_head.weight" [V, d_model].
WeightLayout weight_layout(const LanguageModelShape& shape);

template <class T>
class LanguageModel {
 public:
  // kernels is a name that find_kernels knows.
  explicit LanguageModel(const LanguageModelShape& shape, const char* kernels = "auto");

  const LanguageModelShape& shape() const { return shape_; }
  const WeightLayout& layout() const { return layout_; }

  // logits [rows, steps, V], dense, of tokens [rows, steps], each 0 … V-1. weights [layout().size()].
  void forward(Executor& executor, const T* weights, View<const int64_t, 2> tokens, T* logits);

  // The mean cross-entropy, in nats, of the targets [rows, steps] given the tokens up to each; a negative target is left
  // out, and with none left the loss is 0. Its gradient is added to gradient [layout().size()].
  T loss_and_gradient(Executor& executor, const T* weights, View<const int64_t, 2> tokens, View<const int64_t, 2> targets,
                      T* gradient);

  // The state before the first token of rows texts.
  ModelState<T> empty_state(int64_t rows) const { return backbone_.empty_state(rows, 1); }

  // The next token of each row [rows]: logits [rows, V] as forward's, but for rounding. state is read and updated.
  void step(Executor& executor, const T* weights, const int64_t* tokens, ModelState<T>& state, T* logits);

 private:
  struct Parameters;
  Parameters bind(const T* weights) const;
  void embed(const T* embedding, View<const int64_t, 2> tokens);
  void read_out(Executor& executor, const Segments& segments, const Parameters& p, T* logits);

  LanguageModelShape shape_;
  const Kernels<T>& kernels_;
  WeightLayout layout_;
  Backbone<T> backbone_;
  std::vector<LayerTape<T>> tape_;
  Scratch<T> scratch_;
  std::vector<T> hidden_, normed_, rstd_, d_hidden_, d_normed_, logits_;
};

}  // namespace tutti::mamba2
