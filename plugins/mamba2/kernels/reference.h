// Every operation as its equation is printed: plain loops over time, one thread, no products of matrices. What all
// other backends are measured against. scan_backward keeps one segment's states: [length, headdim, state] of memory.
#pragma once

#include "plugins/mamba2/kernels/kernels.h"

namespace tutti::mamba2::reference {

template <class T>
const Kernels<T>& kernels();

}  // namespace tutti::mamba2::reference
