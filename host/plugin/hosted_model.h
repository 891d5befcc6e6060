// A model as the host holds it, whether it runs in this process or in a worker: the evaluation knows this interface and
// no other. Every answer is checked here: wholly written, finite, quantiles rising.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/plugin/library.h"
#include "host/plugin/services.h"
#include "shared/checkpoint/safetensors.h"
#include "shared/plugin/model.h"
#include "shared/result.h"

namespace tutti {

// A batch's answer in f64. Layouts as in tutti_output.
struct Answer {
  std::vector<double> point;      // [B,H,K]
  std::vector<double> quantiles;  // [B,H,K,Q], rising
  int64_t crossings = 0;          // quantiles that had to be sorted
};

struct StepReport {
  uint32_t state = TUTTI_TRAIN_DONE;
  double loss = 0;  // NaN where the model gives none
  std::vector<std::pair<std::string, double>> scalars;
};

// Which parameters to take or give.
enum class ParameterSet {
  all,      // what training needs to go on
  learned,  // weights and buffers: what answers depend on
};

class HostedModel {
 public:
  virtual ~HostedModel() = default;

  virtual const std::string& name() const = 0;  // the member's, for messages
  virtual const tutti_model_type& type() const = 0;
  virtual const Problem& problem() const = 0;

  virtual Result<Answer> predict(const tutti_batch& batch) = 0;

  // Only where type().training isn't TUTTI_TRAINING_NONE.
  virtual Result<StepReport> train_step(const tutti_batch& batch) = 0;
  virtual Result<void> notify(uint32_t event, double value) = 0;

  // Copies of the named tensors; empty where the model has none to show.
  virtual Result<std::vector<NamedTensor>> parameters(ParameterSet set) = 0;
  // Back from copies, by name. Each tensor of the set must be there with its shape and dtype; others are ignored.
  virtual Result<void> restore(const std::vector<NamedTensor>& tensors, ParameterSet set) = 0;
  // Numbers in all weights; -1 where the model doesn't show them.
  virtual int64_t weight_count() = 0;

  // The intermediate values of one prediction, in order: name and a copy. Unsupported where the model doesn't trace.
  virtual Result<std::vector<NamedTensor>> trace(const tutti_batch& batch) = 0;

  // One number over everything this model was shown by predict (and by train_step, in its own sum) since it was made:
  // equal for models that were shown the same bytes in the same order.
  virtual uint64_t shown_to_predict() const = 0;
  virtual uint64_t shown_to_train() const = 0;
  virtual void forget_shown() = 0;
};

struct ModelRequest {
  std::string name;         // the member's
  std::string config_json;  // complete
  Problem problem;
};

// Makes a model that runs in this process. executor, cancelled and catalogue outlive it.
Result<std::unique_ptr<HostedModel>> make_in_process_model(const Catalogue::Model& model, const ModelRequest& request,
                                                           Executor& executor, const std::atomic<bool>* cancelled, LogSink log);

}  // namespace tutti
