#include <algorithm>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/cpu/elementwise.h"

namespace tutti::mamba2::TUTTI_KERNELS {

template <class T>
void time_step_forward(Executor& executor, const Segments& segments, const TimeStep<T>& a, T* dt) {
  executor.parallel_for(segments.count(), 1, [&](int64_t task, int64_t) {
    const Segment& segment = segments[task];
    for (int64_t t = segment.begin; t < segment.end; ++t) {
      const int64_t at = segment.row * segments.steps() + t;
      for (int64_t h = 0; h < a.heads; ++h)
        dt[at * a.heads + h] = std::min(std::max(fast_softplus(a.raw[at * a.raw_stride + h] + a.bias[h]), a.lower), a.upper);
    }
  });
}

// Each task owns a head, so that its bias has one order of summation.
template <class T>
void time_step_backward(Executor& executor, const Segments& segments, const TimeStep<T>& a, const T* d_dt, T* d_raw, T* d_bias) {
  executor.parallel_for(a.heads, 1, [&](int64_t h, int64_t) {
    T sum = T(0);
    for (int64_t s = 0; s < segments.count(); ++s)
      for (int64_t t = segments[s].begin; t < segments[s].end; ++t) {
        const int64_t at = segments[s].row * segments.steps() + t;
        const T v = a.raw[at * a.raw_stride + h] + a.bias[h], dt = fast_softplus(v);
        const T d_v = dt >= a.lower && dt <= a.upper ? d_dt[at * a.heads + h] * fast_sigmoid(v) : T(0);
        d_raw[at * a.raw_stride + h] = d_v;
        sum += d_v;
      }
    d_bias[h] += sum;
  });
}

#define TUTTI_INSTANTIATE(T)                                                           \
  template void time_step_forward(Executor&, const Segments&, const TimeStep<T>&, T*); \
  template void time_step_backward(Executor&, const Segments&, const TimeStep<T>&, const T*, T*, T*)
TUTTI_INSTANTIATE(float);
TUTTI_INSTANTIATE(double);

}  // namespace tutti::mamba2::TUTTI_KERNELS
