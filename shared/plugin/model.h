// What a model is in C++: an interface to derive from for predicting, and one for each further ability. The adapter
// in define_plugin.h offers the matching extension of the contract for each that a class derives from, checks every
// batch and output against the problem before a model sees it, and stops every exception.
//
// Calls come one at a time for one model. After ErrorCode::failed and after an exception the model is only destroyed.
// Every other Error, std::bad_alloc and std::invalid_argument promise that it is as it was.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared/plugin/host_link.h"
#include "shared/plugin/options.h"
#include "shared/result.h"
#include "shared/tensor/view.h"

namespace tutti {

// A copy of the contract's tutti_problem that owns its arrays.
struct Problem {
  uint32_t answers = TUTTI_ANSWER_POINT;
  int64_t features = 0, lookback = 0, horizon = 0, targets = 0;
  int64_t known_features = 0, static_features = 0, agent_features = 0, classes = 0, actions = 0;
  std::vector<double> quantiles;
  std::vector<int64_t> target_feature;  // [targets]; -1 where the target is no feature
  int64_t season = 0;
  uint64_t seed = 0;
  tutti_dtype dtype = dtype_of<double>();
  tutti_device device{TUTTI_CPU, 0};

  // Throws std::invalid_argument where the length of an array is negative.
  static Problem from(const tutti_problem& problem);
  // Borrows this object's arrays.
  tutti_problem borrow() const;

  bool wants(uint32_t answer) const { return (answers & answer) != 0; }
};

class Model {
 public:
  virtual ~Model() = default;
  // output holds the tensors that problem.answers names, and no other.
  virtual Result<void> predict(const tutti_batch& batch, const tutti_output& output) = 0;
  virtual Result<void> reset() { return {}; }
};

class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual Result<void> step(const tutti_train_in& in, tutti_train_out& out) = 0;
  virtual Result<void> notify(uint32_t event, double value) = 0;
};

struct Parameter {
  std::string name;
  uint32_t role = TUTTI_ROLE_WEIGHT;
  tutti_tensor tensor{};  // memory and shape live as long as the model
};

class Parameterised {
 public:
  virtual ~Parameterised() = default;
  virtual const std::vector<Parameter>& parameters() = 0;
  // The host has written to the tensors.
  virtual Result<void> parameters_changed() { return {}; }
};

class Differentiable {
 public:
  virtual ~Differentiable() = default;
  // gradients: one for each parameter, ndim 0 for what isn't a weight.
  virtual Result<double> gradient(const tutti_batch& batch, const tutti_tensor* gradients) = 0;
};

// The memory of a stream; each streaming model derives its own.
class StreamState {
 public:
  virtual ~StreamState() = default;
};

class Streamable {
 public:
  virtual ~Streamable() = default;
  virtual Result<std::unique_ptr<StreamState>> create_stream(int64_t streams) = 0;
  virtual Result<std::unique_ptr<StreamState>> copy_stream(const StreamState& state) = 0;
  virtual std::vector<uint8_t> save_stream(const StreamState& state) = 0;
  virtual Result<std::unique_ptr<StreamState>> load_stream(const uint8_t* bytes, uint64_t size) = 0;
  virtual Result<void> reset_stream(StreamState& state, const uint8_t* mask) = 0;
  virtual Result<void> step_stream(StreamState& state, const tutti_tensor& frame, const tutti_tensor* elapsed,
                                   const tutti_output& output) = 0;
};

class Traceable {
 public:
  virtual ~Traceable() = default;
  virtual Result<void> trace(const tutti_batch& batch, tutti_trace_fn visit, void* argument) = 0;
};

}  // namespace tutti
