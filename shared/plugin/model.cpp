#include "shared/plugin/model.h"

#include <stdexcept>

namespace tutti {

Problem Problem::from(const tutti_problem& p) {
  Problem problem;
  problem.answers = p.answers;
  problem.features = p.features, problem.lookback = p.lookback, problem.horizon = p.horizon, problem.targets = p.targets;
  problem.known_features = p.known_features, problem.static_features = p.static_features;
  problem.agent_features = p.agent_features, problem.classes = p.classes, problem.actions = p.actions;
  if (p.quantile_count < 0 || p.targets < 0) throw std::invalid_argument("the problem has a negative size");
  if (p.quantiles) problem.quantiles.assign(p.quantiles, p.quantiles + p.quantile_count);
  if (p.target_feature) problem.target_feature.assign(p.target_feature, p.target_feature + p.targets);
  problem.season = p.season, problem.seed = p.seed, problem.dtype = p.dtype, problem.device = p.device;
  return problem;
}

tutti_problem Problem::borrow() const {
  tutti_problem p{};
  p.struct_size = sizeof p;
  p.answers = answers;
  p.features = features, p.lookback = lookback, p.horizon = horizon, p.targets = targets;
  p.known_features = known_features, p.static_features = static_features;
  p.agent_features = agent_features, p.classes = classes, p.actions = actions;
  p.quantile_count = static_cast<int64_t>(quantiles.size()), p.quantiles = quantiles.empty() ? nullptr : quantiles.data();
  p.target_feature = target_feature.empty() ? nullptr : target_feature.data();
  p.season = season, p.seed = seed, p.dtype = dtype, p.device = device;
  return p;
}

}  // namespace tutti
