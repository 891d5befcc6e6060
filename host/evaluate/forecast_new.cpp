#include "host/evaluate/forecast_new.h"

#include <fmt/format.h>

#include "host/data/csv.h"
#include "host/data/timestamp.h"
#include "host/ensemble/combiner.h"
#include "host/evaluate/fold.h"
#include "host/evaluate/manifest.h"

namespace tutti {
namespace {

// The last fold's models with their checkpoints.
Result<std::vector<std::unique_ptr<HostedModel>>> revive(const std::filesystem::path& run, const Experiment& experiment,
                                                         const FoldRecord& fold, int64_t index, const Workbench& bench) {
  std::vector<std::unique_ptr<HostedModel>> models;
  for (const std::string& name : fold.members) {
    const auto plan =
        std::find_if(experiment.members.begin(), experiment.members.end(), [&](const MemberPlan& m) { return m.name == name; });
    if (plan == experiment.members.end())
      return bad_input(fmt::format("{}: the manifest names a member \"{}\" that its experiment lacks", run.string(), name));
    TUTTI_TRY(const Catalogue::Model found, bench.catalogue.find(plan->plugin));
    TUTTI_TRY(auto model, make_in_process_model(found, {name, plan->config_json, problem_of(experiment, *plan, *found.type)},
                                                bench.executor, bench.cancelled, bench.log));
    if (model->type().training != TUTTI_TRAINING_NONE) TUTTI_CHECK(load_checkpoint(*model, checkpoint_path(run, index, name)));
    models.push_back(std::move(model));
  }
  return models;
}

Result<void> check_plugins(const Manifest& manifest, const Experiment& experiment, const Workbench& bench) {
  TUTTI_TRY(const std::vector<UsedPlugin> now, used_plugins(experiment, bench.catalogue));
  for (size_t i = 0; i < now.size() && i < manifest.plugins.size(); ++i)
    if (now[i].file_hash != manifest.plugins[i].file_hash)
      bench.progress.note(fmt::format("plugin {} {} is another build than the run was made with ({})", now[i].id, now[i].version,
                                      manifest.plugins[i].version));
  return {};
}

}  // namespace

Result<NewForecast> forecast_new(const std::filesystem::path& run, const std::filesystem::path& data, int64_t windows,
                                 const Workbench& bench) {
  TUTTI_TRY(const Manifest manifest, read_manifest(run));
  if (manifest.stage != "evaluated")
    return bad_input(fmt::format("{} is trained but not evaluated; run tutti evaluate with --resume first", run.string()));
  TUTTI_TRY(const Experiment experiment, experiment_from_json(manifest.experiment_json, run / "manifest.json"));
  TUTTI_CHECK(check_plugins(manifest, experiment, bench));
  TUTTI_TRY(const Table table, read_csv(data, experiment.schema));
  const int64_t lookback = experiment.window.lookback;
  if (table.rows() < lookback + windows - 1)
    return bad_input(fmt::format("{} has {} rows; {} past rows are needed for {} forecast{}", data.string(), table.rows(),
                                 lookback + windows - 1, windows, windows == 1 ? "" : "s"));

  const int64_t index = static_cast<int64_t>(manifest.folds.size()) - 1;
  const FoldRecord& fold = manifest.folds.back();
  if (static_cast<int64_t>(fold.scaler.scale.size()) != table.width())
    return bad_input(fmt::format("{}: its scaler is for {} columns, not {}", (run / "manifest.json").string(),
                                 fold.scaler.scale.size(), table.width()));
  TUTTI_TRY(const auto models, revive(run, experiment, fold, index, bench));
  const BatchLayout layout = layout_of(experiment, table);
  TUTTI_TRY(Collator collator, Collator::create(table, fold.scaler, layout, kPredictionBatch));
  std::vector<Origin> origins;
  for (Origin origin = table.rows() - windows; origin < table.rows(); ++origin) origins.push_back(origin);

  std::vector<Player> players(models.size());
  for (size_t m = 0; m < models.size(); ++m) players[m].model = models[m].get();
  TUTTI_CHECK(predict_all(players, collator, origins, "forecasting", bench.progress));
  std::vector<Forecast> members;
  for (const Player& player : players) {
    if (!player.failure.empty()) return failed(player.failure);
    members.push_back(player.forecast);
  }

  NewForecast result{experiment.targets, fold.members, experiment.window.horizon, {}, {}, {}};
  for (const Origin origin : origins)
    result.origins.push_back(table.has_time ? format_timestamp(table.time[static_cast<size_t>(origin)]) : std::to_string(origin));
  std::vector<Forecast> all = members;
  for (const std::string& name : experiment.combine) {
    TUTTI_TRY(const std::unique_ptr<Combiner> combiner, make_combiner(name));
    const auto weights = fold.weights.find(name);
    TUTTI_CHECK(combiner->restore(weights == fold.weights.end() ? std::vector<double>() : weights->second));
    all.push_back(combiner->combine(members));
    result.entries.push_back(name);
  }
  for (Forecast& forecast : all) {
    for (size_t i = 0; i < forecast.point.size(); ++i)
      forecast.point[i] = fold.scaler.invert(forecast.point[i], layout.targets[i % layout.targets.size()]);
    result.values.push_back(std::move(forecast.point));
  }
  return result;
}

std::string to_csv(const NewForecast& forecast) {
  std::string text = "origin,step,target";
  const auto quoted = [](const std::string& field) {
    if (field.find_first_of(",\"\n") == std::string::npos) return field;
    std::string escaped = "\"";
    for (const char c : field) escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
    return escaped + "\"";
  };
  for (const std::string& entry : forecast.entries) text += "," + quoted(entry);
  text += "\n";
  size_t cell = 0;
  for (const std::string& origin : forecast.origins)
    for (int64_t step = 1; step <= forecast.horizon; ++step)
      for (const std::string& target : forecast.targets) {
        text += fmt::format("{},{},{}", origin, step, quoted(target));
        for (const std::vector<double>& values : forecast.values) text += fmt::format(",{}", values[cell]);
        text += "\n";
        ++cell;
      }
  return text;
}

}  // namespace tutti
