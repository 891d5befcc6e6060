#include "host/evaluate/evaluate.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/ensemble/combiner.h"
#include "host/evaluate/fold.h"
#include "host/evaluate/manifest.h"
#include "host/evaluate/metrics.h"
#include "host/evaluate/scoreboard.h"
#include "host/plugin/schema.h"
#include "shared/linalg/gemm.h"

namespace tutti {
namespace {

// What a run must have in common with an unfinished one to go on with it.
std::string identity_of(const Experiment& experiment, const Manifest& manifest) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const UsedPlugin& plugin : manifest.plugins) plugins.push_back({plugin.id, plugin.version, plugin.file_hash});
  return nlohmann::json{
      {"experiment", nlohmann::json::parse(to_json(experiment))}, {"plugins", plugins}, {"data", manifest.data_hash}}
      .dump(2);
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

Result<void> write_run(Run& run, const Results& results) {
  const std::filesystem::path& folder = run.folder.path();
  TUTTI_CHECK(write_file(folder / "manifest.json", to_json(run.manifest)));
  TUTTI_CHECK(write_file(folder / "metrics.json", to_json(results)));
  TUTTI_CHECK(write_file(folder / "leaderboard.txt", to_text(results)));
  TUTTI_CHECK(write_file(folder / "report.html", to_html(results)));
  return run.folder.commit();
}

}  // namespace

Result<Experiment> check_experiment(Experiment experiment, const Catalogue& catalogue) {
  const auto at = [](const SourcePlace& place, const Error& error) {
    return Error{error.code, fmt::format("{}: {}", place.text(), error.message)};
  };
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
    TUTTI_CHECK(run.folder.add_fold(index));
    TUTTI_CHECK(train_fold(*fold, experiment, run.folder, bench));
    run.manifest.folds.push_back(record_of(*fold));
  }
  run.manifest.stage = "trained";
  TUTTI_CHECK(write_file(run.folder.path() / "manifest.json", to_json(run.manifest)));
  return run.folder.commit();
}

Result<Results> evaluate(const Experiment& experiment, const RunOptions& options, const Workbench& bench) {
  TUTTI_TRY(Run run, begin_run(experiment, options, bench));
  Scoreboard scoreboard(run.experiment, run.table, options.keep_predictions ? &run.folder : nullptr, bench.progress);
  const int64_t count = static_cast<int64_t>(run.splits.size());
  for (int64_t index = 0; index < count; ++index) {
    TUTTI_TRY(const auto fold, make_fold(run.experiment, run.table, run.splits[static_cast<size_t>(index)], index, count, bench));
    TUTTI_CHECK(run.folder.add_fold(index));
    TUTTI_CHECK(train_fold(*fold, run.experiment, run.folder, bench));
    TUTTI_CHECK(predict_fold(*fold, bench));
    TUTTI_CHECK(combine_fold(*fold, run.experiment));
    TUTTI_CHECK(scoreboard.add(*fold));
    run.manifest.folds.push_back(record_of(*fold));
  }
  const Results results = scoreboard.results();
  run.manifest.stage = "evaluated";
  TUTTI_CHECK(write_run(run, results));
  return results;
}

}  // namespace tutti
