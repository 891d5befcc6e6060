// One fold of an experiment: its rows, its scaler, its windows, its members and what they answered. The steps below come in
// this order: make, train, predict, combine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/config/experiment.h"
#include "host/data/collate.h"
#include "host/ensemble/forecast.h"
#include "host/evaluate/evaluate.h"
#include "host/evaluate/manifest.h"
#include "host/evaluate/prediction.h"
#include "host/evaluate/training.h"
#include "host/plugin/hosted_model.h"
#include "shared/result.h"

namespace tutti {

struct FoldMember {
  const MemberPlan* plan = nullptr;
  std::unique_ptr<HostedModel> model;
  int64_t weight_count = -1;
  TrainingRecord record;
  Player valid, test;
  ShownBatches shown;
  std::string failure;  // why it is out; empty while it is in
};

struct Combination {
  std::string name;
  std::vector<double> weights;  // one a living member; empty: has none
  Forecast valid, test;
};

struct Fold {
  int64_t index = 0, count = 1;
  Split split;
  BatchLayout layout;
  Scaler scaler;  // borrowed by collator: a Fold stays where it is
  std::vector<Origin> train, valid, test;
  std::unique_ptr<Collator> collator;
  std::vector<FoldMember> members;
  Truth valid_truth, test_truth;
  std::vector<Combination> combinations;
};

// An error where the split holds no windows of the experiment's shape to train on, validate on or test on.
Result<void> check_windows(const Experiment& experiment, const Table& table, const Split& split);

// Makes and drops each member's model: a configuration that its plugin refuses is found before any work begins.
Result<void> try_members(const Experiment& experiment, const Workbench& bench);

// What a member of a type is to solve; quantiles are wanted of those who answer them.
Problem problem_of(const Experiment& experiment, const MemberPlan& member, const tutti_model_type& type);

// The layout of the experiment's batches on a table.
BatchLayout layout_of(const Experiment& experiment, const Table& table);

// table is borrowed.
Result<std::unique_ptr<Fold>> make_fold(const Experiment& experiment, const Table& table, const Split& split, int64_t index,
                                        int64_t count, const Workbench& bench);
Result<void> train_fold(Fold& fold, const Experiment& experiment, const RunFolder& folder, const Workbench& bench);
Result<void> predict_fold(Fold& fold, const Workbench& bench);
// An error where no member is left.
Result<void> combine_fold(Fold& fold, const Experiment& experiment);

// Weights of the living members spread over all members, 0 for those that are out; empty stays empty.
std::vector<double> spread_weights(const Fold& fold, const std::vector<double>& weights);

FoldRecord record_of(const Fold& fold);

}  // namespace tutti
