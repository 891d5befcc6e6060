// Linear autoregression, direct and shared by all targets: one map from the past of a target to its whole future,
//
//     y = W (x - c) + b + c,    W [horizon, lags], b [horizon],
//
// where x is the last steps of the target's own past. form says what is taken off past and future:
//
//     linear   c = 0,        lags = lookback
//     nlinear  c = x_T, the last value; lags = lookback - 1, since the newest step is then 0
//
// These are "Linear" and "NLinear" of Zeng et al., Are Transformers Effective for Time Series Forecasting?, AAAI
// 2023, solved in closed form: each target of each window is a training row, weighted as its window, and ridge is the
// penalty by row of normal_equations.h. Sums are kept in f64 whatever the problem's dtype; solved at each epoch's
// end, so that further passes over the same rows change nothing; emptied at TUTTI_EVENT_TRAIN_BEGIN.
//
// Where a past is shorter than lookback, the missing lags add nothing: they count as 0 after c is taken off, in
// training as in answers.
#pragma once

#include <memory>

#include "plugins/baselines/history.h"
#include "plugins/baselines/normal_equations.h"
#include "shared/plugin/define_plugin.h"

namespace tutti::baselines {

struct RidgeConfig {
  enum class Form { linear, nlinear } form;
  int64_t lookback;  // steps used, 1 … the problem's lookback
  double ridge;      // at least 0

  static Result<RidgeConfig> from(const Options& options, const Problem& problem);

  bool subtracts_last() const { return form == Form::nlinear; }
  int64_t lags() const { return subtracts_last() ? lookback - 1 : lookback; }
};

class Ridge final : public Model, public Trainable, public Parameterised {
 public:
  static ModelDescription description();
  static Result<std::unique_ptr<Ridge>> create(const HostLink& host, const Problem& problem, const Options& options);

  Ridge(const HostLink& host, const Problem& problem, const RidgeConfig& config);

  // ErrorCode::bad_state before the first solution.
  Result<void> predict(const tutti_batch& batch, const tutti_output& output) override;
  Result<void> reset() override;

  // Adds the batch to the sums. The loss is NaN: nothing is compared before the solution.
  Result<void> step(const tutti_train_in& in, tutti_train_out& out) override;
  Result<void> notify(uint32_t event, double value) override;

  // weight [horizon, lags] and bias [horizon] in the problem's dtype, lags oldest first; solved [1] u8, 1 once they
  // answer; sums f64, which lets training go on in the middle of an epoch.
  const std::vector<Parameter>& parameters() override { return parameters_; }

 private:
  template <class T>
  Result<void> answer(const tutti_batch& batch, const tutti_output& output);
  template <class T>
  Result<void> learn(const tutti_batch& batch);
  template <class T>
  void keep(const Tensor& map);
  Result<void> solve();

  HostLink host_;
  const Problem problem_;
  const RidgeConfig config_;
  Tensor weight_, bias_, solved_;
  NormalEquations equations_;
  std::vector<Parameter> parameters_;
};

}  // namespace tutti::baselines
