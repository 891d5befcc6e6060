// Chunked SSD (sections 6 and 7.1 of arXiv 2405.21060). Within a chunk of steps the scan is a masked product,
//   Y = (L o C B^T) (dt x) + E (C h^T) + D x,      h' = e h + (R dt x)^T B,
//   L[l,s] = prod_{s<k<=l} exp(dt_k A) for s <= l, E[l] = prod_{k<=l}, R[l] = prod_{k>l}, e = E[last],
// and chunks follow each other through the state h. The decays are products of factors that lie in [0,1], built row by
// row, where the paper takes the exponential of differences of cumulative sums: nothing can overflow above the diagonal,
// nothing cancels where one step is very long, and a chunk needs as many exponentials as it has steps.
//
// Chunks are worked off in waves, so that what the heads of a group share takes little memory however long the sequence is.
// The forward pass keeps the state at the begin of each wave; the backward pass goes from there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/elementwise.h"
#include "plugins/mamba2/kernels/cpu/fetch.h"
#include "plugins/mamba2/kernels/cpu/lanes.h"
#include "plugins/mamba2/kernels/cpu/matmul.h"
#include "plugins/mamba2/kernels/cpu/recurrence.h"
#include "plugins/mamba2/kernels/cpu/tasks.h"

namespace tutti::mamba2::TUTTI_KERNELS {
namespace {

constexpr int64_t kWave = 4;        // chunks
constexpr int64_t kHeadBlock = 4;   // heads of a group whose shares of the gradients of B and C are added up at once
constexpr int64_t kSegments = 8;    // at once, at least: work memory is for them, not for a whole batch

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// 0 for decays so small that they, or products with them, could be subnormal numbers, which a processor handles a
// hundred times slower than others. Beside a step's own input, 2^-100 (f64: 2^-996) of an older one is nothing.
template <class T>
T forget(T decay) {
  return decay < std::numeric_limits<T>::min() * T(1 << 26) ? T(0) : decay;
}

// Steps ahead that rows are asked for: they lie pages apart, where the processor doesn't guess.
constexpr int64_t kAhead = 6;

template <class T>
void scale_add(T factor, const T* v, T* sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] = std::fma(factor, v[i], sum[i]);
}

struct Chunk {
  int64_t at;      // position of its first step in the batch
  int64_t length;  // at most Layout::Q
};

// Where chunks, heads and groups lie.
template <class T>
struct Layout {
  const Segments& segments;
  const Scan<T>& a;
  const int64_t Q, P, N, H, heads_per_group;

  Layout(const Segments& segments, const Scan<T>& a)
      : segments(segments),
        a(a),
        Q(std::min(a.chunk, std::max<int64_t>(1, segments.longest()))),
        P(a.headdim),
        N(a.state),
        H(a.heads),
        heads_per_group(a.heads / a.groups) {}

  int64_t begin(const Segment& segment) const { return segment.row * segments.steps() + segment.begin; }
  int64_t chunks(const Segment& segment) const { return ceil_div(segment.length(), Q); }
  int64_t waves() const { return ceil_div(ceil_div(segments.longest(), Q), kWave); }
  Chunk chunk(const Segment& segment, int64_t c) const {
    return {begin(segment) + c * Q, std::min(Q, segment.length() - c * Q)};
  }
  const T* x(int64_t at, int64_t head) const { return a.x + at * a.stride + head * P; }
  const T* B(int64_t at, int64_t group) const { return a.B + at * a.stride + group * N; }
  const T* C(int64_t at, int64_t group) const { return a.C + at * a.stride + group * N; }
  const T* D(int64_t head) const { return a.D + (a.D_per_channel ? head * P : head); }
  int64_t state(const Segment& segment, int64_t head) const { return (segment.row * H + head) * P * N; }

  // The state kept before a wave, not the first: segments keep at most as many as their positions have room for.
  int64_t kept(const Segment& segment, int64_t wave, int64_t head) const {
    return ((begin(segment) / (kWave * Q) + wave - 1) * H + head) * P * N;
  }
  int64_t kept_size() const { return segments.rows() * segments.steps() / (kWave * Q) * H * P * N; }
};

// C B^T of every chunk of a wave, [Q, Q], which all heads of a group share.
template <class T>
class GroupProducts {
 public:
  GroupProducts(const Layout<T>& layout, int64_t first_segment, int64_t last_segment, T* memory)
      : o_(layout), first_(first_segment), last_(last_segment), memory_(memory) {}

  static int64_t memory_size(const Layout<T>& o, int64_t segments) { return segments * o.a.groups * kWave * o.Q * o.Q; }

  // transposed: scratch of [worker][N * Q].
  void fill(Executor& executor, int64_t wave, T* transposed) {
    for_each_task(executor, (last_ - first_) * o_.a.groups * kWave, [&](int64_t task, int64_t worker) {
      const Segment& segment = o_.segments[first_ + task / kWave / o_.a.groups];
      const int64_t c = wave * kWave + task % kWave, group = task / kWave % o_.a.groups;
      if (c >= o_.chunks(segment)) return;
      const Chunk chunk = o_.chunk(segment, c);
      T* columns = transposed + worker * o_.N * o_.Q;
      transpose(chunk.length, o_.N, o_.B(chunk.at, group), o_.a.stride, columns, o_.Q);
      multiply<T>(chunk.length, chunk.length, {o_.C(chunk.at, group), o_.a.stride, 1}, {columns, o_.Q}, {nullptr, 0},
                  {memory_ + task * o_.Q * o_.Q, o_.Q}, [&](int64_t i, int64_t height, int64_t j, int64_t) {
                    return Steps{0, j < i + height ? o_.N : 0};
                  });
    });
  }

  const T* of(int64_t segment, int64_t group, int64_t chunk_of_wave) const {
    return memory_ + (((segment - first_) * o_.a.groups + group) * kWave + chunk_of_wave) * o_.Q * o_.Q;
  }

 private:
  const Layout<T>& o_;
  const int64_t first_, last_;
  T* memory_;
};

// One head over one chunk: time steps and decays, and what both passes make of them. Owns nothing.
template <class T>
class HeadChunk {
 public:
  static int64_t memory_size(const Layout<T>& o) { return 5 * o.Q; }

  HeadChunk(const Layout<T>& layout, T* memory)
      : o_(layout), dt_(memory), factor_(dt_ + o_.Q), E_(factor_ + o_.Q), R_(E_ + o_.Q), row_(R_ + o_.Q) {}

  void begin(const Chunk& chunk, int64_t head) {
    chunk_ = chunk, head_ = head, group_ = head / o_.heads_per_group;
    const T A = o_.a.A[head];
    for (int64_t l = 0; l < length(); ++l) dt_[l] = o_.a.dt[(chunk_.at + l) * o_.H + head];
    for (int64_t l = 0; l < length(); ++l) factor_[l] = fast_exp(dt_[l] * A);
  }

  // E and R, which the recurrence has no use for.
  void make_decays() {
    E_[0] = forget(factor_[0]);
    for (int64_t l = 1; l < length(); ++l) E_[l] = forget(E_[l - 1] * factor_[l]);
    R_[length() - 1] = T(1);
    for (int64_t l = length() - 1; l > 0; --l) R_[l - 1] = forget(R_[l] * factor_[l]);
  }

  int64_t length() const { return chunk_.length; }
  int64_t at(int64_t l) const { return chunk_.at + l; }
  int64_t head() const { return head_; }
  T dt(int64_t l) const { return dt_[l]; }
  const T* dt() const { return dt_; }
  const T* factor() const { return factor_; }  // exp(dt A)
  const T* R() const { return R_; }
  T E(int64_t l) const { return E_[l]; }
  T whole() const { return E_[length() - 1]; }
  const T* x(int64_t l) const { return o_.x(at(l), head_); }
  const T* B(int64_t l) const { return o_.B(at(l), group_); }
  const T* C(int64_t l) const { return o_.C(at(l), group_); }

  // Calls body(l, decays, last) for each step, with decays [l+1] its row of L; up to last, a tile's rows end later, what
  // body writes is to be zero.
  template <class Body>
  void for_each_row(Body body) {
    for (int64_t l = 0; l < length(); ++l) {
      const T factor = factor_[l];
      for (int64_t s = 0; s < l; ++s) row_[s] = forget(row_[s] * factor);
      row_[l] = T(1);
      body(l, static_cast<const T*>(row_), std::min(length(), (l / kTileRows + 1) * kTileRows));
    }
  }

  // Asks for x of the step that is kAhead after l.
  void fetch_x(int64_t l) const {
    if (l + kAhead < length()) fetch(x(l + kAhead), o_.P);
  }

  // dt x, [length, P], dense.
  void write_input(T* input) const {
    for (int64_t l = 0; l < length(); ++l) {
      const T *from = x(l), step = dt_[l];
      fetch_x(l);
      for (int64_t p = 0; p < o_.P; ++p) input[l * o_.P + p] = step * from[p];
    }
  }
  // E C and R B, [length, N], dense.
  void write_scaled_C(T* to) const {
    for (int64_t l = 0; l < length(); ++l) scale_row(E_[l], C(l), to + l * o_.N);
  }
  void write_scaled_B(T* to) const {
    for (int64_t l = 0; l < length(); ++l) scale_row(R_[l], B(l), to + l * o_.N);
  }

 private:
  void scale_row(T factor, const T* from, T* to) const {
    for (int64_t n = 0; n < o_.N; ++n) to[n] = factor * from[n];
  }

  const Layout<T>& o_;
  Chunk chunk_{};
  int64_t head_ = 0, group_ = 0;
  T *dt_, *factor_, *E_, *R_, *row_;
};

template <class T>
void scale(T factor, T* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] *= factor;
}

// ---- Forward

// The recurrence takes time in proportion to N, products have a fixed part. At 2,048 steps of 24 heads (avx512, one thread) they
// take 5.0 and 8.7 ms with N = 16, 8.9 and 10.8 ms with 32, 15.5 and 15.8 ms with 64.
template <class T>
bool prefers_recurrence(const Layout<T>& o) {
  return o.N <= 32;
}

template <class T>
class ForwardHead {
 public:
  static int64_t memory_size(const Layout<T>& o) {
    return HeadChunk<T>::memory_size(o) + o.Q * o.Q + 2 * o.Q * o.P + o.Q * o.N;
  }

  ForwardHead(const Layout<T>& layout, T* memory)
      : o_(layout),
        chunk_(layout, memory),
        weights_(memory + HeadChunk<T>::memory_size(layout)),
        input_(weights_ + o_.Q * o_.Q),
        out_(input_ + o_.Q * o_.P),
        scaled_(out_ + o_.Q * o_.P) {}

  // y of a chunk; h [N, P] is read where has_state, and taken to the chunk's end where goes_on.
  void run(const Chunk& chunk, int64_t head, const T* product, bool has_state, bool goes_on, T* h, T* y) {
    chunk_.begin(chunk, head);
    T* const out = y + (chunk.at * o_.H + head) * o_.P;
    if (prefers_recurrence(o_)) return recur(has_state, h, out);
    multiply_chunk(product, has_state, goes_on, h, out);
    for (int64_t l = 0; l < chunk.length; ++l) std::copy_n(out_ + l * o_.P, o_.P, out + l * o_.H * o_.P);
  }

 private:
  // out [length, P] is the head's part of y, a row every H * P elements.
  void recur(bool has_state, T* h, T* out) {
    const int64_t P = o_.P, N = o_.N, row = o_.H * P;
    if (!has_state) std::fill_n(h, N * P, T(0));
    for (int64_t l = 0; l < std::min(kAhead, chunk_.length()); ++l) fetch_to_write(out + l * row, P);
    read_x(out, row);
    run_recurrence<T>({chunk_.length(), P, N, chunk_.B(0), chunk_.C(0), o_.a.stride, chunk_.factor(), input_, out, row, h});
  }

  void multiply_chunk(const T* product, bool has_state, bool goes_on, T* h, T* y) {
    const int64_t Q = o_.Q, P = o_.P, N = o_.N, length = chunk_.length();
    chunk_.make_decays();
    read_x(out_, P);
    chunk_.for_each_row([&](int64_t l, const T* decays, int64_t last) {
      fetch_to_write(y + l * o_.H * P, P);
      T* row = weights_ + l * Q;
      for (int64_t s = 0; s <= l; ++s) row[s] = decays[s] * product[l * Q + s];
      for (int64_t s = l + 1; s < last; ++s) row[s] = T(0);
    });
    multiply<T>(length, P, {weights_, Q, 1}, {input_, P}, {out_, P}, {out_, P},
                [](int64_t i, int64_t height, int64_t, int64_t) { return Steps{0, i + height}; });
    if (has_state) {
      chunk_.write_scaled_C(scaled_);
      multiply_add<T>(length, P, N, {scaled_, N, 1}, {h, P}, {out_, P});
    }
    if (!goes_on) return;
    chunk_.write_scaled_B(scaled_);
    if (has_state) scale(chunk_.whole(), h, N * P);
    multiply<T>(N, P, length, {scaled_, 1, N}, {input_, P}, {has_state ? h : nullptr, P}, {h, P});
  }

  // input_ = dt x, to = D x, a row every to_row elements.
  void read_x(T* to, int64_t to_row) {
    const T* D = o_.D(chunk_.head());
    for (int64_t l = 0; l < chunk_.length(); ++l) {
      const T *x = chunk_.x(l), dt = chunk_.dt(l);
      T *input = input_ + l * o_.P, *out = to + l * to_row;
      chunk_.fetch_x(l);
      if (to_row != o_.P && l + kAhead < chunk_.length()) fetch_to_write(out + kAhead * to_row, o_.P);
      for (int64_t p = 0; p < o_.P; ++p) input[p] = dt * x[p];
      if (o_.a.D_per_channel)
        for (int64_t p = 0; p < o_.P; ++p) out[p] = D[p] * x[p];
      else
        for (int64_t p = 0; p < o_.P; ++p) out[p] = *D * x[p];
    }
  }

  const Layout<T>& o_;
  HeadChunk<T> chunk_;
  T *weights_, *input_, *out_, *scaled_;
};

// ---- Backward

// What the heads of a block add to the gradients of a chunk's C B^T [Q, Q], B and C [Q, N]; of the last two without what
// comes through C B^T.
template <class T>
struct Share {
  T *d_product, *d_B, *d_C;

  static int64_t memory_size(const Layout<T>& o) { return o.Q * o.Q + 2 * o.Q * o.N; }
  Share(const Layout<T>& o, T* memory) : d_product(memory), d_B(memory + o.Q * o.Q), d_C(d_B + o.Q * o.N) {}
};

template <class T>
class BackwardHead {
 public:
  static int64_t memory_size(const Layout<T>& o) {
    return HeadChunk<T>::memory_size(o) + 3 * o.Q * o.Q + 4 * o.Q * o.P + o.Q * o.N + 6 * o.Q + kWave * (o.P + o.Q) * o.N;
  }

  BackwardHead(const Layout<T>& layout, T* memory)
      : o_(layout), chunk_(layout, memory), free_(memory + HeadChunk<T>::memory_size(layout)) {
    const int64_t Q = o_.Q, P = o_.P, N = o_.N;
    decays_ = take(Q * Q), weights_ = take(Q * Q), d_weights_ = take(Q * Q);
    x_ = take(Q * P), d_x_ = take(Q * P), d_y_ = take(Q * P), rows_ = take(Q * P);
    scaled_ = take(Q * N);
    below_ = take(Q), d_decay_ = take(Q), at_end_ = take(Q), before_ = take(Q), through_x_ = take(Q), factors_ = take(Q);
    states_ = take(kWave * P * N), columns_ = take(kWave * N * Q);
  }

  struct Wave {
    const Segment& segment;
    int64_t first, last;  // chunks
  };

  // B^T of the wave's chunks.
  void begin(const Wave& wave, int64_t group) {
    for (int64_t c = wave.first; c < wave.last; ++c) {
      const Chunk chunk = o_.chunk(wave.segment, c);
      transpose(chunk.length, o_.N, o_.B(chunk.at, group), o_.a.stride, columns_of(c - wave.first), o_.Q);
    }
  }

  // The states before each chunk of the wave, [P, N]: the first from kept, or the initial one.
  void make_states(const Wave& wave, int64_t head, const T* kept) {
    const int64_t P = o_.P, N = o_.N;
    has_state_ = true;
    if (wave.first > 0)
      transpose(N, P, kept + o_.kept(wave.segment, wave.first / kWave, head), P, states_, N);
    else if (o_.a.initial && wave.segment.is_first)
      std::copy_n(o_.a.initial + o_.state(wave.segment, head), P * N, states_);
    else
      has_state_ = false;
    for (int64_t c = wave.first; c + 1 < wave.last; ++c) {
      T *before = states_ + (c - wave.first) * P * N, *after = before + P * N;
      const bool from_nothing = c == wave.first && !has_state_;
      chunk_.begin(o_.chunk(wave.segment, c), head);
      chunk_.make_decays();
      chunk_.write_input(rows_);
      chunk_.write_scaled_B(scaled_);
      if (!from_nothing)
        for (int64_t i = 0; i < P * N; ++i) after[i] = chunk_.whole() * before[i];
      multiply<T>(P, N, chunk_.length(), {rows_, 1, P}, {scaled_, N}, {from_nothing ? nullptr : after, N}, {after, N});
    }
  }

  // One chunk, from the gradient d_h [P, N] of the state after it (where has_d_h) to that before it (where goes_on).
  void run(const Wave& wave, int64_t c, int64_t head, const T* product, const T* d_y, bool has_d_h, bool goes_on, T* d_h,
           const ScanGradient<T>& gradient, const Share<T>& share, bool share_is_new, T* d_A, T* d_D) {
    const int64_t Q = o_.Q, P = o_.P, N = o_.N;
    const bool has_h = c > wave.first || has_state_;
    const T* h = states_ + (c - wave.first) * P * N;
    chunk_.begin(o_.chunk(wave.segment, c), head);
    chunk_.make_decays();
    const int64_t L = chunk_.length();
    for (int64_t l = 0; l < L; ++l) {
      const T* from = d_y + (chunk_.at(l) * o_.H + head) * P;
      if (l + kAhead < L) fetch(from + kAhead * o_.H * P, P);
      fetch(chunk_.x(l), P);
      std::copy_n(from, P, d_y_ + l * P);
    }
    transpose(L, P, chunk_.x(0), o_.a.stride, x_, Q);
    chunk_.for_each_row([&](int64_t l, const T* decays, int64_t) {
      fetch_to_write(gradient.x + chunk_.at(l) * o_.a.stride + head * P, P);
      T *row = weights_ + l * Q, *decay = decays_ + l * Q;
      for (int64_t s = 0; s <= l; ++s) decay[s] = decays[s], row[s] = decays[s] * product[l * Q + s];
      for (int64_t s = l + 1; s < L; ++s) row[s] = T(0);
    });

    multiply<T>(L, L, {d_y_, P, 1}, {x_, Q}, {nullptr, 0}, {d_weights_, Q},
                [&](int64_t i, int64_t height, int64_t j, int64_t) { return Steps{0, j < i + height ? P : 0}; });
    pass_within(share.d_product, share_is_new);

    std::fill_n(at_end_, L, T(0));
    if (has_d_h) {
      multiply<T>(P, L, N, {d_h, N, 1}, {columns_of(c - wave.first), Q}, {nullptr, 0}, {d_x_, Q});
      for (int64_t p = 0; p < P; ++p) {
        T* d_x = d_x_ + p * Q;
        const T *x = x_ + p * Q, *R = chunk_.R();
        for (int64_t s = 0; s < L; ++s) d_x[s] *= R[s], at_end_[s] = std::fma(d_x[s], x[s], at_end_[s]);
      }
      for (int64_t s = 0; s < L; ++s) at_end_[s] *= chunk_.dt(s);
    }
    multiply<T>(P, L, {d_y_, 1, P}, {weights_, Q}, {has_d_h ? d_x_ : nullptr, Q}, {d_x_, Q},
                [&](int64_t, int64_t, int64_t j, int64_t) { return Steps{j, L}; });
    write_d_x(gradient, d_D);

    std::fill_n(before_, L, T(0));
    if (has_h) {
      multiply<T>(L, N, P, {d_y_, P, 1}, {h, N}, {nullptr, 0}, {scaled_, N});
      for (int64_t l = 0; l < L; ++l) {
        before_[l] = chunk_.E(l) * dot(scaled_ + l * N, chunk_.C(l), N);
        if (share_is_new) std::fill_n(share.d_C + l * N, N, T(0));
        scale_add(chunk_.E(l), scaled_ + l * N, share.d_C + l * N, N);
      }
    }
    if (has_d_h) {
      for (int64_t s = 0; s < L; ++s) factors_[s] = chunk_.R()[s] * chunk_.dt(s);
      for (int64_t p = 0; p < P; ++p)
        for (int64_t s = 0; s < L; ++s) x_[p * Q + s] *= factors_[s];
      multiply<T>(L, N, P, {x_, 1, Q}, {d_h, N}, {share_is_new ? nullptr : share.d_B, N}, {share.d_B, N});
    }
    const T across = has_h && has_d_h ? chunk_.whole() * dot(d_h, h, P * N) : T(0);
    write_d_dt(across, gradient, d_A);
    if (!goes_on) return;
    chunk_.write_scaled_C(scaled_);
    if (has_d_h) scale(chunk_.whole(), d_h, P * N);
    multiply<T>(P, N, L, {d_y_, 1, P}, {scaled_, N}, {has_d_h ? d_h : nullptr, N}, {d_h, N});
  }

 private:
  T* take(int64_t elements) {
    T* const taken = free_;
    free_ += elements;
    return taken;
  }
  T* columns_of(int64_t chunk_of_wave) const { return columns_ + chunk_of_wave * o_.N * o_.Q; }

  // d_product gets the gradient of C B^T, and d_decay[k] that of the exponent dt_k A through L: the sum of
  // d_L[l,s] L[l,s] over s < k <= l. Adding only those pairs keeps small sums beside large ones.
  void pass_within(T* d_product, bool is_new) {
    const int64_t L = chunk_.length(), Q = o_.Q;
    std::fill_n(below_, L, T(0));
    for (int64_t l = L - 1; l >= 0; --l) {
      T *d = d_weights_ + l * Q, *to = d_product + l * Q;
      const T *weights = weights_ + l * Q, *decays = decays_ + l * Q, *dt = chunk_.dt();
      if (is_new) std::fill_n(to, L, T(0));
      for (int64_t s = 0; s <= l; ++s) {
        const T d_s = d[s] * dt[s];
        below_[s] = std::fma(d_s, weights[s], below_[s]);
        to[s] = std::fma(d_s, decays[s], to[s]);
      }
      d_decay_[l] = sum_in_lanes<T>(l, [&](int64_t s) { return below_[s]; });
    }
  }

  // d_x_ [P, Q] is the gradient of dt x. Leaves its product with x in through_x_.
  void write_d_x(const ScanGradient<T>& gradient, T* d_D) {
    const int64_t L = chunk_.length(), Q = o_.Q, P = o_.P, head = chunk_.head();
    std::fill_n(through_x_, L, T(0));
    for (int64_t p = 0; p < P; ++p)
      for (int64_t s = 0; s < L; ++s) through_x_[s] = std::fma(d_x_[p * Q + s], x_[p * Q + s], through_x_[s]);
    transpose(P, L, d_x_, Q, rows_, P);
    const T* D = o_.D(head);
    for (int64_t l = 0; l < L; ++l) {
      const T *d_in = rows_ + l * P, *d = d_y_ + l * P, *x = chunk_.x(l), dt = chunk_.dt(l);
      T* d_x = gradient.x + chunk_.at(l) * o_.a.stride + head * P;
      if (o_.a.D_per_channel) {
        for (int64_t p = 0; p < P; ++p) d_x[p] = std::fma(dt, d_in[p], D[p] * d[p]);
        for (int64_t p = 0; p < P; ++p) d_D[p] = std::fma(d[p], x[p], d_D[p]);
      } else {
        for (int64_t p = 0; p < P; ++p) d_x[p] = std::fma(dt, d_in[p], *D * d[p]);
        *d_D += dot(d, x, P);
      }
    }
  }

  // Adds what passes through E (the state before), R (the state after) and e (from one to the other).
  void write_d_dt(T across, const ScanGradient<T>& gradient, T* d_A) {
    const T A = o_.a.A[chunk_.head()];
    T suffix = T(0), prefix = T(0);
    for (int64_t l = chunk_.length() - 1; l >= 0; --l) d_decay_[l] += suffix += before_[l];
    for (int64_t l = 0; l < chunk_.length(); ++l) {
      d_decay_[l] += prefix + across, prefix += at_end_[l];
      gradient.dt[chunk_.at(l) * o_.H + chunk_.head()] = std::fma(d_decay_[l], A, through_x_[l]);
      *d_A = std::fma(d_decay_[l], chunk_.dt(l), *d_A);
    }
  }

  const Layout<T>& o_;
  HeadChunk<T> chunk_;
  bool has_state_ = false;
  T* free_;
  T *decays_, *weights_, *d_weights_, *x_, *d_x_, *d_y_, *rows_, *scaled_;
  T *below_, *d_decay_, *at_end_, *before_, *through_x_, *factors_, *states_, *columns_;
};

// Heads of one group, at most kHeadBlock.
struct HeadBlocks {
  int64_t heads_per_group, per_group;

  explicit HeadBlocks(int64_t heads_per_group)
      : heads_per_group(heads_per_group), per_group(ceil_div(heads_per_group, kHeadBlock)) {}
  int64_t group(int64_t block) const { return block / per_group; }
  int64_t begin(int64_t block) const { return group(block) * heads_per_group + block % per_group * kHeadBlock; }
  int64_t end(int64_t block) const { return std::min(begin(block) + kHeadBlock, (group(block) + 1) * heads_per_group); }
};

// The backward pass of some segments.
template <class T>
class Backward {
 public:
  Backward(const Layout<T>& layout, const T* kept, const T* d_y, const T* d_final, const ScanGradient<T>& gradient)
      : o_(layout), blocks_(o_.heads_per_group), kept_(kept), d_y_(d_y), d_final_(d_final), gradient_(gradient) {}

  int64_t blocks() const { return o_.a.groups * blocks_.per_group; }
  int64_t memory_size(Executor& executor, int64_t segments) const {
    const int64_t workers = executor.thread_count();
    return GroupProducts<T>::memory_size(o_, segments) + segments * o_.H * o_.P * o_.N +
           segments * blocks() * kWave * Share<T>::memory_size(o_) +
           workers * std::max(BackwardHead<T>::memory_size(o_), o_.N * o_.Q);
  }

  // d_A [segments, heads] and d_D [segments, D's size], of all segments.
  void run(Executor& executor, int64_t first, int64_t last, T* memory, T* d_A, T* d_D) {
    GroupProducts<T> products(o_, first, last, memory);
    T* const states = memory + GroupProducts<T>::memory_size(o_, last - first);
    T* const shares = states + (last - first) * o_.H * o_.P * o_.N;
    T* const work = shares + (last - first) * blocks() * kWave * Share<T>::memory_size(o_);
    const auto share_of = [&](int64_t segment, int64_t block, int64_t c) {
      return Share<T>(o_, shares + (((segment - first) * blocks() + block) * kWave + c) * Share<T>::memory_size(o_));
    };
    for (int64_t w = o_.waves() - 1; w >= 0; --w) {
      products.fill(executor, w, work);
      for_each_task(executor, (last - first) * blocks(), [&](int64_t task, int64_t worker) {
        const int64_t s = first + task / blocks(), block = task % blocks();
        const Segment& segment = o_.segments[s];
        const int64_t chunks = o_.chunks(segment);
        const typename BackwardHead<T>::Wave wave{segment, w * kWave, std::min((w + 1) * kWave, chunks)};
        if (wave.first >= wave.last) return;
        BackwardHead<T> work_of_head(o_, work + worker * BackwardHead<T>::memory_size(o_));
        work_of_head.begin(wave, blocks_.group(block));
        for (int64_t head = blocks_.begin(block); head < blocks_.end(block); ++head) {
          const int64_t d_D_size = o_.a.D_per_channel ? o_.P : 1;
          T* d_h = states + ((s - first) * o_.H + head) * o_.P * o_.N;
          const bool given = d_final_ && segment.is_last, asked = gradient_.initial && segment.is_first;
          if (wave.last == chunks && given) std::copy_n(d_final_ + o_.state(segment, head), o_.P * o_.N, d_h);
          work_of_head.make_states(wave, head, kept_);
          for (int64_t c = wave.last - 1; c >= wave.first; --c)
            work_of_head.run(wave, c, head, products.of(s, blocks_.group(block), c - wave.first), d_y_, given || c + 1 < chunks,
                             c > 0 || asked, d_h, gradient_, share_of(s, block, c - wave.first), head == blocks_.begin(block),
                             d_A + s * o_.H + head, d_D + (s * o_.H + head) * d_D_size);
          if (wave.first == 0 && asked) std::copy_n(d_h, o_.P * o_.N, gradient_.initial + o_.state(segment, head));
        }
      });
      executor.parallel_for((last - first) * o_.a.groups * kWave, 1, [&](int64_t task, int64_t) {
        const int64_t s = first + task / kWave / o_.a.groups, group = task / kWave % o_.a.groups;
        if (w * kWave + task % kWave < o_.chunks(o_.segments[s]))
          add_shares(o_.segments[s], w * kWave + task % kWave, group,
                     [&](int64_t block) { return share_of(s, group * blocks_.per_group + block, task % kWave); });
      });
    }
  }

 private:
  // The gradients of a chunk's B and C from the shares of the group's blocks.
  template <class ShareOf>
  void add_shares(const Segment& segment, int64_t c, int64_t group, ShareOf share_of) {
    const int64_t Q = o_.Q, N = o_.N;
    const Chunk chunk = o_.chunk(segment, c);
    const bool has_d_C = c > 0 || (o_.a.initial && segment.is_first);
    const bool has_d_B = c + 1 < o_.chunks(segment) || (d_final_ && segment.is_last);
    const Share<T> sum = share_of(0);
    for (int64_t block = 1; block < blocks_.per_group; ++block) {
      const Share<T> share = share_of(block);
      for (int64_t l = 0; l < chunk.length; ++l)
        for (int64_t s = 0; s < chunk.length; ++s) sum.d_product[l * Q + s] += share.d_product[l * Q + s];
      for (int64_t i = 0; has_d_B && i < chunk.length * N; ++i) sum.d_B[i] += share.d_B[i];
      for (int64_t i = 0; has_d_C && i < chunk.length * N; ++i) sum.d_C[i] += share.d_C[i];
    }
    T *d_B = gradient_.B + chunk.at * o_.a.stride + group * N, *d_C = gradient_.C + chunk.at * o_.a.stride + group * N;
    multiply<T>(chunk.length, N, {sum.d_product, Q, 1}, {o_.B(chunk.at, group), o_.a.stride},
                {has_d_C ? sum.d_C : nullptr, N}, {d_C, o_.a.stride},
                [](int64_t i, int64_t height, int64_t, int64_t) { return Steps{0, i + height}; });
    multiply<T>(chunk.length, N, {sum.d_product, 1, Q}, {o_.C(chunk.at, group), o_.a.stride},
                {has_d_B ? sum.d_B : nullptr, N}, {d_B, o_.a.stride},
                [&](int64_t i, int64_t, int64_t, int64_t) { return Steps{i, chunk.length}; });
  }

  const Layout<T>& o_;
  const HeadBlocks blocks_;
  const T *kept_, *d_y_, *d_final_;
  const ScanGradient<T>& gradient_;
};

// How many segments are worked off together, each of which gives so many tasks: enough for all threads.
template <class T>
int64_t segments_at_once(const Layout<T>& o, int64_t tasks_each, int64_t threads) {
  return std::max<int64_t>(1, std::min(o.segments.count(), std::max(kSegments, ceil_div(4 * threads, tasks_each))));
}

}  // namespace

template <class T>
int64_t scan_kept(const Segments& segments, const Scan<T>& a) {
  return Layout<T>(segments, a).kept_size();
}

template <class T>
void scan_forward(Executor& executor, const Segments& segments, const Scan<T>& a, T* y, T* final_state, T* kept,
                  Scratch<T>& scratch) {
  const Layout<T> o(segments, a);
  const int64_t H = o.H, PN = o.P * o.N, threads = executor.thread_count(), at_once = segments_at_once(o, H, threads);
  const int64_t products_size = GroupProducts<T>::memory_size(o, at_once);
  const int64_t work_size = std::max(ForwardHead<T>::memory_size(o), o.N * o.Q);
  const bool one_wave = o.waves() == 1;
  T* const product_memory = scratch.reserve(products_size + threads * work_size + (one_wave ? threads : at_once * H) * PN);
  T *const work = product_memory + products_size, *const states = work + threads * work_size;
  const auto run_wave = [&](int64_t first_segment, int64_t last_segment, int64_t w) {
    GroupProducts<T> products(o, first_segment, last_segment, product_memory);
    if (!prefers_recurrence(o)) products.fill(executor, w, work);
    for_each_task(executor, (last_segment - first_segment) * H, [&](int64_t task, int64_t worker) {
      const int64_t s = first_segment + task / H, head = task % H;
      const Segment& segment = segments[s];
      const int64_t chunks = o.chunks(segment), last = std::min((w + 1) * kWave, chunks);
      if (w * kWave >= last) return;
      T* h = states + (one_wave ? worker : task) * PN;
      const bool given = a.initial && segment.is_first, wanted = final_state && segment.is_last;
      if (w == 0 && given) transpose(o.P, o.N, a.initial + o.state(segment, head), o.N, h, o.P);
      if (w > 0 && kept) std::copy_n(h, PN, kept + o.kept(segment, w, head));
      ForwardHead<T> forward(o, work + worker * work_size);
      for (int64_t c = w * kWave; c < last; ++c)
        forward.run(o.chunk(segment, c), head, products.of(s, head / o.heads_per_group, c - w * kWave), given || c > 0,
                    wanted || c + 1 < chunks, h, y);
      if (wanted && last == chunks) transpose(o.N, o.P, h, o.P, final_state + o.state(segment, head), o.N);
    });
  };
  for (int64_t first = 0; first < segments.count(); first += at_once)
    for (int64_t w = 0; w < o.waves(); ++w) run_wave(first, std::min(first + at_once, segments.count()), w);
}

template <class T>
void scan_backward(Executor& executor, const Segments& segments, const Scan<T>& a, const T* kept, const T* d_y,
                   const T* d_final, const ScanGradient<T>& gradient, Scratch<T>& scratch) {
  const Layout<T> o(segments, a);
  Backward<T> backward(o, kept, d_y, d_final, gradient);
  const int64_t H = o.H, D_size = a.D_per_channel ? o.P : 1, tasks = segments.count() * H;
  const int64_t at_once = segments_at_once(o, backward.blocks(), executor.thread_count());
  T* const d_A = scratch.reserve(tasks * (1 + D_size) + backward.memory_size(executor, at_once));
  T *const d_D = d_A + tasks, *const memory = d_D + tasks * D_size;
  std::fill_n(d_A, tasks * (1 + D_size), T(0));
  if (gradient.initial) std::fill_n(gradient.initial, segments.rows() * H * o.P * o.N, T(0));
  for (int64_t first = 0; first < segments.count(); first += at_once)
    backward.run(executor, first, std::min(first + at_once, segments.count()), memory, d_A, d_D);
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
    const T dt = a.dt[row * a.heads + head], decay = fast_exp(dt * a.A[head]);
    for (int64_t p = 0; p < P; ++p) {
      T* state = h + (task * P + p) * N;
      const T input = dt * x[p];
      for (int64_t n = 0; n < N; ++n) state[n] = std::fma(input, B[n], decay * state[n]);
      y[task * P + p] = std::fma(a.D[a.D_per_channel ? head * P + p : head], x[p], dot(C, state, N));
    }
  });
}

#define TUTTI_INSTANTIATE(T)                                                                                              \
  template int64_t scan_kept(const Segments&, const Scan<T>&);                                                            \
  template void scan_forward(Executor&, const Segments&, const Scan<T>&, T*, T*, T*, Scratch<T>&);                        \
  template void scan_backward(Executor&, const Segments&, const Scan<T>&, const T*, const T*, const T*, const ScanGradient<T>&, \
                              Scratch<T>&);                                                                               \
  template void scan_step(Executor&, int64_t, const Scan<T>&, T*, T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::TUTTI_KERNELS
