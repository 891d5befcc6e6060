// The checks at the border: does a batch, an output or a frame fit the problem that the model was made for? One
// sentence where not. Behind them a model may rely on every shape, dtype and device.
#pragma once

#include "shared/plugin/model.h"

namespace tutti {

struct BorderRules {
  bool free_lookback;  // windows shorter than problem.lookback are welcome
  bool strided;        // any strides are welcome
  uint32_t inputs;     // TUTTI_INPUT_… that must be there
};

Result<void> check_problem(const Problem& problem, const tutti_model_type& type);
Result<void> check_batch(const tutti_batch& batch, const Problem& problem, const BorderRules& rules, bool with_target);
Result<void> check_output(const tutti_output& output, int64_t size, const Problem& problem);
// elapsed may be null or absent where the rules don't ask for it.
Result<void> check_frame(const tutti_tensor& frame, const tutti_tensor* elapsed, const Problem& problem,
                         const BorderRules& rules);
// gradients: one for each parameter; those of weights have the weight's shape and dtype, others aren't looked at.
Result<void> check_gradients(const tutti_tensor* gradients, const std::vector<Parameter>& parameters);

}  // namespace tutti
