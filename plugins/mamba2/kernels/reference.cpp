#include "plugins/mamba2/kernels/reference.h"

#include "plugins/mamba2/kernels/activation.h"

namespace tutti::mamba2::reference {
namespace {

// Calls body(segment, index) for all segments in order.
template <class Body>
void for_each_segment(const Segments& segments, Body body) {
  for (int64_t s = 0; s < segments.count(); ++s) body(segments[s]);
}

// Calls body(position) for all positions inside segments in order.
template <class Body>
void for_each_position(const Segments& segments, Body body) {
  for (int64_t r = 0; r < segments.run_count(); ++r)
    for (int64_t at = segments.run(r).begin; at < segments.run(r).end; ++at) body(at);
}

// Where input step t (from the segment's begin; negative: before it) lies: in x, in the initial state, or nowhere.
template <class T>
T conv_input(const Segments& segments, const Segment& segment, const Conv<T>& conv, int64_t t, int64_t c) {
  if (t >= 0) return conv.x[(segment.row * segments.steps() + segment.begin + t) * conv.x_stride + c];
  if (!segment.is_first || !conv.initial) return T(0);
  return conv.initial[(segment.row * (conv.width - 1) + conv.width - 1 + t) * conv.channels + c];
}

// The convolution before its silu.
template <class T>
T conv_sum(const Segments& segments, const Segment& segment, const Conv<T>& conv, int64_t t, int64_t c) {
  T sum = conv.bias ? conv.bias[c] : T(0);
  for (int64_t k = 0; k < conv.width; ++k)
    sum += conv.weight[c * conv.width + k] * conv_input(segments, segment, conv, t - (conv.width - 1) + k, c);
  return sum;
}

template <class T>
void linear_forward(Executor&, const Segments& segments, const Linear<T>& a, const T* x, int64_t x_stride, T* y, int64_t y_stride,
                    Scratch<T>&) {
  for_each_position(segments, [&](int64_t at) {
    for (int64_t o = 0; o < a.outputs; ++o) {
      T sum = a.bias ? a.bias[o] : T(0);
      for (int64_t i = 0; i < a.inputs; ++i) sum = std::fma(x[at * x_stride + i], a.weight[o * a.inputs + i], sum);
      y[at * y_stride + o] = sum;
    }
  });
}

template <class T>
void linear_backward_input(Executor&, const Segments& segments, const Linear<T>& a, const T* d_y, int64_t y_stride, T* d_x,
                           int64_t x_stride, Scratch<T>&) {
  for_each_position(segments, [&](int64_t at) {
    for (int64_t i = 0; i < a.inputs; ++i) {
      T sum = T(0);
      for (int64_t o = 0; o < a.outputs; ++o) sum = std::fma(d_y[at * y_stride + o], a.weight[o * a.inputs + i], sum);
      d_x[at * x_stride + i] = sum;
    }
  });
}

template <class T>
void linear_backward_weight(Executor&, const Segments& segments, const Linear<T>& a, const T* x, int64_t x_stride, const T* d_y,
                            int64_t y_stride, T* d_weight, T* d_bias, Scratch<T>&) {
  for_each_position(segments, [&](int64_t at) {
    for (int64_t o = 0; o < a.outputs; ++o) {
      const T d = d_y[at * y_stride + o];
      for (int64_t i = 0; i < a.inputs; ++i) {
        T& sum = d_weight[o * a.inputs + i];
        sum = std::fma(d, x[at * x_stride + i], sum);
      }
      if (d_bias) d_bias[o] += d;
    }
  });
}

template <class T>
void conv_forward(Executor&, const Segments& segments, const Conv<T>& conv, T* y, T* final_state) {
  const int64_t C = conv.channels, K = conv.width;
  for_each_segment(segments, [&](const Segment& segment) {
    const int64_t L = segment.length();
    for (int64_t t = 0; t < L; ++t)
      for (int64_t c = 0; c < C; ++c)
        y[(segment.row * segments.steps() + segment.begin + t) * C + c] = silu(conv_sum(segments, segment, conv, t, c));
    if (final_state && segment.is_last)
      for (int64_t j = 0; j < K - 1; ++j)
        for (int64_t c = 0; c < C; ++c)
          final_state[(segment.row * (K - 1) + j) * C + c] = conv_input(segments, segment, conv, L - (K - 1) + j, c);
  });
}

template <class T>
void conv_backward(Executor&, const Segments& segments, const Conv<T>& conv, const T* d_y, const T* d_final,
                   const ConvGradient<T>& gradient) {
  const int64_t C = conv.channels, K = conv.width;
  if (gradient.initial) std::fill_n(gradient.initial, segments.rows() * (K - 1) * C, T(0));
  for_each_segment(segments, [&](const Segment& segment) {
    const int64_t L = segment.length(), base = segment.row * segments.steps() + segment.begin;
    const auto add = [&](int64_t t, int64_t c, T value) {
      if (t >= 0)
        gradient.x[(base + t) * conv.x_stride + c] += value;
      else if (segment.is_first && gradient.initial)
        gradient.initial[(segment.row * (K - 1) + K - 1 + t) * C + c] += value;
    };
    for (int64_t t = 0; t < L; ++t) std::fill_n(gradient.x + (base + t) * conv.x_stride, C, T(0));
    for (int64_t t = 0; t < L; ++t)
      for (int64_t c = 0; c < C; ++c) {
        const T d_sum = d_y[(base + t) * C + c] * silu_derivative(conv_sum(segments, segment, conv, t, c));
        if (gradient.bias) gradient.bias[c] += d_sum;
        for (int64_t k = 0; k < K; ++k) {
          const int64_t source = t - (K - 1) + k;
          gradient.weight[c * K + k] += d_sum * conv_input(segments, segment, conv, source, c);
          add(source, c, d_sum * conv.weight[c * K + k]);
        }
      }
    if (d_final && segment.is_last)
      for (int64_t j = 0; j < K - 1; ++j)
        for (int64_t c = 0; c < C; ++c) add(L - (K - 1) + j, c, d_final[(segment.row * (K - 1) + j) * C + c]);
  });
}

template <class T>
void time_step_forward(Executor&, const Segments& segments, const TimeStep<T>& a, T* dt) {
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t h = 0; h < a.heads; ++h) {
        const int64_t at = segment.row * segments.steps() + t;
        dt[at * a.heads + h] = std::min(std::max(softplus(a.raw[at * a.raw_stride + h] + a.bias[h]), a.lower), a.upper);
      }
  });
}

template <class T>
void time_step_backward(Executor&, const Segments& segments, const TimeStep<T>& a, const T* d_dt, T* d_raw, T* d_bias) {
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t h = 0; h < a.heads; ++h) {
        const int64_t at = segment.row * segments.steps() + t;
        const T v = a.raw[at * a.raw_stride + h] + a.bias[h];
        const bool passes = softplus(v) >= a.lower && softplus(v) <= a.upper;
        const T d_v = passes ? d_dt[at * a.heads + h] * sigmoid(v) : T(0);
        d_raw[at * a.raw_stride + h] = d_v;
        d_bias[h] += d_v;
      }
  });
}

template <class T>
void norm_forward(Executor&, const Segments& segments, const Norm<T>& a, T* out, int64_t out_stride, T* rstd) {
  const int64_t size = a.features / a.groups;
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t g = 0; g < a.groups; ++g) {
        const int64_t at = segment.row * segments.steps() + t;
        const auto gate = [&](int64_t i) { return a.z ? silu(a.z[at * a.z_stride + g * size + i]) : T(1); };
        const auto value = [&](int64_t i) { return a.y[at * a.features + g * size + i] * (a.norm_before_gate ? T(1) : gate(i)); };
        T squares = T(0), factor = T(1);
        for (int64_t i = 0; i < size; ++i) squares += value(i) * value(i);
        if (a.weight) factor = rstd[at * a.groups + g] = T(1) / std::sqrt(squares / static_cast<T>(size) + a.epsilon);
        for (int64_t i = 0; i < size; ++i)
          out[at * out_stride + g * size + i] =
              value(i) * factor * (a.weight ? a.weight[g * size + i] : T(1)) * (a.norm_before_gate ? gate(i) : T(1));
      }
  });
}

// With v what is normalised, n = v * rstd and d_n its gradient: d_v = rstd * (d_n - n * mean(d_n * n)).
template <class T>
void norm_backward(Executor&, const Segments& segments, const Norm<T>& a, const T* rstd, const T* d_out, int64_t out_stride,
                   const NormGradient<T>& gradient, Scratch<T>&) {
  const int64_t size = a.features / a.groups;
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t g = 0; g < a.groups; ++g) {
        const int64_t at = segment.row * segments.steps() + t, first = g * size;
        const auto y = [&](int64_t i) { return a.y[at * a.features + first + i]; };
        const auto z = [&](int64_t i) { return a.z[at * a.z_stride + first + i]; };
        const auto weight = [&](int64_t i) { return a.weight ? a.weight[first + i] : T(1); };
        const auto gate = [&](int64_t i) { return a.z ? silu(z(i)) : T(1); };
        const auto inner_gate = [&](int64_t i) { return a.norm_before_gate ? T(1) : gate(i); };
        const auto outer_gate = [&](int64_t i) { return a.norm_before_gate ? gate(i) : T(1); };
        const auto d = [&](int64_t i) { return d_out[at * out_stride + first + i]; };
        const T r = a.weight ? rstd[at * a.groups + g] : T(1);
        const auto n = [&](int64_t i) { return y(i) * inner_gate(i) * r; };
        const auto d_n = [&](int64_t i) { return d(i) * weight(i) * outer_gate(i); };
        T mean = T(0);
        if (a.weight)
          for (int64_t i = 0; i < size; ++i) mean += d_n(i) * n(i) / static_cast<T>(size);
        for (int64_t i = 0; i < size; ++i) {
          const T d_v = r * (d_n(i) - n(i) * mean);
          gradient.y[at * a.features + first + i] = d_v * inner_gate(i);
          if (gradient.weight) gradient.weight[first + i] += d(i) * outer_gate(i) * n(i);
          if (a.z)
            gradient.z[at * a.z_stride + first + i] =
                silu_derivative(z(i)) * (a.norm_before_gate ? d(i) * weight(i) * n(i) : d_v * y(i));
        }
      }
  });
}

template <class T>
int64_t scan_kept(const Segments&, const Scan<T>&) {
  return 0;
}

template <class T>
void scan_forward(Executor&, const Segments& segments, const Scan<T>& a, T* y, T* final_state, T*, Scratch<T>& scratch) {
  const int64_t P = a.headdim, N = a.state;
  T* h = scratch.reserve(P * N);
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t head = 0; head < a.heads; ++head) {
      const int64_t group = head / (a.heads / a.groups), state_at = (segment.row * a.heads + head) * P * N;
      for (int64_t i = 0; i < P * N; ++i) h[i] = a.initial && segment.is_first ? a.initial[state_at + i] : T(0);
      for (int64_t t = segment.begin; t < segment.end; ++t) {
        const int64_t at = segment.row * segments.steps() + t;
        const T *x = a.x + at * a.stride + head * P, *B = a.B + at * a.stride + group * N, *C = a.C + at * a.stride + group * N;
        const T dt = a.dt[at * a.heads + head], decay = std::exp(dt * a.A[head]);
        for (int64_t p = 0; p < P; ++p) {
          T sum = T(0);
          for (int64_t n = 0; n < N; ++n) {
            h[p * N + n] = decay * h[p * N + n] + dt * x[p] * B[n];
            sum += C[n] * h[p * N + n];
          }
          y[(at * a.heads + head) * P + p] = sum + a.D[a.D_per_channel ? head * P + p : head] * x[p];
        }
      }
      if (final_state && segment.is_last) std::copy_n(h, P * N, final_state + state_at);
    }
  });
}

// d_h_t = C_t d_y_t + exp(dt_{t+1} A) d_h_{t+1}, from the last step to the first; every other gradient follows from
// d_h_t by the product rule.
template <class T>
void scan_backward(Executor&, const Segments& segments, const Scan<T>& a, const T*, const T* d_y, const T* d_final,
                   const ScanGradient<T>& gradient, Scratch<T>& scratch) {
  const int64_t P = a.headdim, N = a.state;
  T* states = scratch.reserve((segments.longest() + 2) * P * N);  // before each step
  T* d_h = states + (segments.longest() + 1) * P * N;
  if (gradient.initial) std::fill_n(gradient.initial, segments.rows() * a.heads * P * N, T(0));
  for_each_segment(segments, [&](const Segment& segment) {
    for (int64_t t = segment.begin; t < segment.end; ++t) {
      const int64_t at = segment.row * segments.steps() + t;
      std::fill_n(gradient.B + at * a.stride, a.groups * N, T(0));
      std::fill_n(gradient.C + at * a.stride, a.groups * N, T(0));
    }
    for (int64_t head = 0; head < a.heads; ++head) {
      const int64_t group = head / (a.heads / a.groups), state_at = (segment.row * a.heads + head) * P * N;
      for (int64_t i = 0; i < P * N; ++i) states[i] = a.initial && segment.is_first ? a.initial[state_at + i] : T(0);
      for (int64_t t = 0; t < segment.length(); ++t) {
        const int64_t at = segment.row * segments.steps() + segment.begin + t;
        const T *x = a.x + at * a.stride + head * P, *B = a.B + at * a.stride + group * N;
        const T dt = a.dt[at * a.heads + head], decay = std::exp(dt * a.A[head]);
        for (int64_t p = 0; p < P; ++p)
          for (int64_t n = 0; n < N; ++n)
            states[((t + 1) * P + p) * N + n] = decay * states[(t * P + p) * N + n] + dt * x[p] * B[n];
      }
      for (int64_t i = 0; i < P * N; ++i) d_h[i] = d_final && segment.is_last ? d_final[state_at + i] : T(0);
      for (int64_t t = segment.length() - 1; t >= 0; --t) {
        const int64_t at = segment.row * segments.steps() + segment.begin + t;
        const T *x = a.x + at * a.stride + head * P, *B = a.B + at * a.stride + group * N, *C = a.C + at * a.stride + group * N;
        const T *before = states + t * P * N, *after = states + (t + 1) * P * N, *d = d_y + (at * a.heads + head) * P;
        T *d_x = gradient.x + at * a.stride + head * P, *d_B = gradient.B + at * a.stride + group * N;
        T* d_C = gradient.C + at * a.stride + group * N;
        const T dt = a.dt[at * a.heads + head], decay = std::exp(dt * a.A[head]);
        T d_decay = T(0), d_dt = T(0);
        for (int64_t p = 0; p < P; ++p) {
          const int64_t d_at = a.D_per_channel ? head * P + p : head;
          gradient.D[d_at] += d[p] * x[p];
          T d_input = T(0);  // of dt_t x_t[p]
          for (int64_t n = 0; n < N; ++n) {
            const int64_t i = p * N + n;
            d_C[n] += d[p] * after[i];
            d_h[i] += d[p] * C[n];
            d_decay += d_h[i] * before[i];
            d_B[n] += d_h[i] * dt * x[p];
            d_input += d_h[i] * B[n];
            d_h[i] *= decay;
          }
          d_x[p] = dt * d_input + a.D[d_at] * d[p];
          d_dt += d_input * x[p];
        }
        gradient.dt[at * a.heads + head] = d_dt + d_decay * decay * a.A[head];
        gradient.A[head] += d_decay * decay * dt;
      }
      if (gradient.initial && segment.is_first) std::copy_n(d_h, P * N, gradient.initial + state_at);
    }
  });
}

template <class T>
void scan_step(Executor&, int64_t rows, const Scan<T>& a, T* h, T* y) {
  const int64_t P = a.headdim, N = a.state;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < a.heads; ++head) {
      const int64_t group = head / (a.heads / a.groups);
      const T *x = a.x + row * a.stride + head * P, *B = a.B + row * a.stride + group * N, *C = a.C + row * a.stride + group * N;
      const T dt = a.dt[row * a.heads + head], decay = std::exp(dt * a.A[head]);
      for (int64_t p = 0; p < P; ++p) {
        T* state = h + ((row * a.heads + head) * P + p) * N;
        T sum = T(0);
        for (int64_t n = 0; n < N; ++n) {
          state[n] = decay * state[n] + dt * x[p] * B[n];
          sum += C[n] * state[n];
        }
        y[(row * a.heads + head) * P + p] = sum + a.D[a.D_per_channel ? head * P + p : head] * x[p];
      }
    }
}

}  // namespace

template <class T>
const Kernels<T>& kernels() {
  static constexpr Kernels<T> table{"reference",          linear_forward<T>,    linear_backward_input<T>, linear_backward_weight<T>,
                                    conv_forward<T>,      conv_backward<T>,     time_step_forward<T>,     time_step_backward<T>,
                                    norm_forward<T>,      norm_backward<T>,     scan_kept<T>,             scan_forward<T>,
                                    scan_backward<T>,     scan_step<T>};
  return table;
}

template const Kernels<float>& kernels();
template const Kernels<double>& kernels();

}  // namespace tutti::mamba2::reference
