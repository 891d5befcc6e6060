#include "plugins/mamba2/kernels/kernels.h"

#include <cstring>

#include "plugins/mamba2/kernels/cpu/cpu.h"
#include "plugins/mamba2/kernels/reference.h"

namespace tutti::mamba2 {

template <class T>
const Kernels<T>* find_kernels(const char* name) {
  static constexpr Kernels<T> reference{"reference",
                                        reference::conv_forward<T>,
                                        reference::conv_backward<T>,
                                        reference::time_step_forward<T>,
                                        reference::time_step_backward<T>,
                                        reference::norm_forward<T>,
                                        reference::norm_backward<T>,
                                        reference::scan_forward<T>,
                                        reference::scan_backward<T>,
                                        reference::scan_step<T>};
  static constexpr Kernels<T> chunked{"chunked",
                                      cpu::conv_forward<T>,
                                      cpu::conv_backward<T>,
                                      cpu::time_step_forward<T>,
                                      cpu::time_step_backward<T>,
                                      cpu::norm_forward<T>,
                                      cpu::norm_backward<T>,
                                      cpu::scan_forward<T>,
                                      cpu::scan_backward<T>,
                                      cpu::scan_step<T>};
  const auto is = [&](const char* wanted) { return std::strcmp(name, wanted) == 0; };
  if (is("reference")) return &reference;
  if (is("chunked") || is("auto")) return &chunked;
  return nullptr;
}

template const Kernels<float>* find_kernels(const char*);
template const Kernels<double>* find_kernels(const char*);

}  // namespace tutti::mamba2
