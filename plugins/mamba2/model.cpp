#include "plugins/mamba2/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/mamba2/linear.h"

namespace tutti::mamba2 {
namespace {

constexpr int64_t kSequencesAtOnce = 32;  // of predict; bounds its memory
constexpr double kEpsilon = 1e-5;         // of the window's variance, as in the references

template <class T>
void grow(std::vector<T>& memory, int64_t elements) {
  if (static_cast<int64_t>(memory.size()) < elements) memory.resize(static_cast<size_t>(elements));
}

template <class T>
View<T, 3> steps_view(T* data, const Segments& segments, int64_t width) {
  return {data, {segments.rows(), segments.steps(), width}};
}

Ends ends_of(const Config& config, const Problem& problem) {
  const int64_t features = config.channel_independent ? 1 : problem.features;
  const int64_t targets = config.channel_independent ? 1 : problem.targets;
  const int64_t levels = (problem.wants(TUTTI_ANSWER_POINT) ? 1 : 0) +
                         (problem.wants(TUTTI_ANSWER_QUANTILES) ? static_cast<int64_t>(problem.quantiles.size()) : 0);
  return {config.patch * features, problem.horizon * targets * levels};
}

std::vector<int64_t> lengths_of(const tutti_batch& batch, int64_t first, int64_t last) {
  std::vector<int64_t> lengths(static_cast<size_t>(last - first), batch.past.shape[1]);
  if (batch.length.ndim == 0) return lengths;
  const View<const int64_t, 1> given = *view_of<const int64_t, 1>(batch.length, "length");
  for (int64_t row = first; row < last; ++row) lengths[row - first] = given(row);
  return lengths;
}

}  // namespace

// Where the answer for row, step h and target k comes from.
template <class T>
struct Forecaster<T>::Place {
  int64_t sequence, cell;  // cell is h * targets + k within the sequence
  int64_t feature;         // within the sequence, or -1
};

template <class T>
Forecaster<T>::Forecaster(const Config& config, const Problem& problem)
    : config_(config),
      problem_(problem),
      kernels_(*find_kernels<T>(config.kernels.c_str())),
      layout_(config, ends_of(config, problem)),
      backbone_(config.block, config.layers, kernels_) {}

template <class T>
const ModelParameters<const T>& Forecaster<T>::bind(const T* weights) {
  if (bound_weights_ != weights) bound_ = bind_parameters<const T>(layout_, config_, weights), bound_weights_ = weights;
  return bound_;
}

template <class T>
int64_t Forecaster<T>::feature_of(int64_t sequence, int64_t f) const {
  return config_.channel_independent ? problem_.target_feature[sequence % problem_.targets] : f;
}

template <class T>
typename Forecaster<T>::Place Forecaster<T>::place_of(int64_t row, int64_t h, int64_t k) const {
  if (config_.channel_independent) return {row * problem_.targets + k, h, 0};
  return {row, h * problem_.targets + k, problem_.target_feature[k]};
}

// ---- From windows to tokens

template <class T>
void Forecaster<T>::read_windows(const tutti_batch& batch, int64_t first, int64_t last, ModelTape<T>& tape) const {
  const View<const T, 3> past = *view_of<const T, 3>(batch.past, "past");
  const std::vector<int64_t> lengths = lengths_of(batch, first, last);
  std::vector<int64_t> tokens;
  for (int64_t length : lengths)
    tokens.insert(tokens.end(), static_cast<size_t>(sequences_per_row()), (length + config_.patch - 1) / config_.patch);
  tape.rows = last - first;
  tape.segments = Segments::left_padded((past.shape[1] + config_.patch - 1) / config_.patch, tokens);
  normalise(past, first, tape, lengths);
}

// A sequence's steps lie at the end of its tokens; what is left before them is zero.
template <class T>
void Forecaster<T>::normalise(View<const T, 3> past, int64_t first, ModelTape<T>& tape,
                              const std::vector<int64_t>& lengths) const {
  const int64_t R = tape.segments.rows(), F = features_per_sequence(), steps = past.shape[1];
  const int64_t token_steps = tape.segments.steps() * config_.patch;
  tape.tokens.assign(static_cast<size_t>(R * token_steps * F), T(0));
  tape.mean.assign(static_cast<size_t>(R * F), T(0)), tape.deviation.assign(static_cast<size_t>(R * F), T(1));
  grow(tape.last, R * F);
  for (int64_t r = 0; r < R; ++r) {
    const int64_t row = r / sequences_per_row(), length = lengths[static_cast<size_t>(row)];
    for (int64_t f = 0; f < F; ++f) {
      const T* x = past.data + (first + row) * past.strides[0] + feature_of(r, f) * past.strides[2];
      const auto value = [&](int64_t t) { return x[t * past.strides[1]]; };
      T &mean = tape.mean[r * F + f], &deviation = tape.deviation[r * F + f];
      if (config_.revin) {
        T sum = T(0), squares = T(0);
        for (int64_t t = steps - length; t < steps; ++t) sum += value(t);
        mean = sum / static_cast<T>(length);
        for (int64_t t = steps - length; t < steps; ++t) squares += (value(t) - mean) * (value(t) - mean);
        deviation = std::sqrt(squares / static_cast<T>(length) + static_cast<T>(kEpsilon));
      }
      T* tokens = tape.tokens.data() + (r * token_steps + token_steps - steps) * F + f;
      for (int64_t t = steps - length; t < steps; ++t) tokens[t * F] = (value(t) - mean) / deviation;
      tape.last[r * F + f] = (value(steps - 1) - mean) / deviation;
    }
  }
}

// ---- Forward and backward

template <class T>
void Forecaster<T>::forward(Executor& executor, const ModelParameters<const T>& p, const Dropout& dropout, bool keep,
                            ModelTape<T>& tape) {
  const Segments& segments = tape.segments;
  const int64_t D = config_.block.d_model, size = segments.rows() * segments.steps() * D;
  const int64_t token_width = config_.patch * features_per_sequence();
  grow(tape.hidden, size);
  linear_forward<T>(kernels_, executor, segments, steps_view<const T>(tape.tokens.data(), segments, token_width),
                    {p.embed_weight, {D, token_width}}, p.embed_bias, steps_view(tape.hidden.data(), segments, D), scratch_);
  segments.clear_outside(tape.hidden.data(), D);
  backbone_.forward(executor, segments, p.layers, dropout, keep, tape.hidden.data(), tape.layers);
  grow(tape.hidden_last, segments.rows() * D);
  for (int64_t r = 0; r < segments.rows(); ++r)
    std::copy_n(tape.hidden.data() + (r * segments.steps() + segments.steps() - 1) * D, D, tape.hidden_last.data() + r * D);
  read_last(executor, p, tape);
}

template <class T>
void Forecaster<T>::read_last(Executor& executor, const ModelParameters<const T>& p, ModelTape<T>& tape) {
  const int64_t R = tape.segments.rows(), D = config_.block.d_model;
  one_step_.become_whole(R, 1);
  const Segments& one_step = one_step_;
  grow(tape.normed_last, R * D), grow(tape.rstd_last, R), grow(tape.out, R * outputs());
  kernels_.norm_forward(executor, one_step, plain_norm<T>(tape.hidden_last.data(), p.norm_f_weight, D, config_.block.epsilon),
                        tape.normed_last.data(), D, tape.rstd_last.data());
  linear_forward<T>(kernels_, executor, one_step, steps_view<const T>(tape.normed_last.data(), one_step, D),
                    {p.head_weight, {outputs(), D}}, p.head_bias, steps_view(tape.out.data(), one_step, outputs()), scratch_);
}

template <class T>
void Forecaster<T>::backward(Executor& executor, const ModelParameters<const T>& p, ModelTape<T>& tape, std::vector<T>& d_out,
                             const ModelParameters<T>& gradient) {
  const Segments& segments = tape.segments;
  const int64_t R = segments.rows(), L = segments.steps(), D = config_.block.d_model, size = R * L * D;
  const Segments one_step = Segments::whole(R, 1);
  grow(d_normed_last_, R * D), grow(d_hidden_last_, R * D);
  const View<const T, 3> d_head = steps_view<const T>(d_out.data(), one_step, outputs());
  linear_backward_input<T>(kernels_, executor, one_step, d_head, {p.head_weight, {outputs(), D}},
                           steps_view(d_normed_last_.data(), one_step, D), scratch_);
  linear_backward_weight<T>(kernels_, executor, one_step, d_head, steps_view<const T>(tape.normed_last.data(), one_step, D),
                            {gradient.head_weight, {outputs(), D}}, gradient.head_bias, scratch_);
  kernels_.norm_backward(executor, one_step, plain_norm<T>(tape.hidden_last.data(), p.norm_f_weight, D, config_.block.epsilon),
                         tape.rstd_last.data(), d_normed_last_.data(), D,
                         {d_hidden_last_.data(), nullptr, gradient.norm_f_weight}, scratch_);
  d_hidden_.assign(static_cast<size_t>(size), T(0));
  for (int64_t r = 0; r < R; ++r) std::copy_n(d_hidden_last_.data() + r * D, D, d_hidden_.data() + (r * L + L - 1) * D);
  backbone_.backward(executor, segments, p.layers, tape.layers, d_hidden_.data(), gradient.layers);
  const int64_t token_width = config_.patch * features_per_sequence();
  linear_backward_weight<T>(kernels_, executor, segments, steps_view<const T>(d_hidden_.data(), segments, D),
                            steps_view<const T>(tape.tokens.data(), segments, token_width),
                            {gradient.embed_weight, {D, token_width}}, gradient.embed_bias, scratch_);
}

// ---- From the head to answers and their loss

// The point forecast (level -1) or a quantile; scale, where not null, becomes its derivative by the head's output.
template <class T>
T Forecaster<T>::answer(const ModelTape<T>& tape, const Place& place, int64_t level, T* scale) const {
  const int64_t Q = static_cast<int64_t>(problem_.quantiles.size()), F = features_per_sequence();
  const int64_t cells = problem_.horizon * targets_per_sequence(), points = problem_.wants(TUTTI_ANSWER_POINT) ? cells : 0;
  const T out = tape.out[place.sequence * outputs() + (level < 0 ? place.cell : points + place.cell * Q + level)];
  if (place.feature < 0) {
    if (scale) *scale = T(1);
    return out;
  }
  const int64_t at = place.sequence * F + place.feature;
  if (scale) *scale = tape.deviation[at];
  return tape.mean[at] + tape.deviation[at] * ((config_.from_last ? tape.last[at] : T(0)) + out);
}

template <class T>
void Forecaster<T>::write_answers(const ModelTape<T>& tape, int64_t first, const tutti_output& output) {
  const int64_t Q = static_cast<int64_t>(problem_.quantiles.size());
  levels_.resize(static_cast<size_t>(Q));
  for (int64_t row = 0; row < tape.rows; ++row)
    for (int64_t h = 0; h < problem_.horizon; ++h)
      for (int64_t k = 0; k < problem_.targets; ++k) {
        const Place place = place_of(row, h, k);
        if (problem_.wants(TUTTI_ANSWER_POINT))
          (*view_of<T, 3>(output.point, "point"))(first + row, h, k) = answer(tape, place, -1, nullptr);
        if (!problem_.wants(TUTTI_ANSWER_QUANTILES)) continue;
        const View<T, 4> quantiles = *view_of<T, 4>(output.quantiles, "quantiles");
        for (int64_t q = 0; q < Q; ++q) levels_[q] = answer(tape, place, q, nullptr);
        std::sort(levels_.begin(), levels_.end());  // levels that cross are an artefact of learning them one by one
        for (int64_t q = 0; q < Q; ++q) quantiles(first + row, h, k, q) = levels_[q];
      }
}

template <class T>
T Forecaster<T>::loss(const ModelTape<T>& tape, const tutti_batch& batch, std::vector<T>& d_out) const {
  const int64_t Q = static_cast<int64_t>(problem_.quantiles.size()), H = problem_.horizon, K = problem_.targets;
  const int64_t points = problem_.wants(TUTTI_ANSWER_POINT) ? H * targets_per_sequence() : 0;
  const View<const T, 3> target = *view_of<const T, 3>(batch.target, "target");
  std::vector<T> weight(static_cast<size_t>(tape.rows), T(1));
  T total = T(0), loss = T(0), scale;
  for (int64_t row = 0; row < tape.rows; ++row) {
    if (batch.weight.ndim) weight[row] = (*view_of<const T, 1>(batch.weight, "weight"))(row);
    total += weight[row];
  }
  d_out.assign(static_cast<size_t>(tape.segments.rows() * outputs()), T(0));
  if (total == T(0)) return T(0);
  for (int64_t row = 0; row < tape.rows; ++row) {
    if (weight[row] == T(0)) continue;  // also where the target is NaN
    for (int64_t h = 0; h < H; ++h)
      for (int64_t k = 0; k < K; ++k) {
        const Place place = place_of(row, h, k);
        const T share = weight[row] / (total * static_cast<T>(H * K));
        T* d = d_out.data() + place.sequence * outputs();
        if (points) {
          const T error = answer(tape, place, -1, &scale) - target(row, h, k);
          loss += share * error * error;
          d[place.cell] = share * 2 * error * scale;
        }
        if (!problem_.wants(TUTTI_ANSWER_QUANTILES)) continue;
        for (int64_t q = 0; q < Q; ++q) {  // pinball: max(tau e, (tau - 1) e), e = target - quantile
          const T tau = static_cast<T>(problem_.quantiles[q]), error = target(row, h, k) - answer(tape, place, q, &scale);
          const T slope = error > T(0) ? tau : error < T(0) ? tau - T(1) : error;  // NaN stays
          loss += share * slope * error / static_cast<T>(Q);
          d[points + place.cell * Q + q] = -share * slope * scale / static_cast<T>(Q);
        }
      }
  }
  return loss;
}

template <class T>
void Forecaster<T>::predict(Executor& executor, const T* weights, const tutti_batch& batch, const tutti_output& output) {
  const ModelParameters<const T>& p = bind(weights);
  const int64_t at_once = std::max<int64_t>(1, kSequencesAtOnce / sequences_per_row());
  for (int64_t first = 0; first < batch.size; first += at_once) {
    read_windows(batch, first, std::min(batch.size, first + at_once), tape_);
    forward(executor, p, {}, false, tape_);
    write_answers(tape_, first, output);
  }
}

template <class T>
T Forecaster<T>::loss_and_gradient(Executor& executor, const T* weights, const tutti_batch& batch, const Dropout& dropout,
                                   T* gradient) {
  const ModelParameters<const T>& p = bind(weights);
  std::vector<T> d_out;
  read_windows(batch, 0, batch.size, tape_);
  forward(executor, p, dropout, true, tape_);
  const T value = loss(tape_, batch, d_out);
  backward(executor, p, tape_, d_out, bind_parameters<T>(layout_, config_, gradient));
  return value;
}

// ---- One step at a time

template <class T>
const char* Forecaster<T>::why_no_stream() const {
  if (config_.revin) return "with revin each answer needs the whole window's mean; set revin to false to stream";
  if (config_.patch > 1) return "a token of several steps can't be answered after each; set patch to 1 to stream";
  return nullptr;
}

template <class T>
ModelState<T> Forecaster<T>::empty_state(int64_t rows) const {
  return backbone_.empty_state(rows, sequences_per_row());
}

template <class T>
bool Forecaster<T>::fits(const ModelState<T>& state) const {
  return backbone_.fits(state, sequences_per_row());
}

template <class T>
void Forecaster<T>::reset_row(ModelState<T>& state, int64_t row) const {
  backbone_.reset_row(state, row);
}

template <class T>
void Forecaster<T>::step(Executor& executor, const T* weights, ModelState<T>& state, View<const T, 2> frame,
                         const tutti_output& output) {
  const ModelParameters<const T>& p = bind(weights);
  const int64_t R = state.rows * sequences_per_row(), D = config_.block.d_model, F = features_per_sequence();
  tape_.rows = state.rows, tape_.segments.become_whole(R, 1);
  lengths_.assign(static_cast<size_t>(state.rows), 1);
  normalise({frame.data, {state.rows, 1, frame.shape[1]}, {frame.strides[0], 0, frame.strides[1]}}, 0, tape_, lengths_);
  grow(tape_.hidden_last, R * D);
  linear_forward<T>(kernels_, executor, tape_.segments, steps_view<const T>(tape_.tokens.data(), tape_.segments, F),
                    {p.embed_weight, {D, F}}, p.embed_bias, steps_view(tape_.hidden_last.data(), tape_.segments, D), scratch_);
  backbone_.step(executor, R, p.layers, state, tape_.hidden_last.data());
  read_last(executor, p, tape_);
  write_answers(tape_, 0, output);
}

// ---- Everything in between

template <class T>
void Forecaster<T>::trace(Executor& executor, const T* weights, const tutti_batch& batch, tutti_trace_fn visit, void* argument) {
  const ModelParameters<const T>& p = bind(weights);
  read_windows(batch, 0, batch.size, tape_);
  forward(executor, p, {}, true, tape_);
  const BlockShape& s = config_.block;
  const Segments& segments = tape_.segments;
  const int64_t R = segments.rows(), positions = R * segments.steps();
  const auto show_view = [&](const std::string& name, const auto& view) {
    const tutti_tensor tensor = as_tensor(view);
    visit(argument, name.c_str(), &tensor);
  };
  const auto show = [&](const std::string& name, std::vector<T>& values, int64_t width) {
    show_view(name, steps_view(values.data(), segments, width));
  };
  const auto show_row = [&](const std::string& name, std::vector<T>& values, int64_t width) {
    show_view(name, View<T, 2>(values.data(), {R, width}));
  };
  std::vector<T> decay(static_cast<size_t>(positions * s.heads())), states, branch(static_cast<size_t>(positions * s.d_model));
  show("tokens", tape_.tokens, config_.patch * features_per_sequence());
  for (int64_t i = 0; i < config_.layers; ++i) {
    auto& layer = tape_.layers[static_cast<size_t>(i)];
    const BlockParameters<const T>& mixer = p.layers[i].mixer;
    const std::string name = "layers." + std::to_string(i) + ".";
    states.assign(static_cast<size_t>(R * s.d_ssm * s.d_state), T(0));
    backbone_.run_again(executor, segments, p.layers[i], layer, states.data(), branch.data());
    for (int64_t at = 0; at < positions * s.heads(); ++at)
      decay[at] = std::exp(-layer.block.dt[at] * std::exp(mixer.A_log[at % s.heads()]));
    // what a block leaves outside segments is no value
    segments.clear_outside(layer.block.projected.data(), s.in_proj_width());
    segments.clear_outside(layer.block.conv.data(), s.conv_channels());
    segments.clear_outside(layer.block.dt.data(), s.heads()), segments.clear_outside(decay.data(), s.heads());
    segments.clear_outside(layer.block.y.data(), s.d_ssm), segments.clear_outside(layer.block.mixed.data(), s.d_inner);
    segments.clear_outside(layer.block.x.data(), s.d_model);
    show(name + "input", layer.input, s.d_model);
    show(name + "norm", layer.block.x, s.d_model);
    show(name + "mixer.in_proj", layer.block.projected, s.in_proj_width());
    show(name + "mixer.conv1d", layer.block.conv, s.conv_channels());
    show(name + "mixer.dt", layer.block.dt, s.heads());
    show(name + "mixer.decay", decay, s.heads());
    show_view(name + "mixer.states", View<T, 4>(states.data(), {R, s.heads(), s.headdim, s.d_state}));
    show(name + "mixer.scan", layer.block.y, s.d_ssm);
    show(name + "mixer.norm", layer.block.mixed, s.d_inner);
    show(name + "mixer.out_proj", branch, s.d_model);
  }
  show("hidden", tape_.hidden, s.d_model);
  show_row("norm_f", tape_.normed_last, s.d_model);
  show_row("head", tape_.out, outputs());
}

template class Forecaster<float>;
template class Forecaster<double>;

}  // namespace tutti::mamba2
