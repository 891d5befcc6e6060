#include "plugins/mamba2/config.h"

#include <algorithm>

namespace tutti::mamba2 {

const char* config_schema() {
  return R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "d_model": {"type": "integer", "default": 64, "minimum": 1, "maximum": 8192, "description": "width of the residual stream"},
    "layers": {"type": "integer", "default": 2, "minimum": 1, "maximum": 256, "description": "residual blocks, one above the other"},
    "expand": {"type": "integer", "default": 2, "minimum": 1, "maximum": 16, "description": "width inside a block, d_inner, as a multiple of d_model"},
    "d_ssm": {"type": "integer", "default": 0, "minimum": 0, "maximum": 131072, "description": "part of d_inner that goes through the scan; the rest is a gated linear unit; 0: all"},
    "headdim": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1024, "description": "channels of a head; must divide d_ssm; 0: the largest divisor up to 64 that suits ngroups"},
    "ngroups": {"type": "integer", "default": 1, "minimum": 1, "maximum": 1024, "description": "groups of heads that share B and C; must divide the number of heads"},
    "d_state": {"type": "integer", "default": 16, "minimum": 1, "maximum": 256, "description": "numbers that each channel remembers"},
    "d_conv": {"type": "integer", "default": 4, "minimum": 2, "maximum": 8, "description": "steps of the causal convolution"},
    "chunk": {"type": "integer", "default": 64, "minimum": 1, "maximum": 4096, "description": "steps of the scan computed at once; changes speed and rounding only"},
    "patch": {"type": "integer", "default": 1, "minimum": 1, "maximum": 512, "description": "steps that make one token of the sequence"},
    "revin": {"type": "boolean", "default": true, "description": "normalise each window by its own mean and deviation, and undo it on the answer"},
    "from_last": {"type": "boolean", "default": true, "description": "answer the change from the last value where the target is a feature"},
    "channel_independent": {"type": "boolean", "default": false, "description": "read each target's feature as a sequence of its own, with shared weights"},
    "bias": {"type": "boolean", "default": false, "description": "a bias in in_proj and out_proj"},
    "conv_bias": {"type": "boolean", "default": true, "description": "a bias in the convolution"},
    "rmsnorm": {"type": "boolean", "default": true, "description": "a gated RMS norm after the scan; else the gate alone"},
    "grouped_norm": {"type": "boolean", "default": true, "description": "the gated norm looks at each group's channels alone; else at all of d_ssm"},
    "norm_before_gate": {"type": "boolean", "default": false, "description": "normalise first, gate after"},
    "d_has_hdim": {"type": "boolean", "default": false, "description": "the skip D is per channel, else per head"},
    "dt_min": {"type": "number", "default": 0.001, "minimum": 1e-6, "maximum": 100, "description": "smallest time step at initialisation"},
    "dt_max": {"type": "number", "default": 0.1, "minimum": 1e-6, "maximum": 100, "description": "largest time step at initialisation"},
    "dt_limit_min": {"type": "number", "default": 0, "minimum": 0, "maximum": 1e30, "description": "time steps are never smaller"},
    "dt_limit_max": {"type": "number", "default": 1e30, "minimum": 0, "maximum": 1e30, "description": "time steps are never larger"},
    "dropout": {"type": "number", "default": 0.1, "minimum": 0, "maximum": 0.95, "description": "share of a block's outputs left out in a training step"},
    "learning_rate": {"type": "number", "default": 0.001, "minimum": 0, "maximum": 10, "description": "of AdamW, at its highest"},
    "min_learning_rate_ratio": {"type": "number", "default": 0.05, "minimum": 0, "maximum": 1, "description": "where the cosine ends, as a part of learning_rate"},
    "warmup_steps": {"type": "integer", "default": 100, "minimum": 0, "maximum": 1000000000, "description": "steps of linear warm-up, at most a tenth of the steps planned"},
    "weight_decay": {"type": "number", "default": 0.01, "minimum": 0, "maximum": 10, "description": "of AdamW, on matrices and convolutions only"},
    "clip_norm": {"type": "number", "default": 1, "minimum": 0, "maximum": 1e30, "description": "largest norm of the whole gradient; 0: no clipping"},
    "kernels": {"type": "string", "default": "auto", "enum": ["auto", "reference", "generic", "avx2", "avx512"], "description": "how the blocks are computed; all agree but for rounding"}
  }
})";
}

namespace {

std::string text(int64_t value) { return std::to_string(value); }

// The divisors of a number, as "1, 2, 4", for messages.
std::string divisors(int64_t number) {
  std::string list;
  for (int64_t d = 1; d <= std::min<int64_t>(number, 1024); ++d)
    if (number % d == 0) list += (list.empty() ? "" : ", ") + text(d);
  return list;
}

// ", reference, avx2 …", for messages.
std::string kernel_list() {
  std::string list;
  for (const char* name : kernel_names()) list += std::string(", ") + name;
  return list;
}

int64_t choose_headdim(int64_t d_ssm, int64_t ngroups) {
  for (int64_t headdim = 64; headdim > 1; --headdim)
    if (d_ssm % headdim == 0 && d_ssm / headdim % ngroups == 0) return headdim;
  return 1;
}

}  // namespace

Result<void> check_shape(const BlockShape& s) {
  if (s.d_ssm > s.d_inner)
    return bad_input("d_ssm " + text(s.d_ssm) + " is above d_inner " + text(s.d_inner) +
                     " (expand * d_model); choose at most that, or 0");
  if (s.d_ssm % s.headdim)
    return bad_input("headdim " + text(s.headdim) + " doesn't divide d_ssm " + text(s.d_ssm) + "; choose one of " +
                     divisors(s.d_ssm));
  if (s.heads() % s.ngroups)
    return bad_input("ngroups " + text(s.ngroups) + " doesn't divide the " + text(s.heads()) + " heads; choose one of " +
                     divisors(s.heads()));
  if (s.dt_limit_min > s.dt_limit_max) return bad_input("dt_limit_min is above dt_limit_max; exchange them");
  return {};
}

Result<Config> read_config(const Options& options, const Problem& problem) {
  Config config;
  BlockShape& s = config.block;
  s.d_model = options.integer("d_model");
  s.d_inner = options.integer("expand") * s.d_model;
  s.d_ssm = options.integer("d_ssm");
  if (s.d_ssm == 0) s.d_ssm = s.d_inner;
  s.ngroups = options.integer("ngroups");
  s.headdim = options.integer("headdim");
  if (s.headdim == 0) s.headdim = choose_headdim(s.d_ssm, s.ngroups);
  s.d_state = options.integer("d_state"), s.d_conv = options.integer("d_conv"), s.chunk = options.integer("chunk");
  s.bias = options.flag("bias"), s.conv_bias = options.flag("conv_bias");
  s.rmsnorm = options.flag("rmsnorm"), s.grouped_norm = options.flag("grouped_norm");
  s.norm_before_gate = options.flag("norm_before_gate");
  s.d_has_hdim = options.flag("d_has_hdim");
  s.dt_limit_min = options.number("dt_limit_min"), s.dt_limit_max = options.number("dt_limit_max");
  config.layers = options.integer("layers"), config.patch = options.integer("patch");
  config.revin = options.flag("revin"), config.from_last = options.flag("from_last");
  config.channel_independent = options.flag("channel_independent");
  config.dt_min = options.number("dt_min"), config.dt_max = options.number("dt_max");
  config.dropout = options.number("dropout");
  config.learning_rate = options.number("learning_rate");
  config.min_learning_rate_ratio = options.number("min_learning_rate_ratio");
  config.warmup_steps = options.integer("warmup_steps");
  config.weight_decay = options.number("weight_decay"), config.clip_norm = options.number("clip_norm");
  config.kernels = options.text("kernels");

  TUTTI_CHECK(check_shape(s));
  if (config.dt_min > config.dt_max) return bad_input("dt_min is above dt_max; exchange them");
  if (!find_kernels<double>(config.kernels.c_str()))
    return bad_input("kernels \"" + config.kernels + "\" don't run on this machine; choose one of auto" + kernel_list());
  if (config.patch > problem.lookback)
    return bad_input("patch " + text(config.patch) + " is longer than the lookback " + text(problem.lookback) +
                     "; choose at most that");
  const auto& targets = problem.target_feature;
  if (config.channel_independent && std::find(targets.begin(), targets.end(), -1) != targets.end())
    return bad_input("channel_independent needs each target to be a feature; make the targets features, or switch it off");
  return config;
}

}  // namespace tutti::mamba2
