// The model type "tutti.mamba2" of the contract: a trainer in the problem's precision.
#pragma once

#include <memory>
#include <variant>

#include "plugins/mamba2/trainer.h"
#include "shared/plugin/define_plugin.h"

namespace tutti::mamba2 {

class Mamba2 final : public Model,
                     public Trainable,
                     public Parameterised,
                     public Differentiable,
                     public Streamable,
                     public Traceable {
 public:
  static ModelDescription description();
  static Result<std::unique_ptr<Mamba2>> create(const HostLink& host, const Problem& problem, const Options& options);

  Result<void> predict(const tutti_batch& batch, const tutti_output& output) override;
  Result<void> reset() override;

  Result<void> step(const tutti_train_in& in, tutti_train_out& out) override;
  Result<void> notify(uint32_t event, double value) override;

  const std::vector<Parameter>& parameters() override;

  Result<double> gradient(const tutti_batch& batch, const tutti_tensor* gradients) override;

  // Streams exist without revin and with a patch of 1; else TUTTI_UNSUPPORTED.
  Result<std::unique_ptr<StreamState>> create_stream(int64_t streams) override;
  Result<std::unique_ptr<StreamState>> copy_stream(const StreamState& state) override;
  std::vector<uint8_t> save_stream(const StreamState& state) override;
  Result<std::unique_ptr<StreamState>> load_stream(const uint8_t* bytes, uint64_t size) override;
  Result<void> reset_stream(StreamState& state, const uint8_t* mask) override;
  Result<void> step_stream(StreamState& state, const tutti_tensor& frame, const tutti_tensor* elapsed,
                           const tutti_output& output) override;

  Result<void> trace(const tutti_batch& batch, tutti_trace_fn visit, void* argument) override;

 private:
  using AnyTrainer = std::variant<std::unique_ptr<Trainer<float>>, std::unique_ptr<Trainer<double>>>;

  Mamba2(const HostLink& host, AnyTrainer trainer) : host_(host), trainer_(std::move(trainer)) {}

  HostLink host_;
  AnyTrainer trainer_;
};

}  // namespace tutti::mamba2
