// The past of a target, as the models here see it: the valid steps of the feature that the target is the future of,
// oldest first. Filled-in values (tutti_batch.observed) count as values.
#pragma once

#include <optional>
#include <string>

#include "shared/plugin/model.h"

namespace tutti::baselines {

template <class T>
using Series = View<T, 1>;

// An error where a target is no feature and so has no past.
inline Result<void> require_histories(const Problem& problem) {
  for (size_t k = 0; k < problem.target_feature.size(); ++k)
    if (problem.target_feature[k] < 0)
      return unsupported("target " + std::to_string(k) + " is not among the features; its own past is needed to continue it");
  return {};
}

// The histories of a batch. Borrows the batch and the problem. T: the problem's dtype.
template <class T>
class Histories {
 public:
  static Result<Histories> of(const tutti_batch& batch, const Problem& problem) {
    Histories histories(problem);
    TUTTI_TRY(histories.past_, (view_of<const T, 3>(batch.past, "past")));
    if (batch.length.ndim != 0) {
      TUTTI_TRY(histories.length_, (view_of<const int64_t, 1>(batch.length, "length")));
    }
    return histories;
  }

  // [steps] of target k in row b; at least one step.
  Series<const T> operator()(int64_t b, int64_t k) const {
    const int64_t steps = past_.shape[1];
    const int64_t valid = length_ ? (*length_)(b) : steps;
    const int64_t feature = problem_->target_feature[static_cast<size_t>(k)];
    return past_[b].transposed()[feature].slice(0, steps - valid, steps);
  }

 private:
  explicit Histories(const Problem& problem) : problem_(&problem) {}

  const Problem* problem_;
  View<const T, 3> past_;                         // [batch, time, features]
  std::optional<View<const int64_t, 1>> length_;  // [batch]
};

}  // namespace tutti::baselines
