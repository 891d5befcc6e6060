#include "plugins/mamba2/backbone.h"

#include <algorithm>
#include <new>

#include "shared/random/philox.h"

namespace tutti::mamba2 {
namespace {

constexpr uint64_t kDropoutStreams = 1 << 20;  // the random streams before are the weights'

template <class T>
void grow(std::vector<T>& memory, int64_t elements) {
  if (static_cast<int64_t>(memory.size()) < elements) memory.resize(static_cast<size_t>(elements));
}

template <class T>
std::vector<T> zeros(int64_t rows, int64_t per_row) {
  int64_t size = 0, bytes = 0;
  if (__builtin_mul_overflow(rows, per_row, &size) || __builtin_mul_overflow(size, int64_t{sizeof(T)}, &bytes))
    throw std::bad_alloc();
  return std::vector<T>(static_cast<size_t>(size));
}

template <class T>
View<T, 3> steps_view(T* data, const Segments& segments, int64_t width) {
  return {data, {segments.rows(), segments.steps(), width}};
}

}  // namespace

template <class T>
void Backbone<T>::forward(Executor& executor, const Segments& segments, const Parameters& p, const Dropout& dropout, bool keep,
                          T* hidden, std::vector<LayerTape<T>>& tape) {
  const int64_t D = shape_.d_model, size = segments.rows() * segments.steps() * D;
  grow(branch_, size);
  tape.resize(keep ? static_cast<size_t>(layers_) : std::max<size_t>(tape.size(), 1));
  for (int64_t i = 0; i < layers_; ++i) {
    auto& layer = tape[keep ? static_cast<size_t>(i) : 0];
    grow(layer.input, size), grow(layer.block.x, size), grow(layer.rstd, segments.rows() * segments.steps());
    std::copy_n(hidden, size, layer.input.data());
    kernels_.norm_forward(executor, segments, plain_norm<T>(layer.input.data(), p[i].norm_weight, D, shape_.epsilon),
                          layer.block.x.data(), D, layer.rstd.data());
    block_.forward(executor, segments, p[i].mixer, steps_view<const T>(layer.block.x.data(), segments, D), {},
                   steps_view(branch_.data(), segments, D), {}, layer.block, workspace_);
    layer.mask.clear();
    if (dropout.rate > 0) {
      layer.mask.resize(static_cast<size_t>(size));
      const uint64_t stream = kDropoutStreams + dropout.step * static_cast<uint64_t>(layers_) + static_cast<uint64_t>(i);
      const Philox random(dropout.seed, stream);
      const T kept = static_cast<T>(1 / (1 - dropout.rate));
      executor.parallel_for(size, 4096, [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at)
          layer.mask[at] = random.uniform(static_cast<uint64_t>(at)) < dropout.rate ? T(0) : kept;
      });
      for (int64_t at = 0; at < size; ++at) branch_[at] *= layer.mask[at];
    }
    for (int64_t at = 0; at < size; ++at) hidden[at] += branch_[at];
  }
}

template <class T>
void Backbone<T>::run_again(Executor& executor, const Segments& segments, const LayerParameters<const T>& p, LayerTape<T>& tape,
                            T* states, T* out) {
  block_.forward(executor, segments, p.mixer, steps_view<const T>(tape.block.x.data(), segments, shape_.d_model), {},
                 steps_view(out, segments, shape_.d_model), {nullptr, states}, tape.block, workspace_);
}

template <class T>
void Backbone<T>::backward(Executor& executor, const Segments& segments, const Parameters& p,
                           const std::vector<LayerTape<T>>& tape, T* d_hidden, const std::vector<LayerParameters<T>>& gradient) {
  const int64_t D = shape_.d_model, size = segments.rows() * segments.steps() * D;
  grow(d_normed_, size), grow(d_branch_, size);
  for (int64_t i = layers_ - 1; i >= 0; --i) {
    const auto& layer = tape[static_cast<size_t>(i)];
    std::copy_n(d_hidden, size, d_branch_.data());
    if (!layer.mask.empty())
      for (int64_t at = 0; at < size; ++at) d_branch_[at] *= layer.mask[at];
    block_.backward(executor, segments, p[i].mixer, layer.block, steps_view<const T>(d_branch_.data(), segments, D), {},
                    steps_view(d_normed_.data(), segments, D), {}, gradient[i].mixer, workspace_);
    kernels_.norm_backward(executor, segments, plain_norm<T>(layer.input.data(), p[i].norm_weight, D, shape_.epsilon),
                           layer.rstd.data(), d_normed_.data(), D, {d_branch_.data(), nullptr, gradient[i].norm_weight},
                           workspace_.scratch);
    segments.clear_outside(d_branch_.data(), D);
    for (int64_t at = 0; at < size; ++at) d_hidden[at] += d_branch_[at];
  }
}

template <class T>
ModelState<T> Backbone<T>::empty_state(int64_t rows, int64_t sequences_per_row) const {
  return {rows, zeros<T>(rows, sequences_per_row * conv_size()), zeros<T>(rows, sequences_per_row * ssm_size())};
}

template <class T>
bool Backbone<T>::fits(const ModelState<T>& state, int64_t sequences_per_row) const {
  const int64_t sequences = state.rows * sequences_per_row;
  return static_cast<int64_t>(state.conv.size()) == sequences * conv_size() &&
         static_cast<int64_t>(state.ssm.size()) == sequences * ssm_size();
}

template <class T>
void Backbone<T>::reset_row(ModelState<T>& state, int64_t row) const {
  const auto clear = [&](std::vector<T>& values) {
    const int64_t per_row = static_cast<int64_t>(values.size()) / (layers_ * state.rows);
    for (int64_t layer = 0; layer < layers_; ++layer)
      std::fill_n(values.data() + (layer * state.rows + row) * per_row, per_row, T(0));
  };
  clear(state.conv), clear(state.ssm);
}

template <class T>
void Backbone<T>::step(Executor& executor, int64_t sequences, const Parameters& p, ModelState<T>& state, T* hidden) {
  const int64_t D = shape_.d_model;
  one_step_.become_whole(sequences, 1);
  const int64_t conv_size = static_cast<int64_t>(state.conv.size()) / layers_;
  const int64_t ssm_size = static_cast<int64_t>(state.ssm.size()) / layers_;
  grow(step_tape_.rstd, sequences), grow(normed_, sequences * D), grow(branch_, sequences * D);
  for (int64_t i = 0; i < layers_; ++i) {
    kernels_.norm_forward(executor, one_step_, plain_norm<T>(hidden, p[i].norm_weight, D, shape_.epsilon), normed_.data(), D,
                          step_tape_.rstd.data());
    block_.step(executor, sequences, p[i].mixer, normed_.data(),
                {state.conv.data() + i * conv_size, state.ssm.data() + i * ssm_size}, branch_.data(), step_tape_.block,
                workspace_);
    for (int64_t at = 0; at < sequences * D; ++at) hidden[at] += branch_[at];
  }
}

template class Backbone<float>;
template class Backbone<double>;

}  // namespace tutti::mamba2
