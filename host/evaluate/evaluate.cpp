#include "host/evaluate/evaluate.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/data/collate.h"
#include "host/data/timestamp.h"
#include "host/ensemble/combiner.h"
#include "host/evaluate/fold.h"
#include "host/evaluate/manifest.h"
#include "host/evaluate/metrics.h"
#include "host/plugin/schema.h"
#include "shared/linalg/gemm.h"

namespace tutti {
namespace {

// What a run must have in common with an unfinished one to go on with it.
std::string identity_of(const Experiment& experiment, const Manifest& manifest) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const UsedPlugin& plugin : manifest.plugins) plugins.push_back({plugin.id, plugin.version, plugin.file_hash});
  return nlohmann::json{{"experiment", nlohmann::json::parse(to_json(experiment))}, {"plugins", plugins}, {"data", manifest.data_hash}}.dump(2);
}

// A run begun: its data, its splits, its folder.
struct Run {
  Experiment experiment;
  Table table;
  std::vector<Split> splits;
  RunFolder folder;
  Manifest manifest;
};

Result<Run> begin_run(const Experiment& experiment, const RunOptions& options, const Workbench& bench) {
  Run run;
  run.experiment = experiment;
  TUTTI_TRY(run.table, read_csv(experiment.data_path, experiment.schema));
  TUTTI_TRY(run.splits, split_by_time(run.table, experiment.split));
  for (size_t fold = 0; fold < run.splits.size(); ++fold) TUTTI_CHECK(check_windows(experiment, run.table, run.splits[fold]));
  TUTTI_CHECK(try_members(experiment, bench));

  run.manifest.tutti_version = TUTTI_VERSION;
  run.manifest.gemm_library = gemm_library();
  run.manifest.experiment_json = to_json(experiment);
  run.manifest.data_rows = run.table.rows();
  TUTTI_TRY(run.manifest.data_hash, hash_file(experiment.data_path));
  TUTTI_TRY(run.manifest.plugins, used_plugins(experiment, bench.catalogue));
  TUTTI_TRY(run.folder, RunFolder::begin(options.out, identity_of(experiment, run.manifest), options.if_exists));
  return run;
}

std::string describe(const Table& table, const RowSpan& rows, size_t windows) {
  const auto when = [&](int64_t row) {
    return table.has_time ? format_timestamp(table.time[static_cast<size_t>(row)]) : fmt::format("row {}", row);
  };
  if (rows.size() <= 0) return "none";
  return fmt::format("{} to {} ({} rows, {} windows)", when(rows.first), when(rows.last - 1), rows.size(), windows);
}

// Forecasts and truth in the units that the report asks for.
Forecast in_units(const Experiment& experiment, const Fold& fold, Forecast forecast) {
  if (!experiment.original_units) return forecast;
  for (size_t i = 0; i < forecast.point.size(); ++i)
    forecast.point[i] = fold.scaler.invert(forecast.point[i], fold.layout.targets[i % fold.layout.targets.size()]);
  const size_t levels = static_cast<size_t>(std::max<int64_t>(forecast.levels, 1));
  for (size_t i = 0; i < forecast.quantiles.size(); ++i)
    forecast.quantiles[i] = fold.scaler.invert(forecast.quantiles[i], fold.layout.targets[i / levels % fold.layout.targets.size()]);
  return forecast;
}

Truth in_units(const Experiment& experiment, const Fold& fold, Truth truth) {
  if (!experiment.original_units) return truth;
  for (size_t i = 0; i < truth.value.size(); ++i)
    truth.value[i] = fold.scaler.invert(truth.value[i], fold.layout.targets[i % fold.layout.targets.size()]);
  for (size_t i = 0; i < truth.last.size(); ++i)
    truth.last[i] = fold.scaler.invert(truth.last[i], fold.layout.targets[i % fold.layout.targets.size()]);
  return truth;
}

// Mean |y_t - y_(t-season)| of each target on the training rows, in the report's units.
std::vector<double> mase_scales(const Experiment& experiment, const Table& table, const Fold& fold) {
  const int64_t season = std::max<int64_t>(experiment.season, 1);
  std::vector<double> scales;
  for (const int64_t column : fold.layout.targets) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t row = fold.split.train.first + season; row < fold.split.train.last; ++row, ++count)
      sum += std::abs(table.at(row, column) - table.at(row - season, column));
    const double unit = experiment.original_units ? 1.0 : fold.scaler.scale[static_cast<size_t>(column)];
    scales.push_back(count ? sum / static_cast<double>(count) / unit : 0.0);
  }
  return scales;
}

std::map<std::string, double> values_of(const Metrics& metrics, const std::vector<std::string>& names) {
  std::map<std::string, double> values;
  for (const std::string& name : names) values[name] = metrics.value(name);
  return values;
}

// Judges one entry over the folds.
class Judge {
 public:
  explicit Judge(const Experiment& experiment) : experiment_(experiment) {}

  void add(const std::vector<double>& scales, const Forecast& forecast, const Truth& truth, const Forecast& valid, const Truth& valid_truth) {
    Metrics metrics(scales);
    metrics.add(forecast, truth);
    entry.folds.push_back(values_of(metrics, experiment_.metrics));
    tests_.push_back(std::move(metrics));
    Metrics on_valid(scales);
    on_valid.add(valid, valid_truth);
    valids_.push_back(std::move(on_valid));
    add_step_error(forecast, truth);
  }

  void finish() {
    entry.overall = mean_of(tests_);
    entry.valid = mean_of(valids_);
    for (double& error : entry.step_error) error /= static_cast<double>(cells_per_step_);
  }

  Entry entry;

 private:
  // Each metric over all folds' windows: a mean of the folds weighted by their windows; for rmse, of the squares.
  std::map<std::string, double> mean_of(const std::vector<Metrics>& folds) const {
    std::map<std::string, double> values;
    if (folds.empty()) return values;
    for (const std::string& name : experiment_.metrics) {
      const bool root = name == "rmse";
      double sum = 0, windows = 0;
      for (const Metrics& fold : folds) {
        const double value = fold.value(root ? "mse" : name);
        if (std::isnan(value)) continue;
        sum += value * static_cast<double>(fold.windows());
        windows += static_cast<double>(fold.windows());
      }
      values[name] = windows == 0 ? std::nan("") : root ? std::sqrt(sum / windows) : sum / windows;
    }
    return values;
  }

  void add_step_error(const Forecast& forecast, const Truth& truth) {
    entry.step_error.resize(static_cast<size_t>(forecast.horizon));
    for (int64_t w = 0; w < forecast.windows; ++w)
      for (int64_t h = 0; h < forecast.horizon; ++h)
        for (int64_t k = 0; k < forecast.targets; ++k) {
          const size_t i = static_cast<size_t>((w * forecast.horizon + h) * forecast.targets + k);
          entry.step_error[static_cast<size_t>(h)] += std::abs(forecast.point[i] - truth.value[i]);
        }
    cells_per_step_ += forecast.windows * forecast.targets;
  }

  const Experiment& experiment_;
  std::vector<Metrics> tests_, valids_;
  int64_t cells_per_step_ = 0;
};

Result<void> write_prediction(const RunFolder& folder, int64_t fold_index, const std::string& name, const Fold& fold, const Forecast& forecast) {
  const View<const int64_t, 1> origins(fold.test.data(), {static_cast<int64_t>(fold.test.size())});
  const View<const double, 3> point(forecast.point.data(), {forecast.windows, forecast.horizon, forecast.targets});
  const View<const double, 4> quantiles(forecast.quantiles.data(), {forecast.windows, forecast.horizon, forecast.targets, forecast.levels});
  std::vector<TensorToWrite> tensors{{"origin", as_tensor(origins)}, {"point", as_tensor(point)}};
  if (forecast.levels > 0) tensors.push_back({"quantiles", as_tensor(quantiles)});
  return write_safetensors(folder.prediction(fold_index, name), tensors);
}

Result<void> write_truth(const RunFolder& folder, int64_t fold_index, const Fold& fold, const Truth& truth) {
  const View<const int64_t, 1> origins(fold.test.data(), {static_cast<int64_t>(fold.test.size())});
  const View<const double, 3> value(truth.value.data(), {truth.windows, truth.horizon, truth.targets});
  return write_safetensors(folder.prediction(fold_index, "truth"), {{"origin", as_tensor(origins)}, {"truth", as_tensor(value)}});
}

// Gathers what the folds found, fold by fold.
class Evaluation {
 public:
  Evaluation(Run& run, const RunOptions& options, const Workbench& bench) : run_(run), experiment_(run.experiment), options_(options), bench_(bench) {
    for (const MemberPlan& member : experiment_.members) {
      judges_.emplace_back(experiment_);
      judges_.back().entry.name = member.name;
      judges_.back().entry.plugin = member.plugin;
    }
    for (const std::string& name : experiment_.combine) {
      judges_.emplace_back(experiment_);
      judges_.back().entry.name = name;
      judges_.back().entry.kind = Entry::Kind::combination;
    }
  }

  Result<void> add_fold(int64_t index) {
    const int64_t count = static_cast<int64_t>(run_.splits.size());
    TUTTI_TRY(const auto made, make_fold(experiment_, run_.table, run_.splits[static_cast<size_t>(index)], index, count, bench_));
    Fold& fold = *made;
    TUTTI_CHECK(train_fold(fold, experiment_, run_.folder, bench_));
    TUTTI_CHECK(predict_fold(fold, bench_));
    TUTTI_CHECK(combine_fold(fold, experiment_));
    TUTTI_CHECK(judge_fold(fold));
    run_.manifest.folds.push_back(record_of(fold));
    return {};
  }

  Results finish() {
    Results results;
    results.name = experiment_.name;
    results.data = fmt::format("{}: {} rows, {} columns", experiment_.data_path.filename().string(), run_.table.rows(), run_.table.width());
    results.units = experiment_.original_units ? "original" : "scaled";
    results.targets = experiment_.targets;
    results.lookback = experiment_.window.lookback;
    results.horizon = experiment_.window.horizon;
    results.metric_names = experiment_.metrics;
    for (const MetricInfo& metric : metrics()) {
      results.lower_is_better[metric.name] = metric.lower_is_better;
      results.definitions[metric.name] = metric.definition;
    }
    for (const CombinerInfo& combiner : combiners()) results.definitions[combiner.name] = combiner.definition;
    for (const MemberPlan& member : experiment_.members) results.member_names.push_back(member.name);
    results.folds = folds_;
    for (Judge& judge : judges_) {
      if (judge.entry.failure.empty()) judge.finish();
      results.entries.push_back(judge.entry);
    }
    results.curves = curves_;
    results.samples = samples_;
    results.notes = notes_;
    results.experiment_text = nlohmann::json::parse(run_.manifest.experiment_json).dump(2);
    results.tutti_version = TUTTI_VERSION;
    return results;
  }

 private:
  Result<void> judge_fold(const Fold& fold) {
    const Truth truth = in_units(experiment_, fold, fold.test_truth), valid_truth = in_units(experiment_, fold, fold.valid_truth);
    const std::vector<double> scales = mase_scales(experiment_, run_.table, fold);
    if (options_.keep_predictions) TUTTI_CHECK(write_truth(run_.folder, fold.index, fold, truth));
    Sample sample = sample_of(fold, truth);
    for (size_t m = 0; m < fold.members.size(); ++m) {
      const FoldMember& member = fold.members[m];
      Judge& judge = judges_[m];
      judge.entry.parameters = member.weight_count;
      judge.entry.train_seconds += member.record.seconds;
      judge.entry.predict_seconds += member.test.seconds;
      if (!member.record.train_loss.empty())
        curves_.push_back({member.plan->name, fold.index, member.record.train_loss, member.record.valid_loss, member.record.best_epoch});
      if (!member.record.note.empty()) note(fmt::format("{}: {}", member.plan->name, member.record.note));
      if (!member.failure.empty() && judge.entry.failure.empty()) {
        judge.entry.failure = fmt::format("fold {}: {}", fold.index + 1, member.failure);
        note(judge.entry.failure);
      }
      if (member.test.crossings)
        note(fmt::format("{}: quantiles crossed in {} cells of fold {} and were sorted", member.plan->name, member.test.crossings, fold.index + 1));
      if (!member.failure.empty()) continue;
      const Forecast valid = in_units(experiment_, fold, member.valid.forecast);
      TUTTI_CHECK(add(judge, fold, scales, member.test.forecast, truth, valid, valid_truth, sample));
    }
    for (size_t c = 0; c < fold.combinations.size(); ++c) {
      const Combination& combination = fold.combinations[c];
      Judge& judge = judges_[fold.members.size() + c];
      judge.entry.weights.push_back(spread_weights(fold, combination.weights));
      const Forecast valid = in_units(experiment_, fold, combination.valid);
      TUTTI_CHECK(add(judge, fold, scales, combination.test, truth, valid, valid_truth, sample));
    }
    if (fold.index + 1 == static_cast<int64_t>(run_.splits.size())) samples_.push_back(std::move(sample));
    folds_.push_back({describe(run_.table, fold.split.train, fold.train.size()), describe(run_.table, fold.split.valid, fold.valid.size()),
                      describe(run_.table, fold.split.test, fold.test.size())});
    note_excluded_targets(fold, scales);
    return {};
  }

  Result<void> add(Judge& judge, const Fold& fold, const std::vector<double>& scales, const Forecast& scaled, const Truth& truth,
                   const Forecast& valid, const Truth& valid_truth, Sample& sample) {
    const Forecast forecast = in_units(experiment_, fold, scaled);
    judge.add(scales, forecast, truth, valid, valid_truth);
    const int64_t last = forecast.windows - 1;
    for (int64_t h = 0; h < forecast.horizon; ++h)
      sample.forecast[judge.entry.name].push_back(forecast.point[static_cast<size_t>((last * forecast.horizon + h) * forecast.targets)]);
    return options_.keep_predictions ? write_prediction(run_.folder, fold.index, judge.entry.name, fold, forecast) : Result<void>();
  }

  // The last test window's first target.
  Sample sample_of(const Fold& fold, const Truth& truth) const {
    Sample sample;
    const Origin origin = fold.test.back();
    const int64_t column = fold.layout.targets.front();
    sample.title = fmt::format("{}, {} steps from {}", experiment_.targets.front(), experiment_.window.horizon,
                               run_.table.has_time ? format_timestamp(run_.table.time[static_cast<size_t>(origin)]) : fmt::format("row {}", origin));
    const int64_t shown = std::min(experiment_.window.lookback, std::max<int64_t>(4 * experiment_.window.horizon, 24));
    for (int64_t row = origin - shown + 1; row <= origin; ++row)
      sample.past.push_back(experiment_.original_units ? run_.table.at(row, column) : fold.scaler.apply(run_.table.at(row, column), column));
    for (int64_t h = 0; h < truth.horizon; ++h)
      sample.truth.push_back(truth.value[static_cast<size_t>(((truth.windows - 1) * truth.horizon + h) * truth.targets)]);
    return sample;
  }

  void note_excluded_targets(const Fold& fold, const std::vector<double>& scales) {
    for (size_t k = 0; k < scales.size(); ++k)
      if (scales[k] == 0)
        note(fmt::format("mase leaves out \"{}\" in fold {}: it never changes over the training rows", experiment_.targets[k], fold.index + 1));
  }

  void note(const std::string& text) {
    notes_.push_back(text);
    bench_.progress.note(text);
  }

  Run& run_;
  const Experiment& experiment_;
  const RunOptions& options_;
  const Workbench& bench_;
  std::vector<Judge> judges_;  // members, then combinations
  std::vector<FoldSummary> folds_;
  std::vector<LossCurve> curves_;
  std::vector<Sample> samples_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<Experiment> check_experiment(Experiment experiment, const Catalogue& catalogue) {
  const auto at = [](const SourcePlace& place, const Error& error) { return Error{error.code, fmt::format("{}: {}", place.text(), error.message)}; };
  for (const std::string& name : experiment.combine)
    if (Result<std::unique_ptr<Combiner>> made = make_combiner(name); !made) return at(experiment.combine_place, made.error());
  for (const std::string& name : experiment.metrics)
    if (Result<MetricInfo> found = find_metric(name); !found) return at(experiment.metrics_place, found.error());
  for (MemberPlan& member : experiment.members) {
    Result<Catalogue::Model> model = catalogue.find(member.plugin);
    if (!model) return at(member.place, model.error());
    Result<std::string> config = complete_config(model->type->config_schema, member.config_json);
    if (!config) return at(member.place, bad_input(fmt::format("{}: {}", member.plugin, config.error().message)));
    member.config_json = *config;
  }
  return experiment;
}

Result<void> train(const Experiment& experiment, const RunOptions& options, const Workbench& bench) {
  TUTTI_TRY(Run run, begin_run(experiment, options, bench));
  const int64_t count = static_cast<int64_t>(run.splits.size());
  for (int64_t index = 0; index < count; ++index) {
    TUTTI_TRY(const auto fold, make_fold(experiment, run.table, run.splits[static_cast<size_t>(index)], index, count, bench));
    TUTTI_CHECK(train_fold(*fold, experiment, run.folder, bench));
    run.manifest.folds.push_back(record_of(*fold));
  }
  run.manifest.stage = "trained";
  TUTTI_CHECK(write_file(run.folder.path() / "manifest.json", to_json(run.manifest)));
  return run.folder.commit();
}

Result<Results> evaluate(const Experiment& experiment, const RunOptions& options, const Workbench& bench) {
  TUTTI_TRY(Run run, begin_run(experiment, options, bench));
  Evaluation evaluation(run, options, bench);
  for (int64_t fold = 0; fold < static_cast<int64_t>(run.splits.size()); ++fold) TUTTI_CHECK(evaluation.add_fold(fold));
  const Results results = evaluation.finish();

  run.manifest.stage = "evaluated";
  const std::filesystem::path& folder = run.folder.path();
  TUTTI_CHECK(write_file(folder / "manifest.json", to_json(run.manifest)));
  TUTTI_CHECK(write_file(folder / "metrics.json", to_json(results)));
  TUTTI_CHECK(write_file(folder / "leaderboard.txt", to_text(results)));
  TUTTI_CHECK(write_file(folder / "report.html", to_html(results)));
  TUTTI_CHECK(run.folder.commit());
  return results;
}

}  // namespace tutti
