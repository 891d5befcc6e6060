// The configuration of a Mamba-2 forecaster: the JSON Schema that the host checks, and the checked struct that
// everything else reads.
#pragma once

#include <string>

#include "plugins/mamba2/block.h"
#include "shared/plugin/model.h"
#include "shared/plugin/options.h"

namespace tutti::mamba2 {

struct Config {
  BlockShape block;
  int64_t layers = 2;
  int64_t patch = 1;                 // steps that make one token
  bool revin = true;                 // each window is normalised by its own mean and deviation
  bool from_last = true;             // the head answers the change from the last value
  bool channel_independent = false;  // each target is a sequence of its own, of one feature
  double dt_min = 1e-3, dt_max = 0.1;
  double dropout = 0.1;
  double learning_rate = 1e-3, weight_decay = 0.01, clip_norm = 1, min_learning_rate_ratio = 0.05;
  int64_t warmup_steps = 100;
  std::string kernels = "auto";
};

// JSON Schema of the configuration.
const char* config_schema();

// Whether the widths fit one another. An error names the key and the cure.
Result<void> check_shape(const BlockShape& shape);

// An error names the key and the cure.
Result<Config> read_config(const Options& options, const Problem& problem);

}  // namespace tutti::mamba2
