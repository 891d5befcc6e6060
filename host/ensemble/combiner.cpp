#include "host/ensemble/combiner.h"

#include <fmt/core.h>

#include "host/ensemble/central_mean.h"
#include "host/ensemble/mean.h"
#include "host/ensemble/weighted_mean.h"
#include "host/ensemble/weights.h"
#include "host/text/spelling.h"

namespace tutti {

const std::vector<CombinerInfo>& combiners() {
  static const std::vector<CombinerInfo> all = {
      {"mean", "The mean of all members."},
      {"median", "The median of all members, each number apart."},
      {"trimmed-mean", "The mean without the lowest and highest fifth of members (rounded down), each number apart."},
      {"inverse-error", "Weights in proportion to 1/mse on the validation windows (Bates, Granger 1969)."},
      {"greedy", "The member that helps most is added, 100 times; weights are shares of the picks (Caruana et al. 2004)."},
      {"stack", "The weights, none negative and summing to 1, with the least mse on the validation windows (Wolfe 1976)."},
  };
  return all;
}

Result<std::unique_ptr<Combiner>> make_combiner(const std::string& name) {
  const auto greedy = [](const ErrorProducts& products) { return greedy_weights(products); };
  std::unique_ptr<Combiner> made;
  if (name == "mean") made = std::make_unique<Mean>();
  if (name == "median") made = std::make_unique<CentralMean>(name, drop_for_median);
  if (name == "trimmed-mean") made = std::make_unique<CentralMean>(name, drop_for_trimmed_mean);
  if (name == "inverse-error") made = std::make_unique<WeightedMean>(name, inverse_error_weights);
  if (name == "greedy") made = std::make_unique<WeightedMean>(name, greedy);
  if (name == "stack") made = std::make_unique<WeightedMean>(name, stack_weights);
  if (made) return made;

  std::vector<std::string> names;
  for (const CombinerInfo& info : combiners()) names.push_back(info.name);
  return bad_input(fmt::format("unknown combination \"{}\"{}; there are {}", name, did_you_mean(name, names), list_of(names)));
}

}  // namespace tutti
