// One Mamba-2 block (Dao and Gu, arXiv 2405.21060, section 7; layout of the reference implementation):
//
//   [z0, x0, z, xBC, dt] = x in_proj^T            widths [d_mlp, d_mlp, d_ssm, d_ssm + 2 G N, H]
//   xBC = silu(causal_conv(xBC)),  dt = clamp(softplus(dt + dt_bias)),  A = -exp(A_log)
//   y   = norm(scan(x, dt, A, B, C, D), z)
//   out = [silu(z0) x0, y] out_proj^T
//
// T is float or double. Activations are [rows, steps, d_model]. Only steps inside segments are read; outputs are zero
// outside. The same bits at any number of threads; a segment's output doesn't depend on other segments.
#pragma once

#include <vector>

#include "plugins/mamba2/kernels/kernels.h"
#include "plugins/mamba2/state.h"
#include "shared/parallel/executor.h"
#include "shared/tensor/view.h"

namespace tutti::mamba2 {

struct BlockShape {
  int64_t d_model = 64;
  int64_t d_inner = 128;
  int64_t d_ssm = 128;   // at most d_inner; the rest, d_mlp wide, is a gated linear unit beside the scan
  int64_t headdim = 64;  // P; divides d_ssm
  int64_t ngroups = 1;   // G; divides the number of heads
  int64_t d_state = 16;  // N
  int64_t d_conv = 4;    // K
  int64_t chunk = 64;    // steps of a chunk of the scan
  bool bias = false;     // of in_proj and out_proj
  bool conv_bias = true;
  bool rmsnorm = true;
  bool grouped_norm = true;  // the gated norm's mean square is that of each group's channels, else of all d_ssm
  bool norm_before_gate = false;
  bool d_has_hdim = false;  // D per channel
  double dt_limit_min = 0;
  double dt_limit_max = 1e300;
  double epsilon = 1e-5;  // of the norm

  int64_t heads() const { return d_ssm / headdim; }
  int64_t d_mlp() const { return d_inner - d_ssm; }
  int64_t norm_groups() const { return grouped_norm ? ngroups : 1; }
  int64_t conv_channels() const { return d_ssm + 2 * ngroups * d_state; }
  int64_t in_proj_width() const { return 2 * d_mlp() + d_ssm + conv_channels() + heads(); }
};

// The parameters, or their gradients, borrowed. Null where the shape has none.
template <class T>
struct BlockParameters {
  T* in_proj_weight = nullptr;   // [in_proj_width, d_model]
  T* in_proj_bias = nullptr;     // [in_proj_width]
  T* conv_weight = nullptr;      // [conv_channels, d_conv]
  T* conv_bias = nullptr;        // [conv_channels]
  T* dt_bias = nullptr;          // [heads]
  T* A_log = nullptr;            // [heads]
  T* D = nullptr;                // [heads], or [d_ssm] with d_has_hdim
  T* norm_weight = nullptr;      // [d_ssm]
  T* out_proj_weight = nullptr;  // [d_model, d_inner]
  T* out_proj_bias = nullptr;    // [d_model]

  operator BlockParameters<const T>() const {
    return {in_proj_weight, in_proj_bias, conv_weight, conv_bias, dt_bias, A_log, D, norm_weight, out_proj_weight, out_proj_bias};
  }
};

// What forward leaves for backward. Reused from call to call; grows to the largest batch.
template <class T>
struct BlockTape {
  std::vector<T> x;                          // [rows, steps, d_model]
  std::vector<T> projected;                  // [rows, steps, in_proj_width]
  std::vector<T> conv;                       // [rows, steps, conv_channels]
  std::vector<T> dt;                         // [rows, steps, heads]
  std::vector<T> y;                          // [rows, steps, d_ssm], of the scan
  std::vector<T> rstd;                       // [rows, steps, norm_groups]
  std::vector<T> mixed;                      // [rows, steps, d_inner], what out_proj sees
  std::vector<T> states;                     // of the scan at a few places, as its kernels keep them
  std::vector<T> initial_conv, initial_ssm;  // copies of the initial state; empty: zeros
};

// Memory of a call for one of its threads.
template <class T>
struct OneThread {
  Segments segment = Segments::whole(0, 0);
  Scratch<T> scratch;
};

// Memory of a call, shared by blocks of one shape.
template <class T>
struct BlockWorkspace {
  std::vector<T> d_out, d_mixed, d_projected, d_conv, d_dt, d_y, A, d_A, written;
  Scratch<T> scratch;
  Segments one_step = Segments::whole(0, 0);
  std::vector<OneThread<T>> of_threads;
};

template <class T>
class Block {
 public:
  // kernels is one of find_kernels' tables.
  Block(const BlockShape& shape, const Kernels<T>& kernels) : shape_(shape), kernels_(kernels) {}

  const BlockShape& shape() const { return shape_; }

  // y and the final state from x and the initial one. x and y may have any strides; x may be y, or lie in tape.x, which spares a
  // copy.
  void forward(Executor& executor, const Segments& segments, const BlockParameters<const T>& parameters, View<const T, 3> x,
               BlockState<const T> initial, View<T, 3> y, BlockState<T> final_state, BlockTape<T>& tape,
               BlockWorkspace<T>& workspace) const;

  // From the gradients of y and of the final state to those of x, the initial state and the parameters; the last are
  // added to gradient. tape is what forward left for the same segments.
  void backward(Executor& executor, const Segments& segments, const BlockParameters<const T>& parameters,
                const BlockTape<T>& tape, View<const T, 3> d_y, BlockState<const T> d_final, View<T, 3> d_x,
                BlockState<T> d_initial, const BlockParameters<T>& gradient, BlockWorkspace<T>& workspace) const;

  // One step of each row: x and y [rows, d_model], dense; state is read and updated. As forward, but for rounding.
  void step(Executor& executor, int64_t rows, const BlockParameters<const T>& parameters, const T* x, BlockState<T> state, T* y,
            BlockTape<T>& tape, BlockWorkspace<T>& workspace) const;

 private:
  class Columns;

  Conv<T> conv(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const;
  TimeStep<T> time_step(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const;
  Scan<T> scan(const BlockParameters<const T>& parameters, const BlockTape<T>& tape, const std::vector<T>& A) const;
  Norm<T> norm(const BlockParameters<const T>& parameters, const BlockTape<T>& tape) const;
  void reserve(const Segments& segments, BlockTape<T>& tape) const;
  void gate_mlp(Executor& executor, const Segments& segments, BlockTape<T>& tape) const;

  BlockShape shape_;
  const Kernels<T>& kernels_;
};

}  // namespace tutti::mamba2
