// The CPU backend: loops on all threads, and the scan in chunks as products of matrices (scan.cpp).
#pragma once

#include "plugins/mamba2/kernels/kernels.h"

namespace tutti::mamba2::cpu {

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
void scan_forward(Executor& executor, const Segments& segments, const Scan<T>& scan, T* y, T* final_state, Scratch<T>& scratch);
template <class T>
void scan_backward(Executor& executor, const Segments& segments, const Scan<T>& scan, const T* d_y, const T* d_final,
                   const ScanGradient<T>& gradient, Scratch<T>& scratch);
template <class T>
void scan_step(Executor& executor, int64_t rows, const Scan<T>& scan, T* h, T* y);

}  // namespace tutti::mamba2::cpu
