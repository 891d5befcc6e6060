// Makes a model of a rule that continues one series by itself and learns nothing. A rule is a small value:
//
//     struct Rule {
//       static ModelDescription description();
//       static Result<Rule> create(const Problem& problem, const Options& options);
//       template <class T>
//       void operator()(Series<const T> past, Series<T> future) const;  // [steps] -> [horizon], steps >= 1
//     };
//
// Continuation<Rule> applies it to each row and each target alone. A window shorter than the lookback, or padded on
// its left, is a shorter past.
#pragma once

#include <memory>

#include "plugins/baselines/history.h"
#include "shared/plugin/define_plugin.h"

namespace tutti::baselines {

template <class Rule>
class Continuation final : public Model {
 public:
  static ModelDescription description() {
    ModelDescription description = Rule::description();
    description.inputs = TUTTI_INPUT_PAST | TUTTI_INPUT_LENGTH;
    description.flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT | TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT;
    return description;
  }

  static Result<std::unique_ptr<Continuation>> create(const HostLink&, const Problem& problem, const Options& options) {
    TUTTI_CHECK(require_histories(problem));
    TUTTI_TRY(const Rule rule, Rule::create(problem, options));
    return std::make_unique<Continuation>(problem, rule);
  }

  Continuation(const Problem& problem, const Rule& rule) : problem_(problem), rule_(rule) {}

  Result<void> predict(const tutti_batch& batch, const tutti_output& output) override {
    return same_dtype(problem_.dtype, dtype_of<float>()) ? answer<float>(batch, output) : answer<double>(batch, output);
  }

 private:
  template <class T>
  Result<void> answer(const tutti_batch& batch, const tutti_output& output) const {
    TUTTI_TRY(const auto history, Histories<T>::of(batch, problem_));
    TUTTI_TRY(const auto point, (view_of<T, 3>(output.point, "point")));  // [batch, horizon, targets]
    for (int64_t b = 0; b < batch.size; ++b)
      for (int64_t k = 0; k < problem_.targets; ++k) rule_(history(b, k), point[b].transposed()[k]);
    return {};
  }

  const Problem problem_;
  const Rule rule_;
};

}  // namespace tutti::baselines
