#include "plugins/mamba2/kernels/cpu/cpu.h"

namespace tutti::mamba2::TUTTI_KERNELS {

#define TUTTI_TEXT_OF(name) #name
#define TUTTI_TEXT(name) TUTTI_TEXT_OF(name)

template <class T>
const Kernels<T>& kernels() {
  static constexpr Kernels<T> table{TUTTI_TEXT(TUTTI_KERNELS), linear_forward<T>,     linear_backward_input<T>, linear_backward_weight<T>,
                                    conv_forward<T>,           conv_backward<T>,      time_step_forward<T>,     time_step_backward<T>,
                                    norm_forward<T>,           norm_backward<T>,      scan_kept<T>,             scan_forward<T>,
                                    scan_backward<T>,          scan_step<T>};
  return table;
}

template const Kernels<float>& kernels();
template const Kernels<double>& kernels();

}  // namespace tutti::mamba2::TUTTI_KERNELS
