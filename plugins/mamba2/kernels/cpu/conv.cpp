#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <type_traits>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/elementwise.h"
#include "plugins/mamba2/kernels/cpu/fetch.h"

namespace tutti::mamba2::TUTTI_KERNELS {
namespace {

constexpr int64_t kBlock = 128;   // channels handled together, and in the backward pass a task for the threads
constexpr int64_t kSteps = 32;    // a task of the forward pass
constexpr int64_t kAhead = 3;     // steps that are fetched early: down a column, the processor does not guess
constexpr int64_t kMaxWidth = 8;  // of the convolution

// Some channels of the convolution of one segment, with the taps lying by tap, then channel.
template <class T>
class ConvBlock {
 public:
  ConvBlock(const Conv<T>& conv, int64_t block)
      : conv_(conv), first_(block * kBlock), count_(std::min(kBlock, conv.channels - first_)) {
    assert(conv.width <= kMaxWidth);
    for (int64_t c = 0; c < count_; ++c) {
      bias_[c] = conv.bias ? conv.bias[first_ + c] : T(0);
      for (int64_t k = 0; k < conv.width; ++k) taps_[k][c] = conv.weight[(first_ + c) * conv.width + k];
    }
  }

  int64_t first() const { return first_; }

  // Calls body(count) with the number of channels, which for all blocks but the last is known to the compiler.
  template <class Body>
  void with_count(Body body) const {
    if (count_ == kBlock)
      body(std::integral_constant<int64_t, kBlock>{});
    else
      body(count_);
  }

  const T* tap(int64_t k) const { return taps_[k].data(); }

  // The inputs of step t of the segment, counted from its begin; before it lie the initial state or zeros.
  const T* input(const Segments& segments, const Segment& segment, int64_t t) const {
    if (t >= 0) return conv_.x + (segment.row * segments.steps() + segment.begin + t) * conv_.x_stride + first_;
    if (!segment.is_first || !conv_.initial) return zeros_.data();
    return conv_.initial + (segment.row * (conv_.width - 1) + conv_.width - 1 + t) * conv_.channels + first_;
  }

  // The convolution at step t before its silu.
  template <class Count>
  std::array<T, kBlock> sum(const Segments& segments, const Segment& segment, int64_t t, Count count) const {
    if (conv_.width == 4) return sum_of_four(segments, segment, t, count);
    std::array<T, kBlock> result = bias_;
    for (int64_t k = 0; k < conv_.width; ++k) {
      const T *x = input(segments, segment, t - (conv_.width - 1) + k), *weight = tap(k);
      for (int64_t c = 0; c < count; ++c) result[c] += weight[c] * x[c];
    }
    return result;
  }

 private:
  // The usual width, in one pass.
  template <class Count>
  std::array<T, kBlock> sum_of_four(const Segments& segments, const Segment& segment, int64_t t, Count count) const {
    const T *x0 = input(segments, segment, t - 3), *x1 = input(segments, segment, t - 2);
    const T *x2 = input(segments, segment, t - 1), *x3 = input(segments, segment, t);
    const T *w0 = tap(0), *w1 = tap(1), *w2 = tap(2), *w3 = tap(3);
    std::array<T, kBlock> result;
    for (int64_t c = 0; c < count; ++c)
      result[c] = std::fma(w3[c], x3[c], std::fma(w2[c], x2[c], std::fma(w1[c], x1[c], std::fma(w0[c], x0[c], bias_[c]))));
    return result;
  }

  const Conv<T>& conv_;
  int64_t first_, count_;
  std::array<T, kBlock> bias_{}, zeros_{};
  std::array<std::array<T, kBlock>, kMaxWidth> taps_{};
};

int64_t count_blocks(int64_t channels) { return (channels + kBlock - 1) / kBlock; }

}  // namespace

// Each task owns some steps.
template <class T>
void conv_forward(Executor& executor, const Segments& segments, const Conv<T>& conv, T* y, T* final_state) {
  const int64_t blocks = count_blocks(conv.channels), history = conv.width - 1;
  const int64_t pieces = (segments.longest() + kSteps - 1) / kSteps;
  executor.parallel_for(segments.count() * pieces, 1, [&](int64_t task, int64_t) {
    const Segment& segment = segments[task / pieces];
    const int64_t first = task % pieces * kSteps, last = std::min(first + kSteps, segment.length());
    if (first >= last) return;
    for (int64_t index = 0; index < blocks; ++index) {
      const ConvBlock<T> block(conv, index);
      block.with_count([&](auto count) {
        for (int64_t t = first; t < last; ++t) {
          if (t + kAhead < last) fetch(block.input(segments, segment, t + kAhead), int64_t(count));
          const std::array<T, kBlock> sum = block.sum(segments, segment, t, count);
          T* out = y + (segment.row * segments.steps() + segment.begin + t) * conv.channels + block.first();
          for (int64_t c = 0; c < count; ++c) out[c] = fast_silu(sum[c]);
        }
      });
    }
  });
  if (!final_state) return;
  executor.parallel_for(segments.count(), 1, [&](int64_t s, int64_t) {
    const Segment& segment = segments[s];
    for (int64_t block = 0; segment.is_last && block < blocks; ++block) {
      const ConvBlock<T> channels(conv, block);
      for (int64_t j = 0; j < history; ++j)  // upwards, so that the state may be replaced in place
        channels.with_count([&](auto count) {
          std::copy_n(channels.input(segments, segment, segment.length() - history + j), int64_t(count),
                      final_state + (segment.row * history + j) * conv.channels + channels.first());
        });
    }
  });
}

// Each task owns its channels, so that sums over segments and steps have one order.
template <class T>
void conv_backward(Executor& executor, const Segments& segments, const Conv<T>& conv, const T* d_y, const T* d_final,
                   const ConvGradient<T>& gradient) {
  const int64_t history = conv.width - 1;
  if (gradient.initial) std::fill_n(gradient.initial, segments.rows() * history * conv.channels, T(0));
  executor.parallel_for(count_blocks(conv.channels), 1, [&](int64_t task, int64_t) {
    const ConvBlock<T> block(conv, task);
    block.with_count([&](auto count) {
      std::array<T, kBlock> d_bias{}, unused{};
      std::array<std::array<T, kBlock>, kMaxWidth> d_taps{};
      for (int64_t s = 0; s < segments.count(); ++s) {
        const Segment& segment = segments[s];
        const int64_t length = segment.length();
        const auto d_input = [&](int64_t t) {
          if (t >= 0) return gradient.x + (segment.row * segments.steps() + segment.begin + t) * conv.x_stride + block.first();
          if (!segment.is_first || !gradient.initial) return unused.data();
          return gradient.initial + (segment.row * history + history + t) * conv.channels + block.first();
        };
        for (int64_t t = 0; t < length; ++t) {
          if (t + kAhead < length) {
            const int64_t ahead = segment.row * segments.steps() + segment.begin + t + kAhead;
            fetch(conv.x + ahead * conv.x_stride + block.first(), int64_t(count));
            fetch(gradient.x + ahead * conv.x_stride + block.first(), int64_t(count));
            fetch(d_y + ahead * conv.channels + block.first(), int64_t(count));
          }
          std::array<T, kBlock> d_sum = block.sum(segments, segment, t, count);
          const T* d = d_y + (segment.row * segments.steps() + segment.begin + t) * conv.channels + block.first();
          for (int64_t c = 0; c < count; ++c) d_sum[c] = d[c] * silu_slope(d_sum[c], fast_sigmoid(d_sum[c]));
          for (int64_t c = 0; c < count; ++c) d_bias[c] += d_sum[c];
          std::fill_n(d_input(t), int64_t(count), T(0));
          for (int64_t k = 0; k < conv.width; ++k) {
            const T *x = block.input(segments, segment, t - history + k), *weight = block.tap(k);
            T *d_x = d_input(t - history + k), *d_tap = d_taps[k].data();
            for (int64_t c = 0; c < count; ++c) d_tap[c] += d_sum[c] * x[c];
            for (int64_t c = 0; c < count; ++c) d_x[c] += d_sum[c] * weight[c];
          }
        }
        if (d_final && segment.is_last)
          for (int64_t j = 0; j < history; ++j) {
            const T* d = d_final + (segment.row * history + j) * conv.channels + block.first();
            T* d_x = d_input(length - history + j);
            for (int64_t c = 0; c < count; ++c) d_x[c] += d[c];
          }
      }
      for (int64_t c = 0; c < count; ++c) {
        if (gradient.bias) gradient.bias[block.first() + c] += d_bias[c];
        for (int64_t k = 0; k < conv.width; ++k) gradient.weight[(block.first() + c) * conv.width + k] += d_taps[k][c];
      }
    });
  });
}

#define TUTTI_INSTANTIATE(T)                                                      \
  template void conv_forward(Executor&, const Segments&, const Conv<T>&, T*, T*); \
  template void conv_backward(Executor&, const Segments&, const Conv<T>&, const T*, const T*, const ConvGradient<T>&)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::TUTTI_KERNELS
