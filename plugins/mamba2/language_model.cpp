#include "plugins/mamba2/language_model.h"

#include <algorithm>
#include <cmath>

#include "plugins/mamba2/linear.h"

namespace tutti::mamba2 {
namespace {

constexpr const char* kBackbone = "backbone.";
constexpr double kEmbeddingBound = 0.02 * 1.7320508075688772;  // of a uniform with state-spaces' deviation of 0.02

template <class T>
void grow(std::vector<T>& memory, int64_t elements) {
  if (static_cast<int64_t>(memory.size()) < elements) memory.resize(static_cast<size_t>(elements));
}

template <class T>
View<T, 3> steps_view(T* data, const Segments& segments, int64_t width) {
  return {data, {segments.rows(), segments.steps(), width}};
}

// logits [count] become the gradient of the cross-entropy of target, times share; gives the cross-entropy.
template <class T>
T cross_entropy(T* logits, int64_t count, int64_t target, T share) {
  const T largest = *std::max_element(logits, logits + count), chosen = logits[target] - largest;
  T sum = T(0);
  for (int64_t v = 0; v < count; ++v) sum += logits[v] = std::exp(logits[v] - largest);
  for (int64_t v = 0; v < count; ++v) logits[v] *= share / sum;
  logits[target] -= share;
  return std::log(sum) - chosen;
}

}  // namespace

WeightLayout weight_layout(const LanguageModelShape& shape) {
  using enum Weight::Start;
  const int64_t D = shape.block.d_model;
  WeightLayout layout;
  layout.add("backbone.embedding.weight", {shape.vocabulary(), D}, uniform, kEmbeddingBound, true);
  layout.add_layers(kBackbone, shape.block, shape.layers);
  layout.add("backbone.norm_f.weight", {D}, one, 0, false);
  if (!shape.tie_embeddings)
    layout.add("lm_head.weight", {shape.vocabulary(), D}, uniform, 1 / std::sqrt(static_cast<double>(D)), true);
  return layout;
}

template <class T>
struct LanguageModel<T>::Parameters {
  const T* embedding;  // [V, d_model]
  std::vector<LayerParameters<const T>> layers;
  const T* norm_f_weight;  // [d_model]
  const T* lm_head;        // [V, d_model]; may be the embedding
};

template <class T>
LanguageModel<T>::LanguageModel(const LanguageModelShape& shape, const char* kernels)
    : shape_(shape),
      kernels_(*find_kernels<T>(kernels)),
      layout_(weight_layout(shape)),
      backbone_(shape.block, shape.layers, kernels_) {}

template <class T>
typename LanguageModel<T>::Parameters LanguageModel<T>::bind(const T* weights) const {
  const T *embedding = layout_.find("backbone.embedding.weight", weights), *lm_head = layout_.find("lm_head.weight", weights);
  return {embedding, bind_layers(layout_, kBackbone, shape_.layers, weights), layout_.find("backbone.norm_f.weight", weights),
          lm_head ? lm_head : embedding};
}

template <class T>
void LanguageModel<T>::embed(const T* embedding, View<const int64_t, 2> tokens) {
  const int64_t rows = tokens.shape[0], steps = tokens.shape[1], D = shape_.block.d_model;
  grow(hidden_, rows * steps * D);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < steps; ++t) std::copy_n(embedding + tokens(r, t) * D, D, hidden_.data() + (r * steps + t) * D);
}

template <class T>
void LanguageModel<T>::read_out(Executor& executor, const Segments& segments, const Parameters& p, T* logits) {
  const int64_t positions = segments.rows() * segments.steps(), D = shape_.block.d_model, V = shape_.vocabulary();
  grow(normed_, positions * D), grow(rstd_, positions);
  kernels_.norm_forward(executor, segments, plain_norm<T>(hidden_.data(), p.norm_f_weight, D, shape_.block.epsilon),
                        normed_.data(), D, rstd_.data());
  linear_forward<T>(kernels_, executor, segments, steps_view<const T>(normed_.data(), segments, D), {p.lm_head, {V, D}}, nullptr,
                    steps_view(logits, segments, V), scratch_);
}

template <class T>
void LanguageModel<T>::forward(Executor& executor, const T* weights, View<const int64_t, 2> tokens, T* logits) {
  const Segments segments = Segments::whole(tokens.shape[0], tokens.shape[1]);
  const Parameters p = bind(weights);
  embed(p.embedding, tokens);
  backbone_.forward(executor, segments, p.layers, {}, false, hidden_.data(), tape_);
  read_out(executor, segments, p, logits);
}

template <class T>
T LanguageModel<T>::loss_and_gradient(Executor& executor, const T* weights, View<const int64_t, 2> tokens,
                                      View<const int64_t, 2> targets, T* gradient) {
  const int64_t rows = tokens.shape[0], steps = tokens.shape[1], D = shape_.block.d_model, V = shape_.vocabulary();
  const Segments segments = Segments::whole(rows, steps);
  const Parameters p = bind(weights);
  grow(logits_, rows * steps * V);
  embed(p.embedding, tokens);
  backbone_.forward(executor, segments, p.layers, {}, true, hidden_.data(), tape_);
  read_out(executor, segments, p, logits_.data());

  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < steps; ++t) count += targets(r, t) >= 0;
  if (count == 0) return T(0);
  T loss = T(0);
  const T share = T(1) / static_cast<T>(count);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < steps; ++t) {
      T* logits = logits_.data() + (r * steps + t) * V;
      if (targets(r, t) >= 0)
        loss += cross_entropy(logits, V, targets(r, t), share);
      else
        std::fill_n(logits, V, T(0));
    }

  T *d_embedding = layout_.find("backbone.embedding.weight", gradient), *d_lm_head = layout_.find("lm_head.weight", gradient);
  grow(d_normed_, rows * steps * D), grow(d_hidden_, rows * steps * D);
  const View<const T, 3> d_logits = steps_view<const T>(logits_.data(), segments, V);
  linear_backward_input<T>(kernels_, executor, segments, d_logits, {p.lm_head, {V, D}}, steps_view(d_normed_.data(), segments, D), scratch_);
  linear_backward_weight<T>(kernels_, executor, segments, d_logits, steps_view<const T>(normed_.data(), segments, D),
                            {d_lm_head ? d_lm_head : d_embedding, {V, D}}, nullptr, scratch_);
  kernels_.norm_backward(executor, segments, plain_norm<T>(hidden_.data(), p.norm_f_weight, D, shape_.block.epsilon),
                         rstd_.data(), d_normed_.data(), D,
                         {d_hidden_.data(), nullptr, layout_.find("backbone.norm_f.weight", gradient)}, scratch_);
  backbone_.backward(executor, segments, p.layers, tape_, d_hidden_.data(),
                     bind_layers(layout_, kBackbone, shape_.layers, gradient));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t i = 0; i < D; ++i) d_embedding[tokens(r, t) * D + i] += d_hidden_[(r * steps + t) * D + i];
  return loss * share;
}

template <class T>
void LanguageModel<T>::step(Executor& executor, const T* weights, const int64_t* tokens, ModelState<T>& state, T* logits) {
  const Parameters p = bind(weights);
  embed(p.embedding, View<const int64_t, 2>(tokens, {state.rows, 1}));
  backbone_.step(executor, state.rows, p.layers, state, hidden_.data());
  read_out(executor, Segments::whole(state.rows, 1), p, logits);
}

template class LanguageModel<float>;
template class LanguageModel<double>;

}  // namespace tutti::mamba2
