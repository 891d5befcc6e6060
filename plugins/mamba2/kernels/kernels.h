// The operations that a Mamba-2 block is made of, as a table that each backend fills. Equations are those of Dao and
// Gu, "Transformers are SSMs", arXiv 2405.21060. C++17, so that a CUDA source can include it.
//
// Everywhere: T is float or double, and all arithmetic is in T. Arrays are [rows, steps, …] with the last axis dense;
// a stride says how many elements lie from one step to the next where an operand is a slice of wider columns, and
// rows follow each other after steps * stride elements. Only steps inside a segment are read or written. Names that
// begin with d_ are gradients of the loss: those of parameters are added to, all others are overwritten. An operation
// gives the same bits at any number of threads, and a segment's values don't depend on the other segments; sums over
// segments run in their order. Rows without a segment keep their final state as it was. scratch is memory for the length
// of the call.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/mamba2/segments.h"
#include "shared/parallel/executor.h"

namespace tutti::mamba2 {

// Memory that is kept from call to call and only grows, aligned to 64 bytes. What reserve gave is invalid after the next
// reserve.
template <class T>
class Scratch {
 public:
  T* reserve(int64_t elements);
  int64_t size() const { return size_; }

 private:
  std::vector<T> memory_;
  int64_t size_ = 0;
};

// A linear layer y = x W^T + b. Weights lie [outputs, inputs] as in PyTorch.
template <class T>
struct Linear {
  int64_t inputs, outputs;
  const T* weight;  // [outputs, inputs]
  const T* bias;    // [outputs], or null
};

// y[t,c] = silu(bias[c] + sum_k weight[c,k] x[t-(width-1)+k, c]); before the first step lies the initial state.
template <class T>
struct Conv {
  int64_t channels, width;  // width up to 8
  const T* x;  // [rows, steps, channels]
  int64_t x_stride;
  const T* weight;   // [channels, width]; tap width-1 meets the current step
  const T* bias;     // [channels], or null
  const T* initial;  // [rows, width-1, channels], the inputs before the first step, oldest first; null: zeros
};
template <class T>
struct ConvGradient {
  T* x;        // [rows, steps, channels], stride x_stride
  T* weight;   // [channels, width]
  T* bias;     // [channels], or null
  T* initial;  // [rows, width-1, channels], or null
};

// dt[t,h] = min(max(softplus(raw[t,h] + bias[h]), lower), upper), softplus(v) = max(v,0) + log1p(exp(-|v|)).
template <class T>
struct TimeStep {
  int64_t heads;
  const T* raw;  // [rows, steps, heads]
  int64_t raw_stride;
  const T* bias;  // [heads]
  T lower, upper;
};

// RMS normalisation per group of features, and a gate (section 7):
//   z null:              out = y * rstd * weight,                 rstd = 1 / sqrt(mean(y^2) + epsilon) per group
//   gate before norm:    out = v * rstd * weight, v = y*silu(z),  rstd = 1 / sqrt(mean(v^2) + epsilon)
//   norm_before_gate:    out = y * rstd * weight * silu(z)
//   weight null:         out = y * silu(z)
template <class T>
struct Norm {
  int64_t features, groups;
  const T* y;  // [rows, steps, features], dense
  const T* z;  // [rows, steps, features], or null
  int64_t z_stride;
  const T* weight;  // [features], or null
  bool norm_before_gate;
  T epsilon;
};
template <class T>
struct NormGradient {
  T* y;       // [rows, steps, features], dense
  T* z;       // stride z_stride, or null with Norm::z
  T* weight;  // [features], or null with Norm::weight
};

// The selective state space, one scalar decay a head (equation 1 with A_t = exp(dt_t A) I):
//   h_t[p,n] = exp(dt_t A) h_{t-1}[p,n] + dt_t x_t[p] B_t[n]
//   y_t[p]   = sum_n C_t[n] h_t[p,n] + D x_t[p]
// for each head, which uses the B and C of group head / (heads / groups).
template <class T>
struct Scan {
  int64_t heads, headdim, groups, state;  // P is headdim, N is state
  int64_t chunk;                          // steps computed at once; the recurrences don't look at it
  const T* x;                             // [rows, steps, heads, headdim]
  const T* B;                             // [rows, steps, groups, state]
  const T* C;                             // [rows, steps, groups, state]
  int64_t stride;                         // of x, B and C
  const T* dt;                            // [rows, steps, heads], dense, not negative
  const T* A;                             // [heads], negative
  const T* D;                             // [heads], or [heads, headdim]
  bool D_per_channel;
  const T* initial;  // [rows, heads, headdim, state], or null: zeros
};
template <class T>
struct ScanGradient {
  T *x, *B, *C;  // stride Scan::stride
  T* dt;         // [rows, steps, heads]
  T* A;          // [heads]
  T* D;          // like Scan::D
  T* initial;    // [rows, heads, headdim, state], or null
};

template <class T>
struct Kernels {
  const char* name;

  // x [rows, steps, inputs] with x_stride, y [rows, steps, outputs] with y_stride. Each output is one chain of fused
  // multiply-adds in the order of the inputs, begun from the bias.
  void (*linear_forward)(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* x, int64_t x_stride,
                         T* y, int64_t y_stride, Scratch<T>& scratch);
  void (*linear_backward_input)(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* d_y,
                                int64_t y_stride, T* d_x, int64_t x_stride, Scratch<T>& scratch);
  // d_weight [outputs, inputs]; d_bias [outputs], or null.
  void (*linear_backward_weight)(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* x,
                                 int64_t x_stride, const T* d_y, int64_t y_stride, T* d_weight, T* d_bias, Scratch<T>& scratch);

  // y [rows, steps, channels], dense. final_state [rows, width-1, channels], or null; may be the initial one.
  void (*conv_forward)(Executor& executor, const Segments& segments, const Conv<T>& conv, T* y, T* final_state);
  // d_y [rows, steps, channels], dense; d_final like the final state, or null.
  void (*conv_backward)(Executor& executor, const Segments& segments, const Conv<T>& conv, const T* d_y, const T* d_final,
                        const ConvGradient<T>& gradient);

  // dt [rows, steps, heads], dense.
  void (*time_step_forward)(Executor& executor, const Segments& segments, const TimeStep<T>& time_step, T* dt);
  // d_dt like dt; d_raw has raw_stride; d_bias [heads]. A clamped value passes no gradient.
  void (*time_step_backward)(Executor& executor, const Segments& segments, const TimeStep<T>& time_step, const T* d_dt, T* d_raw,
                             T* d_bias);

  // out [rows, steps, features] with out_stride; rstd [rows, steps, groups], unused where weight is null.
  void (*norm_forward)(Executor& executor, const Segments& segments, const Norm<T>& norm, T* out, int64_t out_stride, T* rstd);
  // rstd as the forward left it.
  void (*norm_backward)(Executor& executor, const Segments& segments, const Norm<T>& norm, const T* rstd, const T* d_out,
                        int64_t out_stride, const NormGradient<T>& gradient, Scratch<T>& scratch);

  // How many numbers the forward scan keeps for the backward one: states at a few places, where it begins again.
  int64_t (*scan_kept)(const Segments& segments, const Scan<T>& scan);
  // y [rows, steps, heads, headdim], dense. final_state [rows, heads, headdim, state], or null; not the initial one.
  // kept [scan_kept], or null where no backward pass follows.
  void (*scan_forward)(Executor& executor, const Segments& segments, const Scan<T>& scan, T* y, T* final_state, T* kept,
                       Scratch<T>& scratch);
  // d_y like y; d_final like the final state, or null; kept as the forward left it. All other states are computed again.
  void (*scan_backward)(Executor& executor, const Segments& segments, const Scan<T>& scan, const T* kept, const T* d_y,
                        const T* d_final, const ScanGradient<T>& gradient, Scratch<T>& scratch);
  // One step of every row: steps is 1, initial is ignored, h [rows, heads, headdim, state] is read and updated.
  void (*scan_step)(Executor& executor, int64_t rows, const Scan<T>& scan, T* h, T* y);
};

// The tables that run on this machine, from the slowest to the fastest: "reference" (plain loops on one thread), then those
// of instruction sets, which differ in speed and in no bit.
std::vector<const char*> kernel_names();

// The table of that name; "auto" is the fastest. Null for a name that isn't among kernel_names.
template <class T>
const Kernels<T>* find_kernels(const char* name);

}  // namespace tutti::mamba2
