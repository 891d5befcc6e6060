#include "host/evaluate/scoreboard.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/data/timestamp.h"
#include "host/evaluate/metrics.h"
#include "shared/checkpoint/safetensors.h"

namespace tutti {
namespace {

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
    forecast.quantiles[i] =
        fold.scaler.invert(forecast.quantiles[i], fold.layout.targets[i / levels % fold.layout.targets.size()]);
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

std::vector<double> mase_scales(const Experiment& experiment, const Table& table, const Fold& fold) {
  std::vector<double> scales;
  for (const int64_t column : fold.layout.targets) {
    std::vector<double> series;
    for (int64_t row = fold.split.train.first; row < fold.split.train.last; ++row)
      series.push_back(experiment.original_units ? table.at(row, column) : fold.scaler.apply(table.at(row, column), column));
    scales.push_back(mase_scale(series, experiment.season));
  }
  return scales;
}

std::map<std::string, double> values_of(const Metrics& metrics, const std::vector<std::string>& names) {
  std::map<std::string, double> values;
  for (const std::string& name : names) values[name] = metrics.value(name);
  return values;
}

Result<void> write_prediction(const RunFolder& folder, int64_t fold_index, const std::string& name, const Fold& fold,
                              const Forecast& forecast) {
  const View<const int64_t, 1> origins(fold.test.data(), {static_cast<int64_t>(fold.test.size())});
  const View<const double, 3> point(forecast.point.data(), {forecast.windows, forecast.horizon, forecast.targets});
  const View<const double, 4> quantiles(forecast.quantiles.data(),
                                        {forecast.windows, forecast.horizon, forecast.targets, forecast.levels});
  std::vector<TensorToWrite> tensors{{"origin", as_tensor(origins)}, {"point", as_tensor(point)}};
  if (forecast.levels > 0) tensors.push_back({"quantiles", as_tensor(quantiles)});
  return write_safetensors(folder.prediction(fold_index, name), tensors);
}

Result<void> write_truth(const RunFolder& folder, int64_t fold_index, const Fold& fold, const Truth& truth) {
  const View<const int64_t, 1> origins(fold.test.data(), {static_cast<int64_t>(fold.test.size())});
  const View<const double, 3> value(truth.value.data(), {truth.windows, truth.horizon, truth.targets});
  return write_safetensors(folder.prediction(fold_index, "truth"), {{"origin", as_tensor(origins)}, {"truth", as_tensor(value)}});
}

}  // namespace

struct Scoreboard::Truths {
  Truth test, valid;
  std::vector<double> mase_scales;
};

Scoreboard::Scoreboard(const Experiment& experiment, const Table& table, const RunFolder* keep, Progress& progress)
    : experiment_(experiment), table_(table), keep_(keep), progress_(progress) {
  for (const MemberPlan& member : experiment.members) {
    Entry& entry = scores_.emplace_back().entry;
    entry.name = member.name;
    entry.plugin = member.plugin;
    found_.member_names.push_back(member.name);
  }
  for (const std::string& name : experiment.combine) {
    Entry& entry = scores_.emplace_back().entry;
    entry.kind = Entry::Kind::combination;
    entry.name = name;
  }
  found_.name = experiment.name;
  found_.data = fmt::format("{}: {} rows, {} columns", experiment.data_path.filename().string(), table.rows(), table.width());
  found_.units = experiment.original_units ? "original" : "scaled";
  found_.targets = experiment.targets;
  found_.lookback = experiment.window.lookback;
  found_.horizon = experiment.window.horizon;
  found_.metric_names = experiment.metrics;
  for (const MetricInfo& metric : metrics()) found_.metric_meanings[metric.name] = {metric.definition, metric.lower_is_better};
  found_.experiment_text = to_json(experiment);
  found_.tutti_version = TUTTI_VERSION;
}

Result<void> Scoreboard::add(const Fold& fold) {
  const Truths truths{in_units(experiment_, fold, fold.test_truth), in_units(experiment_, fold, fold.valid_truth),
                      mase_scales(experiment_, table_, fold)};
  if (keep_) TUTTI_CHECK(write_truth(*keep_, fold.index, fold, truths.test));
  for (size_t k = 0; k < truths.mase_scales.size(); ++k)
    if (truths.mase_scales[k] == 0)
      note(
          fmt::format("mase leaves out \"{}\" in fold {}: over the training rows it never changes from season to season, or they "
                      "are no longer than a season",
                      experiment_.targets[k], fold.index + 1));

  Sample sample = sample_of(fold, truths.test);
  for (size_t m = 0; m < fold.members.size(); ++m) TUTTI_CHECK(add_member(scores_[m], fold, fold.members[m], truths, sample));
  for (size_t c = 0; c < fold.combinations.size(); ++c) {
    Score& score = scores_[fold.members.size() + c];
    score.entry.weights.push_back(spread_weights(fold, fold.combinations[c].weights));
    TUTTI_CHECK(judge(score, fold, truths, fold.combinations[c].test, fold.combinations[c].valid, sample));
  }
  found_.samples.assign(1, std::move(sample));
  found_.folds.push_back({describe(table_, fold.split.train, fold.train.size()),
                          describe(table_, fold.split.valid, fold.valid.size()),
                          describe(table_, fold.split.test, fold.test.size())});
  return {};
}

Result<void> Scoreboard::add_member(Score& score, const Fold& fold, const FoldMember& member, const Truths& truths,
                                    Sample& sample) {
  const std::string& name = member.plan->name;
  score.entry.parameters = member.weight_count;
  score.entry.train_seconds += member.record.seconds;
  score.entry.predict_seconds += member.test.seconds;
  if (!member.record.train_loss.empty())
    found_.curves.push_back({name, fold.index, member.record.train_loss, member.record.valid_loss, member.record.best_epoch});
  if (!member.record.note.empty()) note(fmt::format("{}: {}", name, member.record.note));
  if (member.test.crossings)
    note(
        fmt::format("{}: quantiles crossed in {} cells of fold {} and were sorted", name, member.test.crossings, fold.index + 1));
  if (member.failure.empty()) return judge(score, fold, truths, member.test.forecast, member.valid.forecast, sample);
  const std::string failure = fmt::format("fold {}: {}", fold.index + 1, member.failure);
  if (score.entry.failure.empty()) score.entry.failure = failure;
  note(fmt::format("{} is left out of {}", name, failure));
  return {};
}

Result<void> Scoreboard::judge(Score& score, const Fold& fold, const Truths& truths, const Forecast& test, const Forecast& valid,
                               Sample& sample) {
  const Forecast forecast = in_units(experiment_, fold, test);
  Metrics on_test(truths.mase_scales), on_valid(truths.mase_scales);
  on_test.add(forecast, truths.test);
  on_valid.add(in_units(experiment_, fold, valid), truths.valid);
  score.entry.folds.push_back(values_of(on_test, experiment_.metrics));
  score.test ? score.test->merge(on_test) : void(score.test = std::move(on_test));
  score.valid ? score.valid->merge(on_valid) : void(score.valid = std::move(on_valid));
  const int64_t last = forecast.windows - 1;
  for (int64_t h = 0; h < forecast.horizon; ++h)
    sample.forecast[score.entry.name].push_back(
        forecast.point[static_cast<size_t>((last * forecast.horizon + h) * forecast.targets)]);
  return keep_ ? write_prediction(*keep_, fold.index, score.entry.name, fold, forecast) : Result<void>();
}

// The last test window's first target.
Sample Scoreboard::sample_of(const Fold& fold, const Truth& truth) const {
  Sample sample;
  const Origin origin = fold.test.back();
  const int64_t column = fold.layout.targets.front();
  sample.title =
      fmt::format("{}, {} steps from {}", experiment_.targets.front(), experiment_.window.horizon,
                  table_.has_time ? format_timestamp(table_.time[static_cast<size_t>(origin)]) : fmt::format("row {}", origin));
  const int64_t shown = std::min(experiment_.window.lookback, std::max<int64_t>(4 * experiment_.window.horizon, 24));
  for (int64_t row = origin - shown + 1; row <= origin; ++row)
    sample.past.push_back(experiment_.original_units ? table_.at(row, column)
                                                     : fold.scaler.apply(table_.at(row, column), column));
  for (int64_t h = 0; h < truth.horizon; ++h)
    sample.truth.push_back(truth.value[static_cast<size_t>(((truth.windows - 1) * truth.horizon + h) * truth.targets)]);
  return sample;
}

void Scoreboard::note(const std::string& text) {
  found_.notes.push_back(text);
  progress_.note(text);
}

Results Scoreboard::results() const {
  Results results = found_;
  for (const Score& score : scores_) {
    Entry entry = score.entry;
    if (entry.failure.empty() && score.test) {
      entry.overall = values_of(*score.test, experiment_.metrics);
      entry.valid = values_of(*score.valid, experiment_.metrics);
      entry.step_error = score.test->step_error();
    }
    results.entries.push_back(std::move(entry));
  }
  return results;
}

}  // namespace tutti
