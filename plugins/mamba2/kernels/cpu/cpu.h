// The CPU backend: loops on all threads, and the scan in chunks as products of matrices (scan.cpp). Its sources are
// compiled once for each instruction set, into the namespace TUTTI_KERNELS that the build names. So that no processor
// runs another's code, they define nothing outside it.
#pragma once

#include "plugins/mamba2/kernels/kernels.h"

namespace tutti::mamba2::TUTTI_KERNELS {

template <class T>
const Kernels<T>& kernels();

template <class T>
void linear_forward(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* x, int64_t x_stride, T* y,
                    int64_t y_stride, Scratch<T>& scratch);
template <class T>
void linear_backward_input(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* d_y,
                           int64_t y_stride, T* d_x, int64_t x_stride, Scratch<T>& scratch);
template <class T>
void linear_backward_weight(Executor& executor, const Segments& segments, const Linear<T>& linear, const T* x, int64_t x_stride,
                            const T* d_y, int64_t y_stride, T* d_weight, T* d_bias, Scratch<T>& scratch);
template <class T>
void conv_forward(Executor& executor, const Segments& segments, const Conv<T>& conv, T* y, T* final_state);
template <class T>
void conv_backward(Executor& executor, const Segments& segments, const Conv<T>& conv, const T* d_y, const T* d_final,
                   const ConvGradient<T>& gradient);
template <class T>
void time_step_forward(Executor& executor, const Segments& segments, const TimeStep<T>& time_step, T* dt);
template <class T>
void time_step_backward(Executor& executor, const Segments& segments, const TimeStep<T>& time_step, const T* d_dt, T* d_raw,
                        T* d_bias);
template <class T>
void norm_forward(Executor& executor, const Segments& segments, const Norm<T>& norm, T* out, int64_t out_stride, T* rstd);
template <class T>
void norm_backward(Executor& executor, const Segments& segments, const Norm<T>& norm, const T* rstd, const T* d_out,
                   int64_t out_stride, const NormGradient<T>& gradient, Scratch<T>& scratch);
template <class T>
int64_t scan_kept(const Segments& segments, const Scan<T>& scan);
template <class T>
void scan_forward(Executor& executor, const Segments& segments, const Scan<T>& scan, T* y, T* final_state, T* kept,
                  Scratch<T>& scratch);
template <class T>
void scan_backward(Executor& executor, const Segments& segments, const Scan<T>& scan, const T* kept, const T* d_y,
                   const T* d_final, const ScanGradient<T>& gradient, Scratch<T>& scratch);
template <class T>
void scan_step(Executor& executor, int64_t rows, const Scan<T>& scan, T* h, T* y);

}  // namespace tutti::mamba2::TUTTI_KERNELS
