// What this machine can do at most, measured: the yardstick beside every other figure of a benchmark.
#pragma once

#include <cstdint>

#include "shared/parallel/executor.h"

namespace tutti {

struct Machine {
  double f32[2], f64[2];  // GFLOP/s of fused multiply-adds in registers, on one thread and on two
  double read[2];         // GB/s of reading 256 MiB

  void print() const;
};

// Uses the widest registers that the processor has.
Machine measure_machine();

// Reads count numbers once, on all threads.
void read_once(Executor& executor, const float* data, int64_t count);
void read_once(Executor& executor, const double* data, int64_t count);

}  // namespace tutti
