// An experiment file (TOML) and its meaning. Reading it checks every key: an unknown key, a wrong type or a value out of
// range is an error with file:line, what was found, and the nearest right spelling.
//
//     name = "treasury"            # of the run's folder
//     seed = 7
//     [data]    path, time?, targets, features? (targets), missing? ("refuse" | "forward-fill" | "drop-row"),
//               scaling? ("standard" | "robust" | "min-max" | "none"), season? (0), separator? (",")
//     [task]    kind? ("forecast"), lookback, horizon, stride? (1), quantiles? ([]), dtype? ("f64" | "f32")
//     [split]   kind ("borders" | "ratio" | "walk-forward"), train, valid (rows, dates or shares), test?, folds?, training?
//               ("expanding" | "sliding"), purge? (horizon)
//     [train]   epochs? (20), batch? (32), patience? (3; 0 = never stop early), min_delta? (0)
//     [[member]] plugin, name?, seeds? ([seed]), config? = { … }, epochs? …
//     [ensemble] combine? (["mean", "median"])
//     [report]  metrics? (["mae", "rmse", "mase", "smape", "directional-accuracy"]), units? ("original" | "scaled")
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/data/csv.h"
#include "host/data/scaler.h"
#include "host/data/split.h"
#include "host/data/window.h"
#include "shared/result.h"

namespace tutti {

// Where in a file something stands, for messages: "treasury.toml:12".
struct SourcePlace {
  std::string file;
  int line = 0;
  std::string text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }
};

struct TrainingPlan {
  int64_t epochs = 20;
  int64_t batch = 32;
  int64_t patience = 3;
  double min_delta = 0;
};

// One model to train: a [[member]] with several seeds becomes several of these.
struct MemberPlan {
  std::string name;         // unique; from the file, or the model id's last part, "#seed" behind where there are several
  std::string plugin;       // model id
  std::string config_json;  // the config table as a JSON object, not yet checked against the plugin's schema
  uint64_t seed = 0;
  TrainingPlan training;  // [train] with the member's own keys over it
  SourcePlace place;
};

struct Experiment {
  std::string name;
  uint64_t seed = 0;
  std::filesystem::path file;       // as given
  std::filesystem::path data_path;  // resolved from the file's folder
  TableSchema schema;               // reads features and targets, each once
  std::vector<std::string> features, targets;
  Scaling scaling = Scaling::standard;
  int64_t season = 0;
  WindowShape window;
  std::vector<double> quantiles;
  bool f64 = true;
  SplitPlan split;
  TrainingPlan training;
  std::vector<MemberPlan> members;
  std::vector<std::string> combine;
  std::vector<std::string> metrics;
  SourcePlace combine_place, metrics_place;
  bool original_units = true;
};

Result<Experiment> load_experiment(const std::filesystem::path& path);
Result<Experiment> parse_experiment(std::string_view toml, const std::filesystem::path& path);

// The experiment as understood, all defaults in place, as JSON: what the manifest keeps. Two experiments with the same
// text here give the same run.
std::string to_json(const Experiment& experiment);
// Back from the manifest; place is for messages.
Result<Experiment> experiment_from_json(const std::string& json, const std::filesystem::path& place);

}  // namespace tutti
