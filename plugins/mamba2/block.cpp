#include "plugins/mamba2/block.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "plugins/mamba2/kernels/activation.h"
#include "plugins/mamba2/linear.h"

namespace tutti::mamba2 {
namespace {

template <class T>
void grow(std::vector<T>& memory, int64_t elements) {
  if (static_cast<int64_t>(memory.size()) < elements) memory.resize(static_cast<size_t>(elements));
}

template <class T>
View<T, 3> steps_view(T* data, const Segments& segments, int64_t width) {
  return {data, {segments.rows(), segments.steps(), width}};
}

// x inside segments, dense; what lies outside is never read, whatever it holds.
template <class T>
void copy_inside(Executor& executor, const Segments& segments, View<const T, 3> x, T* copy) {
  const int64_t width = x.shape[2];
  executor.parallel_for(segments.count(), 1, [&](int64_t s, int64_t) {
    for (int64_t t = segments[s].begin; t < segments[s].end; ++t) {
      const T* from = x.data + segments[s].row * x.strides[0] + t * x.strides[1];
      T* to = copy + (segments[s].row * segments.steps() + t) * width;
      if (x.strides[2] == 1)
        std::copy_n(from, width, to);
      else
        for (int64_t i = 0; i < width; ++i) to[i] = from[i * x.strides[2]];
    }
  });
}

// values itself, or where kernels can't read it as it lies, a dense copy.
template <class T>
View<const T, 3> readable(Executor& executor, const Segments& segments, const View<const T, 3>& values, std::vector<T>& memory) {
  if (has_one_stride(values)) return values;
  grow(memory, values.size());
  copy_inside(executor, segments, values, memory.data());
  return {memory.data(), values.shape};
}

// values itself, or where kernels can't write it as it lies, dense memory that copy_back brings there.
template <class T>
View<T, 3> writable(const View<T, 3>& values, std::vector<T>& memory) {
  if (has_one_stride(values)) return values;
  grow(memory, values.size());
  return {memory.data(), values.shape};
}
template <class T>
void copy_back(const View<T, 3>& written, const View<T, 3>& values) {
  if (written.data == values.data) return;
  for (int64_t row = 0; row < values.shape[0]; ++row)
    for (int64_t t = 0; t < values.shape[1]; ++t)
      for (int64_t i = 0; i < values.shape[2]; ++i) values(row, t, i) = written(row, t, i);
}

// Segments of up to so many steps pass through all operations one after the other, in one core's cache; longer ones are shared
// by all cores in each operation.
constexpr int64_t kStepsInCache = 128;

// Calls body(executor, one_segment, scratch) for each segment, on all threads.
template <class T, class Body>
void for_each_segment(Executor& executor, const Segments& segments, std::vector<OneThread<T>>& threads, Body body) {
  const int64_t workers = std::min<int64_t>(segments.count(), executor.thread_count());
  if (static_cast<int64_t>(threads.size()) < workers) threads.resize(static_cast<size_t>(workers));
  std::atomic<int64_t> next{0};
  executor.parallel_for(workers, 1, [&](int64_t first, int64_t last) {
    SerialExecutor alone;
    for (int64_t worker = first; worker < last; ++worker)
      for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < segments.count();) {
        OneThread<T>& memory = threads[static_cast<size_t>(worker)];
        memory.segment.become_one_of(segments, index);
        body(alone, memory.segment, memory.scratch);
      }
  });
}

template <class T>
void keep(const T* state, int64_t size, std::vector<T>& copy) {
  if (state)
    copy.assign(state, state + size);
  else
    copy.clear();
}

template <class T>
void fill_A(const T* A_log, int64_t heads, std::vector<T>& A) {
  grow(A, heads);
  for (int64_t h = 0; h < heads; ++h) A[h] = -std::exp(A_log[h]);
}

}  // namespace

// Where the parts of in_proj's output begin.
template <class T>
class Block<T>::Columns {
 public:
  explicit Columns(const BlockShape& shape) : shape_(shape) {}
  int64_t z0() const { return 0; }
  int64_t x0() const { return shape_.d_mlp(); }
  int64_t z() const { return 2 * shape_.d_mlp(); }
  int64_t conv() const { return z() + shape_.d_ssm; }
  int64_t dt() const { return conv() + shape_.conv_channels(); }

 private:
  const BlockShape& shape_;
};

template <class T>
Conv<T> Block<T>::conv(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const {
  return {shape_.conv_channels(),
          shape_.d_conv,
          tape.projected.data() + Columns(shape_).conv(),
          shape_.in_proj_width(),
          parameters.conv_weight,
          parameters.conv_bias,
          tape.initial_conv.empty() ? nullptr : tape.initial_conv.data()};
}

template <class T>
TimeStep<T> Block<T>::time_step(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const {
  return {shape_.heads(),
          tape.projected.data() + Columns(shape_).dt(),
          shape_.in_proj_width(),
          parameters.dt_bias,
          static_cast<T>(shape_.dt_limit_min),
          static_cast<T>(std::min<double>(shape_.dt_limit_max, std::numeric_limits<T>::max()))};
}

template <class T>
Scan<T> Block<T>::scan(const BlockParameters<const T>& parameters, const BlockTape<T>& tape, const std::vector<T>& A) const {
  const T *x = tape.conv.data(), *B = x + shape_.d_ssm, *C = B + shape_.ngroups * shape_.d_state;
  return {shape_.heads(),
          shape_.headdim,
          shape_.ngroups,
          shape_.d_state,
          shape_.chunk,
          x,
          B,
          C,
          shape_.conv_channels(),
          tape.dt.data(),
          A.data(),
          parameters.D,
          shape_.d_has_hdim,
          tape.initial_ssm.empty() ? nullptr : tape.initial_ssm.data()};
}

template <class T>
Norm<T> Block<T>::norm(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const {
  return {shape_.d_ssm,           shape_.norm_groups(),   tape.y.data(),           tape.projected.data() + Columns(shape_).z(),
          shape_.in_proj_width(), parameters.norm_weight, shape_.norm_before_gate, static_cast<T>(shape_.epsilon)};
}

template <class T>
void Block<T>::reserve(const Segments& segments, BlockTape<T>& tape) const {
  const int64_t positions = segments.rows() * segments.steps();
  grow(tape.x, positions * shape_.d_model), grow(tape.projected, positions * shape_.in_proj_width());
  grow(tape.conv, positions * shape_.conv_channels()), grow(tape.dt, positions * shape_.heads());
  grow(tape.y, positions * shape_.d_ssm), grow(tape.rstd, positions * shape_.norm_groups());
  grow(tape.mixed, positions * shape_.d_inner);
}

template <class T>
void Block<T>::forward(Executor& executor, const Segments& segments, const BlockParameters<const T>& parameters,
                       View<const T, 3> x, BlockState<const T> initial, View<T, 3> y, BlockState<T> final_state,
                       BlockTape<T>& tape, BlockWorkspace<T>& workspace) const {
  const BlockShape& s = shape_;
  const Columns columns(s);
  reserve(segments, tape);
  keep(initial.conv, segments.rows() * (s.d_conv - 1) * s.conv_channels(), tape.initial_conv);
  keep(initial.ssm, segments.rows() * s.d_ssm * s.d_state, tape.initial_ssm);
  fill_A(parameters.A_log, s.heads(), workspace.A);

  if (x.data != tape.x.data()) copy_inside(executor, segments, x, tape.x.data());
  linear_forward<T>(kernels_, executor, segments, steps_view<const T>(tape.x.data(), segments, s.d_model),
                    {parameters.in_proj_weight, {s.in_proj_width(), s.d_model}}, parameters.in_proj_bias,
                    steps_view(tape.projected.data(), segments, s.in_proj_width()), workspace.scratch);
  grow(tape.states, kernels_.scan_kept(segments, scan(parameters, tape, workspace.A)));
  const auto mix_segments = [&](Executor& threads, const Segments& some, Scratch<T>& scratch) {
    kernels_.conv_forward(threads, some, conv(parameters, tape), tape.conv.data(), final_state.conv);
    kernels_.time_step_forward(threads, some, time_step(parameters, tape), tape.dt.data());
    kernels_.scan_forward(threads, some, scan(parameters, tape, workspace.A), tape.y.data(), final_state.ssm, tape.states.data(),
                          scratch);
    kernels_.norm_forward(threads, some, norm(parameters, tape), tape.mixed.data() + s.d_mlp(), s.d_inner, tape.rstd.data());
    gate_mlp(threads, some, tape);
  };
  if (segments.longest() > kStepsInCache || segments.count() < executor.thread_count())
    mix_segments(executor, segments, workspace.scratch);
  else
    for_each_segment(executor, segments, workspace.of_threads, mix_segments);
  const View<T, 3> out = writable(y, workspace.written);
  linear_forward<T>(kernels_, executor, segments, steps_view<const T>(tape.mixed.data(), segments, s.d_inner),
                    {parameters.out_proj_weight, {s.d_model, s.d_inner}}, parameters.out_proj_bias, out, workspace.scratch);
  segments.clear_outside(out.data, s.d_model, out.strides[1]);
  copy_back(out, y);
}

// The gated linear unit beside the scan.
template <class T>
void Block<T>::gate_mlp(Executor& executor, const Segments& segments, BlockTape<T>& tape) const {
  const BlockShape& s = shape_;
  const Columns columns(s);
  executor.parallel_for(s.d_mlp() ? segments.count() : 0, 1, [&](int64_t index, int64_t) {
    for (int64_t t = segments[index].begin; t < segments[index].end; ++t) {
      const int64_t at = segments[index].row * segments.steps() + t;
      const T* projected = tape.projected.data() + at * s.in_proj_width();
      for (int64_t i = 0; i < s.d_mlp(); ++i)
        tape.mixed[at * s.d_inner + i] = silu(projected[columns.z0() + i]) * projected[columns.x0() + i];
    }
  });
}

template <class T>
void Block<T>::backward(Executor& executor, const Segments& segments, const BlockParameters<const T>& parameters,
                        const BlockTape<T>& tape, View<const T, 3> d_y, BlockState<const T> d_final, View<T, 3> d_x,
                        BlockState<T> d_initial, const BlockParameters<T>& gradient, BlockWorkspace<T>& w) const {
  const BlockShape& s = shape_;
  const Columns columns(s);
  const int64_t positions = segments.rows() * segments.steps(), W = s.in_proj_width();
  grow(w.d_mixed, positions * s.d_inner), grow(w.d_projected, positions * W);
  grow(w.d_conv, positions * s.conv_channels()), grow(w.d_dt, positions * s.heads()), grow(w.d_y, positions * s.d_ssm);
  w.d_A.assign(static_cast<size_t>(s.heads()), T(0));
  fill_A(parameters.A_log, s.heads(), w.A);

  const View<const T, 3> d_out = readable(executor, segments, d_y, w.d_out);
  linear_backward_input<T>(kernels_, executor, segments, d_out, {parameters.out_proj_weight, {s.d_model, s.d_inner}},
                           steps_view(w.d_mixed.data(), segments, s.d_inner), w.scratch);
  linear_backward_weight<T>(kernels_, executor, segments, d_out, steps_view<const T>(tape.mixed.data(), segments, s.d_inner),
                            {gradient.out_proj_weight, {s.d_model, s.d_inner}}, gradient.out_proj_bias, w.scratch);

  executor.parallel_for(s.d_mlp() ? segments.count() : 0, 1, [&](int64_t index, int64_t) {
    for (int64_t t = segments[index].begin; t < segments[index].end; ++t) {
      const int64_t at = segments[index].row * segments.steps() + t;
      const T *projected = tape.projected.data() + at * W, *d = w.d_mixed.data() + at * s.d_inner;
      T* d_projected = w.d_projected.data() + at * W;
      for (int64_t i = 0; i < s.d_mlp(); ++i) {
        const T z0 = projected[columns.z0() + i], x0 = projected[columns.x0() + i];
        d_projected[columns.z0() + i] = d[i] * x0 * silu_derivative(z0);
        d_projected[columns.x0() + i] = d[i] * silu(z0);
      }
    }
  });
  kernels_.norm_backward(executor, segments, norm(parameters, tape), tape.rstd.data(), w.d_mixed.data() + s.d_mlp(), s.d_inner,
                         {w.d_y.data(), w.d_projected.data() + columns.z(), gradient.norm_weight}, w.scratch);
  T *d_x_ssm = w.d_conv.data(), *d_B = d_x_ssm + s.d_ssm, *d_C = d_B + s.ngroups * s.d_state;
  kernels_.scan_backward(executor, segments, scan(parameters, tape, w.A), tape.states.data(), w.d_y.data(), d_final.ssm,
                         {d_x_ssm, d_B, d_C, w.d_dt.data(), w.d_A.data(), gradient.D, d_initial.ssm}, w.scratch);
  for (int64_t h = 0; h < s.heads(); ++h) gradient.A_log[h] += w.d_A[h] * w.A[h];
  kernels_.time_step_backward(executor, segments, time_step(parameters, tape), w.d_dt.data(), w.d_projected.data() + columns.dt(),
                              gradient.dt_bias);
  kernels_.conv_backward(executor, segments, conv(parameters, tape), w.d_conv.data(), d_final.conv,
                         {w.d_projected.data() + columns.conv(), gradient.conv_weight, gradient.conv_bias, d_initial.conv});

  const View<T, 3> d_in = writable(d_x, w.written);
  const View<const T, 3> d_projected = steps_view<const T>(w.d_projected.data(), segments, W);
  linear_backward_input<T>(kernels_, executor, segments, d_projected, {parameters.in_proj_weight, {W, s.d_model}}, d_in, w.scratch);
  linear_backward_weight<T>(kernels_, executor, segments, d_projected, steps_view<const T>(tape.x.data(), segments, s.d_model),
                            {gradient.in_proj_weight, {W, s.d_model}}, gradient.in_proj_bias, w.scratch);
  segments.clear_outside(d_in.data, s.d_model, d_in.strides[1]);
  copy_back(d_in, d_x);
}

template <class T>
void Block<T>::step(Executor& executor, int64_t rows, const BlockParameters<const T>& parameters, const T* x, BlockState<T> state,
                    T* y, BlockTape<T>& tape, BlockWorkspace<T>& workspace) const {
  const BlockShape& s = shape_;
  workspace.one_step.become_whole(rows, 1);
  const Segments& segments = workspace.one_step;
  const Columns columns(s);
  reserve(segments, tape);
  tape.initial_conv.clear(), tape.initial_ssm.clear();
  fill_A(parameters.A_log, s.heads(), workspace.A);
  linear_forward<T>(kernels_, executor, segments, steps_view(x, segments, s.d_model),
                    {parameters.in_proj_weight, {s.in_proj_width(), s.d_model}}, parameters.in_proj_bias,
                    steps_view(tape.projected.data(), segments, s.in_proj_width()), workspace.scratch);
  Conv<T> window = conv(parameters, tape);
  window.initial = state.conv;
  kernels_.conv_forward(executor, segments, window, tape.conv.data(), state.conv);
  kernels_.time_step_forward(executor, segments, time_step(parameters, tape), tape.dt.data());
  kernels_.scan_step(executor, rows, scan(parameters, tape, workspace.A), state.ssm, tape.y.data());
  kernels_.norm_forward(executor, segments, norm(parameters, tape), tape.mixed.data() + s.d_mlp(), s.d_inner, tape.rstd.data());
  gate_mlp(executor, segments, tape);
  linear_forward<T>(kernels_, executor, segments, steps_view<const T>(tape.mixed.data(), segments, s.d_inner),
                    {parameters.out_proj_weight, {s.d_model, s.d_inner}}, parameters.out_proj_bias,
                    steps_view(y, segments, s.d_model), workspace.scratch);
}

template class Block<float>;
template class Block<double>;

}  // namespace tutti::mamba2
