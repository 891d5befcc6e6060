#include "host/evaluate/fold.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/ensemble/combiner.h"

namespace tutti {
namespace {

std::string title_of(const Fold& fold, const std::string& what) {
  return fold.count > 1 ? fmt::format("fold {}/{} {}", fold.index + 1, fold.count, what) : what;
}

void put_out(FoldMember& member, const Error& error) {
  member.failure = error.message;
  member.model.reset();
}

Result<std::unique_ptr<HostedModel>> make_model(const Experiment& experiment, const MemberPlan& member, const Workbench& bench) {
  TUTTI_TRY(const Catalogue::Model model, bench.catalogue.find(member.plugin));
  return make_in_process_model(model, {member.name, member.config_json, problem_of(experiment, member, *model.type)},
                               bench.executor, bench.cancelled, bench.log);
}

Result<void> need_windows(const std::vector<Origin>& windows, const RowSpan& rows, const WindowShape& shape, const char* what) {
  if (!windows.empty()) return {};
  return bad_input(fmt::format(
      "there are too few rows to {}: {} rows hold no window of {} past and {} future rows; shorten [task] lookback or "
      "horizon, or move the borders in [split]",
      what, rows.size(), shape.lookback, shape.horizon));
}

}  // namespace

Result<void> check_windows(const Experiment& experiment, const Table& table, const Split& split) {
  const BatchLayout layout = layout_of(experiment, table);
  TUTTI_CHECK(
      need_windows(index_windows(table, layout.targets, split.train, layout.window), split.train, layout.window, "train on"));
  TUTTI_CHECK(
      need_windows(index_windows(table, layout.targets, split.valid, layout.window), split.valid, layout.window, "validate on"));
  return need_windows(index_windows(table, layout.targets, split.test, layout.window), split.test, layout.window, "test on");
}

Result<void> try_members(const Experiment& experiment, const Workbench& bench) {
  for (const MemberPlan& member : experiment.members) {
    Result<std::unique_ptr<HostedModel>> model = make_model(experiment, member, bench);
    if (!model && model.error().code != ErrorCode::failed)
      return Error{model.error().code, fmt::format("{}: {}", member.place.text(), model.error().message)};
  }
  return {};
}

Problem problem_of(const Experiment& experiment, const MemberPlan& member, const tutti_model_type& type) {
  Problem problem;
  problem.features = static_cast<int64_t>(experiment.features.size());
  problem.lookback = experiment.window.lookback;
  problem.horizon = experiment.window.horizon;
  problem.targets = static_cast<int64_t>(experiment.targets.size());
  problem.season = experiment.season;
  problem.seed = member.seed;
  problem.dtype = experiment.f64 ? dtype_of<double>() : dtype_of<float>();
  problem.quantiles = experiment.quantiles;
  problem.answers = TUTTI_ANSWER_POINT;
  if (!experiment.quantiles.empty()) problem.answers |= type.answers & TUTTI_ANSWER_QUANTILES;
  for (const std::string& target : experiment.targets) {
    const auto found = std::find(experiment.features.begin(), experiment.features.end(), target);
    problem.target_feature.push_back(found == experiment.features.end() ? -1 : found - experiment.features.begin());
  }
  return problem;
}

BatchLayout layout_of(const Experiment& experiment, const Table& table) {
  BatchLayout layout;
  for (const std::string& name : experiment.features) layout.features.push_back(*table.find(name));
  for (const std::string& name : experiment.targets) layout.targets.push_back(*table.find(name));
  layout.window = experiment.window;
  layout.dtype = experiment.f64 ? dtype_of<double>() : dtype_of<float>();
  return layout;
}

Result<std::unique_ptr<Fold>> make_fold(const Experiment& experiment, const Table& table, const Split& split, int64_t index,
                                        int64_t count, const Workbench& bench) {
  auto made = std::make_unique<Fold>();
  Fold& fold = *made;
  fold.index = index;
  fold.count = count;
  fold.split = split;
  fold.layout = layout_of(experiment, table);
  fold.scaler = fit_scaler(table, split.train, experiment.scaling);
  fold.train = index_windows(table, fold.layout.targets, split.train, experiment.window);
  fold.valid = index_windows(table, fold.layout.targets, split.valid, experiment.window);
  fold.test = index_windows(table, fold.layout.targets, split.test, experiment.window);
  TUTTI_TRY(Collator collator,
            Collator::create(table, fold.scaler, fold.layout, std::max(experiment.training.batch, kPredictionBatch)));
  fold.collator = std::make_unique<Collator>(std::move(collator));
  fold.valid_truth = truth_of(table, fold.scaler, fold.layout, fold.valid);
  fold.test_truth = truth_of(table, fold.scaler, fold.layout, fold.test);
  for (const MemberPlan& plan : experiment.members) {
    FoldMember& member = fold.members.emplace_back();
    member.plan = &plan;
    Result<std::unique_ptr<HostedModel>> model = make_model(experiment, plan, bench);
    if (model)
      member.model = *std::move(model);
    else
      put_out(member, model.error());
  }
  return made;
}

Result<void> train_fold(Fold& fold, const Experiment& experiment, const RunFolder& folder, const Workbench& bench) {
  for (FoldMember& member : fold.members) {
    if (!member.model || member.model->type().training == TUTTI_TRAINING_NONE) continue;
    const std::string& name = member.plan->name;
    const TrainingTask task{member.model.get(),
                            fold.collator.get(),
                            &fold.train,
                            &fold.valid,
                            member.plan->training,
                            experiment.seed * 1000003 + static_cast<uint64_t>(fold.index),
                            folder.checkpoint(fold.index, name),
                            folder.training_state(fold.index, name),
                            folder.training_log(fold.index, name),
                            title_of(fold, name)};
    Result<TrainingRecord> record = train_member(task, bench.progress);
    if (!record) return record.error();
    if (!record->failure.empty()) {
      put_out(member, failed(record->failure));
      continue;
    }
    member.record = *std::move(record);
    member.weight_count = member.model->weight_count();
    member.shown.train_first_epoch = hex(member.record.first_epoch_shown);
  }
  return {};
}

Result<void> predict_fold(Fold& fold, const Workbench& bench) {
  const auto play = [&](const std::vector<Origin>& origins, Player FoldMember::*player, std::string ShownBatches::*shown,
                        const char* title) -> Result<void> {
    std::vector<Player> players(fold.members.size());
    for (size_t m = 0; m < players.size(); ++m) players[m].model = fold.members[m].model.get();
    TUTTI_CHECK(predict_all(players, *fold.collator, origins, title_of(fold, title), bench.progress));
    for (size_t m = 0; m < players.size(); ++m) {
      FoldMember& member = fold.members[m];
      if (member.model && !players[m].failure.empty()) put_out(member, failed(players[m].failure));
      if (member.model) member.shown.*shown = hex(member.model->shown_to_predict());
      member.*player = std::move(players[m]);
    }
    return {};
  };
  TUTTI_CHECK(play(fold.valid, &FoldMember::valid, &ShownBatches::valid, "forecasting validation rows"));
  return play(fold.test, &FoldMember::test, &ShownBatches::test, "forecasting test rows");
}

Result<void> combine_fold(Fold& fold, const Experiment& experiment) {
  ValidForecasts valid;
  std::vector<Forecast> test;
  for (FoldMember& member : fold.members) {
    if (!member.failure.empty()) continue;
    valid.members.push_back(member.valid.forecast);
    test.push_back(member.test.forecast);
  }
  if (test.empty())
    return failed(
        fmt::format("no member is left in fold {}; the first failed with: {}", fold.index + 1, fold.members.front().failure));
  valid.truth = fold.valid_truth;
  for (const std::string& name : experiment.combine) {
    TUTTI_TRY(const std::unique_ptr<Combiner> combiner, make_combiner(name));
    TUTTI_CHECK(combiner->fit(valid));
    fold.combinations.push_back({name, combiner->weights(), combiner->combine(valid.members), combiner->combine(test)});
  }
  return {};
}

std::vector<double> spread_weights(const Fold& fold, const std::vector<double>& weights) {
  if (weights.empty()) return {};
  std::vector<double> spread;
  size_t next = 0;
  for (const FoldMember& member : fold.members) spread.push_back(member.failure.empty() ? weights[next++] : 0.0);
  return spread;
}

FoldRecord record_of(const Fold& fold) {
  FoldRecord record;
  record.scaler = fold.scaler;
  record.train_windows = static_cast<int64_t>(fold.train.size());
  record.valid_windows = static_cast<int64_t>(fold.valid.size());
  record.test_windows = static_cast<int64_t>(fold.test.size());
  for (const FoldMember& member : fold.members) {
    if (member.failure.empty()) {
      record.members.push_back(member.plan->name);
      record.shown[member.plan->name] = member.shown;
    } else {
      record.failures[member.plan->name] = member.failure;
    }
  }
  for (const Combination& combination : fold.combinations) record.weights[combination.name] = combination.weights;
  return record;
}

}  // namespace tutti
