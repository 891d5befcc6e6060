// Chunked SSD (sections 6 and 7.1 of arXiv 2405.21060). Within a chunk of steps the scan is a masked product,
//   Y = (L o C B^T) (dt x) + E (C h^T) + D x,      h' = e h + (R dt x)^T B,
//   L[l,s] = prod_{s<k<=l} exp(dt_k A) for s <= l, E[l] = prod_{k<=l}, R[l] = prod_{k>l}, e = E[last],
// and chunks follow each other through the state h. The decays are products of factors that lie in [0,1], built row by
// row, where the paper takes the exponential of differences of cumulative sums: nothing can overflow above the diagonal,
// nothing cancels where one step is very long, and a chunk needs as many exponentials as it has steps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/lanes.h"
#include "plugins/mamba2/kernels/cpu/tasks.h"
#include "shared/linalg/gemm.h"

namespace tutti::mamba2::cpu {
namespace {

template <class T>
Matrix<const T> as_const(const Matrix<T>& m) {
  return m;
}

// c = a b, or c += a b.
template <class T>
void multiply(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  gemm<T>(T(1), a, b, T(0), c);
}
template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  gemm<T>(T(1), a, b, T(1), c);
}

// C B^T of every chunk, which all heads of a group share.
template <class T>
class GroupProducts {
 public:
  GroupProducts(const Segments& segments, const Scan<T>& a)
      : segments_(segments),
        a_(a),
        Q_(std::min(a.chunk, segments.longest())),
        chunks_((segments.longest() + a.chunk - 1) / a.chunk) {}

  // Elements of the memory that fill needs and keeps.
  int64_t memory_size() const { return segments_.count() * a_.groups * chunks_ * Q_ * Q_; }

  void fill(Executor& executor, T* memory) {
    memory_ = memory;
    executor.parallel_for(segments_.count() * a_.groups * chunks_, 1, [&](int64_t task, int64_t) {
      const Segment& segment = segments_[task / chunks_ / a_.groups];
      const int64_t first = task % chunks_ * Q_, length = std::min(Q_, segment.length() - first);
      if (length <= 0) return;
      const int64_t offset = (segment.row * segments_.steps() + segment.begin + first) * a_.stride;
      const int64_t column = task / chunks_ % a_.groups * a_.state;
      const auto rows = [&](const T* data) {
        return Matrix<const T>(data + offset + column, {length, a_.state}, {a_.stride, 1});
      };
      multiply(rows(a_.C), rows(a_.B).transposed(), Matrix<T>(memory + task * Q_ * Q_, {length, length}));
    });
  }

  // Of a group's first chunk of a segment; the others follow, Q*Q elements each.
  const T* of(int64_t segment, int64_t group) const { return memory_ + (segment * a_.groups + group) * chunks_ * Q_ * Q_; }

 private:
  const Segments& segments_;
  const Scan<T>& a_;
  const int64_t Q_, chunks_;
  const T* memory_ = nullptr;
};

// One head over one segment, chunk by chunk. Owns nothing; its matrices lie in the worker's memory.
template <class T>
class ChunkedHead {
 public:
  static int64_t longest_chunk(const Segments& segments, const Scan<T>& a) { return std::min(a.chunk, segments.longest()); }
  static int64_t count_chunks(int64_t length, int64_t chunk) { return (length + chunk - 1) / chunk; }

  // Elements of a worker's memory.
  static int64_t memory_size(const Segments& segments, const Scan<T>& a, bool backward) {
    const int64_t Q = longest_chunk(segments, a), P = a.headdim, N = a.state, chunks = count_chunks(segments.longest(), a.chunk);
    return backward ? 3 * Q * Q + 4 * Q + 2 * Q * P + 3 * Q * N + (2 + chunks) * P * N
                    : 2 * Q * Q + 2 * Q + Q * P + Q * N + P * N;
  }

  // task numbers the heads of the first segment, then those of the second …
  ChunkedHead(const Segments& segments, const Scan<T>& a, int64_t task, const GroupProducts<T>& products, T* memory)
      : a_(a),
        segment_(segments[task / a.heads]),
        base_(segment_.row * segments.steps() + segment_.begin),
        head_(task % a.heads),
        group_(head_ / (a.heads / a.groups)),
        P_(a.headdim),
        N_(a.state),
        Q_(longest_chunk(segments, a)),
        products_(products.of(task / a.heads, group_)),
        free_(memory) {
    decay_ = take(Q_ * Q_), weights_ = take(Q_ * Q_), from_start_ = take(Q_), to_end_ = take(Q_);
    input_ = take(Q_ * P_), scaled_ = take(Q_ * N_);
  }

  void forward(T* y, T* final_state) {
    T* h = take(P_ * N_);
    bool has_state = load_initial(h);
    for (int64_t first = 0; first < segment_.length(); first += Q_) {
      begin_chunk(first);
      const Matrix<T> out(y + ((base_ + first) * a_.heads + head_) * P_, {length_, P_}, {a_.heads * P_, 1});
      multiply(as_const(weights()), as_const(input()), out);
      if (has_state) multiply_add(as_const(scale_rows(C(), from_start_)), as_const(state(h)).transposed(), out);
      for (int64_t l = 0; l < length_; ++l) {
        T* row = out.data + l * out.strides[0];
        add_skip(x(l), T(1), row, row);
      }
      advance(h);
      has_state = true;
    }
    if (final_state && segment_.is_last) std::copy_n(h, P_ * N_, final_state + state_offset());
  }

  // d_B and d_C [rows, steps, heads, state] get this head's share, d_A [1] and d_D [1] or [headdim] its sums.
  void backward(const T* d_y, const T* d_final, const ScanGradient<T>& gradient, T* d_B, T* d_C, T* d_A, T* d_D) {
    const int64_t chunks = count_chunks(segment_.length(), Q_);
    T* states = take((chunks + 1) * P_ * N_);  // before each chunk
    load_initial(states);
    for (int64_t c = 0; c + 1 < chunks; ++c) {
      std::copy_n(states + c * P_ * N_, P_ * N_, states + (c + 1) * P_ * N_);
      begin_chunk(c * Q_);
      advance(states + (c + 1) * P_ * N_);
    }
    T* d_h = take(P_ * N_);
    if (d_final && segment_.is_last)
      std::copy_n(d_final + state_offset(), P_ * N_, d_h);
    else
      std::fill_n(d_h, P_ * N_, T(0));
    d_weights_ = take(Q_ * Q_), d_input_ = take(Q_ * P_), product_ = take(Q_ * N_), scaled_x_ = take(Q_ * N_);
    d_decay_ = take(Q_), at_end_ = take(Q_);
    *d_A = T(0), std::fill_n(d_D, a_.D_per_channel ? P_ : 1, T(0));
    for (int64_t c = chunks - 1; c >= 0; --c) {
      begin_chunk(c * Q_);
      backward_chunk(d_y, states + c * P_ * N_, d_h, gradient, d_B, d_C, d_A, d_D);
    }
    if (gradient.initial && segment_.is_first) std::copy_n(d_h, P_ * N_, gradient.initial + state_offset());
  }

 private:
  T* take(int64_t elements) { return std::exchange(free_, free_ + elements); }
  Matrix<T> dense(T* data, int64_t columns) const { return {data, {length_, columns}}; }
  Matrix<T> square(T* data) const { return {data, {length_, length_}}; }
  Matrix<T> weights() const { return square(weights_); }  // L o C B^T
  Matrix<T> input() const { return dense(input_, P_); }   // dt x
  Matrix<T> state(T* h) const { return {h, {P_, N_}}; }
  Matrix<const T> state(const T* h) const { return {h, {P_, N_}}; }
  Matrix<const T> columns(const T* data, int64_t width) const { return {data, {length_, width}, {a_.stride, 1}}; }
  Matrix<const T> B() const { return columns(a_.B + (base_ + first_) * a_.stride + group_ * N_, N_); }
  Matrix<const T> C() const { return columns(a_.C + (base_ + first_) * a_.stride + group_ * N_, N_); }
  const T* x(int64_t l) const { return a_.x + (base_ + first_ + l) * a_.stride + head_ * P_; }
  T dt(int64_t l) const { return a_.dt[(base_ + first_ + l) * a_.heads + head_]; }
  T D(int64_t p) const { return a_.D[a_.D_per_channel ? head_ * P_ + p : head_]; }
  int64_t state_offset() const { return (segment_.row * a_.heads + head_) * P_ * N_; }

  // result = factor * v + D * through, [headdim]; result may be v.
  void add_skip(const T* through, T factor, const T* v, T* result) const {
    if (a_.D_per_channel) {
      for (int64_t p = 0; p < P_; ++p) result[p] = factor * v[p] + D(p) * through[p];
    } else {
      const T d = D(0);
      for (int64_t p = 0; p < P_; ++p) result[p] = factor * v[p] + d * through[p];
    }
  }

  // True where there is an initial state; else h is zeroed.
  bool load_initial(T* h) const {
    const bool given = a_.initial && segment_.is_first;
    if (given)
      std::copy_n(a_.initial + state_offset(), P_ * N_, h);
    else
      std::fill_n(h, P_ * N_, T(0));
    return given;
  }

  void begin_chunk(int64_t first) {
    first_ = first, length_ = std::min(Q_, segment_.length() - first);
    fill_decays();
    for (int64_t l = 0; l < length_; ++l) {
      const T *from = x(l), step = dt(l);
      for (int64_t p = 0; p < P_; ++p) input_[l * P_ + p] = step * from[p];
    }
    const T* product = products_ + first / Q_ * Q_ * Q_;
    for (int64_t l = 0; l < length_; ++l) {
      const int64_t row = l * length_;
      for (int64_t s = 0; s <= l; ++s) weights_[row + s] = product[row + s] * decay_[row + s];
      std::fill(weights_ + row + l + 1, weights_ + row + length_, T(0));
    }
  }

  // 0 for decays so small that they, or products with them, could be subnormal numbers, which a processor handles a
  // hundred times slower than others. Beside a step's own input, 2^-100 (f64: 2^-996) of an older one is nothing.
  static T forget(T decay) { return decay < std::numeric_limits<T>::min() * T(1 << 26) ? T(0) : decay; }

  void fill_decays() {
    T so_far = T(1);
    for (int64_t l = 0; l < length_; ++l) {
      const T factor = std::exp(dt(l) * a_.A[head_]);
      T* row = decay_ + l * length_;
      for (int64_t s = 0; s < l; ++s) row[s] = forget(row[s - length_] * factor);
      row[l] = T(1);
      from_start_[l] = so_far = forget(so_far * factor);
    }
    std::copy_n(decay_ + (length_ - 1) * length_, length_, to_end_);
  }

  // The chunk's rows of m, each times its factor.
  Matrix<T> scale_rows(const Matrix<const T>& m, const T* factor) {
    for (int64_t l = 0; l < length_; ++l)
      for (int64_t n = 0; n < N_; ++n) scaled_[l * N_ + n] = factor[l] * m.data[l * m.strides[0] + n];
    return dense(scaled_, N_);
  }

  // h over the whole chunk.
  void advance(T* h) {
    for (int64_t i = 0; i < P_ * N_; ++i) h[i] *= from_start_[length_ - 1];
    multiply_add(as_const(input()).transposed(), as_const(scale_rows(B(), to_end_)), state(h));
  }

  void backward_chunk(const T* d_y, const T* h, T* d_h, const ScanGradient<T>& gradient, T* d_B, T* d_C, T* d_A, T* d_D) {
    const int64_t at = base_ + first_;
    const Matrix<const T> d_out(d_y + (at * a_.heads + head_) * P_, {length_, P_}, {a_.heads * P_, 1});
    const Matrix<T> d_b(d_B + (at * a_.heads + head_) * N_, {length_, N_}, {a_.heads * N_, 1});
    const Matrix<T> d_c(d_C + (at * a_.heads + head_) * N_, {length_, N_}, {a_.heads * N_, 1});

    multiply(as_const(weights()).transposed(), d_out, dense(d_input_, P_));
    multiply_add(as_const(scale_rows(B(), to_end_)), as_const(state(d_h)).transposed(), dense(d_input_, P_));

    multiply(d_out, as_const(input()).transposed(), square(d_weights_));
    d_decays_within();
    multiply(as_const(square(d_weights_)), B(), d_c);
    multiply(as_const(square(d_weights_)).transposed(), C(), d_b);

    multiply(d_out, state(h), dense(product_, N_));                           // of E C
    multiply(as_const(input()), as_const(state(d_h)), dense(scaled_x_, N_));  // of R B
    d_decays_across(d_b, d_c, h, d_h);

    for (int64_t i = 0; i < P_ * N_; ++i) d_h[i] *= from_start_[length_ - 1];
    multiply_add(d_out.transposed(), as_const(scale_rows(C(), from_start_)), state(d_h));

    for (int64_t l = 0; l < length_; ++l) {
      T* d_x = gradient.x + (at + l) * a_.stride + head_ * P_;
      const T *d_in = d_input_ + l * P_, *d = d_out.data + l * d_out.strides[0], *in = x(l);
      add_skip(d, dt(l), d_in, d_x);
      if (a_.D_per_channel)
        for (int64_t p = 0; p < P_; ++p) d_D[p] += d[p] * in[p];
      else
        *d_D += dot(d, in, P_);
      gradient.dt[(at + l) * a_.heads + head_] = d_decay_[l] * a_.A[head_] + dot(d_in, in, P_);
      *d_A += d_decay_[l] * dt(l);
    }
  }

  // d_weights becomes the gradient of C B^T, and d_decay[k] that of the exponent dt_k A through L: the sum of
  // d_L[l,s] L[l,s] over s < k <= l. Adding only those pairs keeps small sums beside large ones.
  void d_decays_within() {
    std::fill_n(d_decay_, length_, T(0));
    for (int64_t l = 0; l < length_; ++l) {
      T *d = d_weights_ + l * length_, sum = T(0);
      const T *w = weights_ + l * length_, *decay = decay_ + l * length_;
      for (int64_t s = 0; s < l; ++s) {
        sum += d[s] * w[s];
        d_decay_[s + 1] += sum;
      }
      for (int64_t s = 0; s <= l; ++s) d[s] *= decay[s];
      std::fill(d + l + 1, d + length_, T(0));
    }
  }

  // Adds what passes through E (the state before), R (the state after) and e (from one to the other).
  void d_decays_across(const Matrix<T>& d_b, const Matrix<T>& d_c, const T* h, const T* d_h) {
    const T through = from_start_[length_ - 1] * dot(d_h, h, P_ * N_);
    const Matrix<const T> b = B(), c = C();
    for (int64_t l = 0; l < length_; ++l) {
      const T *d_before = product_ + l * N_, *d_after = scaled_x_ + l * N_, before = from_start_[l], after = to_end_[l];
      T *c_row = d_c.data + l * d_c.strides[0], *b_row = d_b.data + l * d_b.strides[0];
      for (int64_t n = 0; n < N_; ++n) c_row[n] += before * d_before[n];
      for (int64_t n = 0; n < N_; ++n) b_row[n] += after * d_after[n];
      at_end_[l] = after * dot(d_after, b.data + l * b.strides[0], N_);
      product_[l * N_] = before * dot(d_before, c.data + l * c.strides[0], N_);  // row l of product has been used
    }
    T suffix = T(0), prefix = T(0);
    for (int64_t l = length_ - 1; l >= 0; --l) d_decay_[l] += suffix += product_[l * N_];
    for (int64_t l = 0; l < length_; ++l) d_decay_[l] += prefix + through, prefix += at_end_[l];
  }

  const Scan<T>& a_;
  const Segment& segment_;
  const int64_t base_, head_, group_, P_, N_, Q_;
  int64_t first_ = 0, length_ = 0;  // of the chunk, from the segment's begin
  const T* products_;               // C B^T of each chunk
  T* free_;
  T *decay_, *weights_, *from_start_, *to_end_, *input_, *scaled_;
  T *d_weights_ = nullptr, *d_input_ = nullptr, *product_ = nullptr, *scaled_x_ = nullptr, *d_decay_ = nullptr,
    *at_end_ = nullptr;
};

}  // namespace

template <class T>
void scan_forward(Executor& executor, const Segments& segments, const Scan<T>& a, T* y, T* final_state, Scratch<T>& scratch) {
  const int64_t tasks = segments.count() * a.heads, size = ChunkedHead<T>::memory_size(segments, a, false);
  GroupProducts<T> products(segments, a);
  T* memory = scratch.reserve(count_workers(executor, tasks) * size + products.memory_size());
  products.fill(executor, memory + count_workers(executor, tasks) * size);
  for_each_task(executor, tasks, [&](int64_t task, int64_t worker) {
    ChunkedHead<T>(segments, a, task, products, memory + worker * size).forward(y, final_state);
  });
}

// Each head leaves its share of what heads and segments have in common; the shares are added up in order.
template <class T>
void scan_backward(Executor& executor, const Segments& segments, const Scan<T>& a, const T* d_y, const T* d_final,
                   const ScanGradient<T>& gradient, Scratch<T>& scratch) {
  const int64_t H = a.heads, N = a.state, tasks = segments.count() * H, size = ChunkedHead<T>::memory_size(segments, a, true);
  const int64_t shares = segments.rows() * segments.steps() * H * N, D_size = a.D_per_channel ? a.headdim : 1;
  GroupProducts<T> products(segments, a);
  T* d_B = scratch.reserve(2 * shares + tasks * (1 + D_size) + products.memory_size() + count_workers(executor, tasks) * size);
  T *d_C = d_B + shares, *d_A = d_C + shares, *d_D = d_A + tasks, *of_groups = d_D + tasks * D_size;
  T* memory = of_groups + products.memory_size();
  products.fill(executor, of_groups);
  if (gradient.initial) std::fill_n(gradient.initial, segments.rows() * H * a.headdim * N, T(0));
  for_each_task(executor, tasks, [&](int64_t task, int64_t worker) {
    ChunkedHead<T>(segments, a, task, products, memory + worker * size)
        .backward(d_y, d_final, gradient, d_B, d_C, d_A + task, d_D + task * D_size);
  });

  executor.parallel_for(segments.count(), 1, [&](int64_t s, int64_t) {
    const int64_t per_group = H / a.groups;
    const auto add_heads = [&](const T* share, T* sum) {  // [heads, state] to [groups, state]
      std::fill_n(sum, a.groups * N, T(0));
      for (int64_t h = 0; h < H; ++h)
        for (int64_t n = 0; n < N; ++n) sum[h / per_group * N + n] += share[h * N + n];
    };
    for (int64_t t = segments[s].begin; t < segments[s].end; ++t) {
      const int64_t at = segments[s].row * segments.steps() + t;
      add_heads(d_B + at * H * N, gradient.B + at * a.stride);
      add_heads(d_C + at * H * N, gradient.C + at * a.stride);
    }
  });
  for (int64_t task = 0; task < tasks; ++task) {
    gradient.A[task % H] += d_A[task];
    for (int64_t p = 0; p < D_size; ++p) gradient.D[task % H * D_size + p] += d_D[task * D_size + p];
  }
}

template <class T>
void scan_step(Executor& executor, int64_t rows, const Scan<T>& a, T* h, T* y) {
  const int64_t P = a.headdim, N = a.state;
  executor.parallel_for(rows * a.heads, 1, [&](int64_t task, int64_t) {
    const int64_t row = task / a.heads, head = task % a.heads, group = head / (a.heads / a.groups);
    const T *x = a.x + row * a.stride + head * P, *B = a.B + row * a.stride + group * N, *C = a.C + row * a.stride + group * N;
    const T dt = a.dt[row * a.heads + head], decay = std::exp(dt * a.A[head]);
    for (int64_t p = 0; p < P; ++p) {
      T* state = h + (task * P + p) * N;
      const T input = dt * x[p];
      for (int64_t n = 0; n < N; ++n) state[n] = decay * state[n] + input * B[n];
      y[task * P + p] = dot(C, state, N) + a.D[a.D_per_channel ? head * P + p : head] * x[p];
    }
  });
}

#define TUTTI_INSTANTIATE(T)                                                                                          \
  template void scan_forward(Executor&, const Segments&, const Scan<T>&, T*, T*, Scratch<T>&);                        \
  template void scan_backward(Executor&, const Segments&, const Scan<T>&, const T*, const T*, const ScanGradient<T>&, \
                              Scratch<T>&);                                                                           \
  template void scan_step(Executor&, int64_t, const Scan<T>&, T*, T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::cpu
