#include "host/config/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host/config/section.h"
#include "host/data/timestamp.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::vector<std::string> kMissing{"refuse", "forward-fill", "drop-row"};
const std::vector<std::string> kScaling{"none", "standard", "robust", "min-max"};
const std::vector<std::string> kSplitKinds{"borders", "ratio", "walk-forward"};
const std::vector<std::string> kTraining{"expanding", "sliding"};

void append_new(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

bool has_doubles(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

void check_columns(Section& section, const char* key, const std::vector<std::string>& names,
                   const std::optional<std::string>& time) {
  const auto wrong = [&](const std::string& what) {
    section.mistake(section.place(key), fmt::format("\"{}\" in [data] names {}", key, what));
  };
  if (names.empty()) wrong("no column");
  if (has_doubles(names)) wrong("a column twice");
  if (time && std::count(names.begin(), names.end(), *time)) wrong(fmt::format("\"{}\", which is the time column", *time));
}

// Names of experiments and members name folders and files of a run, where "truth" is taken.
bool is_file_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || (c && std::strchr("._+-#", c)); };
  return !name.empty() && name.size() <= 100 && name[0] != '.' && name != "truth" && std::all_of(name.begin(), name.end(), plain);
}

void read_data(Section& section, const fs::path& file, Experiment& e) {
  const std::string path = section.text("path");
  if (path.empty() && section.has("path")) section.mistake(section.place("path"), "\"path\" in [data] is empty");
  std::error_code ignored;  // no working directory, or no path, which is told of elsewhere
  e.data_path = fs::absolute(file.parent_path() / path, ignored).lexically_normal();
  if (section.has("time")) e.schema.time = section.text("time");
  e.targets = section.texts("targets");
  e.features = section.texts("features", e.targets);
  check_columns(section, "targets", e.targets, e.schema.time);
  check_columns(section, "features", e.features, e.schema.time);
  e.schema.columns = e.features;
  append_new(e.schema.columns, e.targets);
  e.schema.missing = static_cast<Missing>(section.choice("missing", kMissing, 0));
  e.scaling = static_cast<Scaling>(section.choice("scaling", kScaling, 1));
  e.season = section.integer("season", 0, 0);
  const std::string separator = section.text("separator", ",");
  if (separator.size() != 1 || std::string("\"\r\n+-.").find(separator) != std::string::npos || std::isalnum(separator[0]))
    section.mistake(section.place("separator"),
                    "\"separator\" in [data] must be one character that stands in no number, such as \",\", \";\" or \"\\t\"");
  else
    e.schema.separator = separator[0];
  section.refuse_the_rest();
}

void read_task(Section& section, Experiment& e) {
  section.choice("kind", {"forecast"}, 0);
  constexpr int64_t kMost = 1'000'000;
  e.window = {section.integer("lookback", 1, {}, kMost), section.integer("horizon", 1, {}, kMost),
              section.integer("stride", 1, 1, kMost)};
  e.quantiles = section.numbers("quantiles", std::vector<double>());
  for (size_t q = 0; q < e.quantiles.size(); ++q)
    if (!(e.quantiles[q] > 0 && e.quantiles[q] < 1) || (q > 0 && e.quantiles[q] <= e.quantiles[q - 1]))
      section.mistake(section.place("quantiles"), "\"quantiles\" in [task] must rise and lie inside 0 and 1");
  e.f64 = section.choice("dtype", {"f64", "f32"}, 0) == 0;
  section.refuse_the_rest();
}

Border read_border(Section& section, const char* key, const Experiment& e) {
  const Border border = section.border(key);
  const auto* date = std::get_if<std::string>(&border.at);
  if (date && !e.schema.time)
    section.mistake(section.place(key),
                    fmt::format("\"{}\" in [split] is a date, but [data] names no \"time\" column; give a row number", key));
  if (date && !parse_timestamp(*date))
    section.mistake(section.place(key),
                    fmt::format("\"{}\" in [split] is \"{}\", which is no date; write it like \"2024-02-29\"", key, *date));
  return border;
}

void read_split(Section& section, Experiment& e) {
  SplitPlan& plan = e.split;
  plan.kind = static_cast<SplitPlan::Kind>(section.choice("kind", kSplitKinds));
  if (plan.kind == SplitPlan::Kind::borders) {
    plan.train_end = read_border(section, "train", e);
    plan.valid_end = read_border(section, "valid", e);
    if (section.has("test")) plan.test_end = read_border(section, "test", e);
  } else {
    plan.train = section.number("train", 0, 1);
    plan.valid = section.number("valid", 0, 1);
    if (!(plan.train > 0) || !(plan.valid > 0) || plan.train + plan.valid >= 1)
      section.mistake(section.place("train"), "\"train\" and \"valid\" in [split] must be above 0 and leave a share for testing");
  }
  if (plan.kind == SplitPlan::Kind::walk_forward) {
    plan.folds = section.integer("folds", 1, {}, 10'000);
    plan.training = static_cast<Training>(section.choice("training", kTraining, 0));
  }
  plan.purge = section.integer("purge", 0, e.window.horizon);
  section.refuse_the_rest();
}

// Keys that [train] and [[member]] share.
void read_training(Section& section, TrainingPlan& plan) {
  plan.epochs = section.integer("epochs", 1, plan.epochs, 1'000'000);
  plan.patience = section.integer("patience", 0, plan.patience);
  plan.min_delta = section.number("min_delta", 0, std::numeric_limits<double>::max(), plan.min_delta);
}

std::string last_part(const std::string& id) { return id.substr(id.rfind('.') + 1); }

void read_member(Section& section, Experiment& e) {
  MemberPlan member;
  member.plugin = section.text("plugin");
  member.name = section.text("name", last_part(member.plugin));
  member.config_json = section.json_table("config");
  member.training = e.training;
  member.place = section.place();
  read_training(section, member.training);
  const std::vector<int64_t> seeds = section.integers("seeds", std::vector<int64_t>{static_cast<int64_t>(e.seed)});
  section.refuse_the_rest();
  if (member.plugin.empty()) section.mistake(section.place("plugin"), "\"plugin\" in [[member]] is empty");
  if (member.name.empty()) section.mistake(section.place("name"), "\"name\" in [[member]] is empty");
  if (!is_file_name(member.name))
    section.mistake(
        section.place("name"),
        fmt::format("the name \"{}\" is to be part of file names; use letters, digits and . _ + - #, at most 100", member.name));
  if (seeds.empty()) section.mistake(section.place("seeds"), "\"seeds\" in [[member]] is empty");
  const std::string base = member.name;
  for (const int64_t seed : seeds) {
    if (seed < 0) section.mistake(section.place("seeds"), "\"seeds\" in [[member]] holds a negative number");
    if (std::count(seeds.begin(), seeds.end(), seed) > 1)
      section.mistake(section.place("seeds"), fmt::format("\"seeds\" in [[member]] holds {} twice", seed));
    member.seed = static_cast<uint64_t>(seed);
    if (seeds.size() > 1) member.name = fmt::format("{}#{}", base, seed);
    e.members.push_back(member);
  }
}

void check_names(Section& top, const Experiment& e) {
  std::set<std::string> names(e.combine.begin(), e.combine.end());
  if (names.size() != e.combine.size()) top.mistake(e.combine_place, "\"combine\" in [ensemble] names a combination twice");
  for (const MemberPlan& member : e.members)
    if (!names.insert(member.name).second)
      top.mistake(
          member.place,
          fmt::format("the name \"{}\" is taken by another member or combination; give this one a name of its own", member.name));
}

Experiment read_all(Section& top, const fs::path& path, std::optional<Error>& mistake) {
  const std::string file = path.string();
  Experiment e;
  e.file = path;
  e.name = top.text("name", path.stem().string());
  if (e.name.empty()) top.mistake(top.place("name"), "\"name\" is empty");
  if (!is_file_name(e.name))
    top.mistake(top.place("name"),
                fmt::format("the name \"{}\" is to name a folder; use letters, digits and . _ + - #, at most 100", e.name));
  e.seed = static_cast<uint64_t>(top.integer("seed", 0, 0));
  const toml::table empty;
  const auto section = [&](const char* key, bool needed) {
    const toml::table* table = top.table(key, needed);
    return Section(table ? *table : empty, fmt::format("[{}]", key), file, mistake);
  };
  Section data = section("data", true), task = section("task", true), split = section("split", true),
          train = section("train", false), ensemble = section("ensemble", false), report = section("report", false);
  top.ask("member");
  top.refuse_the_rest();
  if (mistake) return e;
  read_data(data, path, e);
  read_task(task, e);
  read_split(split, e);
  read_training(train, e.training);
  e.training.batch = train.integer("batch", 1, e.training.batch, 1'000'000);
  train.refuse_the_rest();
  e.combine = ensemble.texts("combine", std::vector<std::string>{"mean", "median"});
  e.combine_place = ensemble.place("combine");
  ensemble.refuse_the_rest();
  e.metrics = report.texts("metrics", std::vector<std::string>{"mae", "rmse", "mase", "smape", "directional-accuracy"});
  e.metrics_place = report.place("metrics");
  if (e.metrics.empty()) report.mistake(report.place("metrics"), "\"metrics\" in [report] names no metric");
  e.original_units = report.choice("units", {"original", "scaled"}, 0) == 0;
  report.refuse_the_rest();
  return e;
}

void read_members(const toml::table& root, Section& top, const std::string& file, std::optional<Error>& mistake, Experiment& e) {
  if (root["member"].is_table())
    top.mistake(top.place("member"), "[member] is a single table; write [[member]], with two brackets");
  const toml::array* members = root["member"].as_array();
  if (!members || members->empty() || !members->is_array_of_tables()) {
    top.mistake(top.place("member"), "there is no [[member]]; name at least one, with its plugin");
    return;
  }
  for (const toml::node& node : *members) {
    Section section(*node.as_table(), "[[member]]", file, mistake);
    read_member(section, e);
  }
}

json to_json(const Border& border) {
  return std::visit([](const auto& at) { return json(at); }, border.at);
}
Border border_from(const json& j) { return j.is_number() ? Border{j.get<int64_t>()} : Border{j.get<std::string>()}; }

json to_json(const TrainingPlan& plan) {
  return {{"epochs", plan.epochs}, {"batch", plan.batch}, {"patience", plan.patience}, {"min_delta", plan.min_delta}};
}
TrainingPlan training_from(const json& j) { return {j.at("epochs"), j.at("batch"), j.at("patience"), j.at("min_delta")}; }

size_t index_of(const std::vector<std::string>& choices, const json& j) {
  const auto found = std::find(choices.begin(), choices.end(), j.get<std::string>());
  if (found == choices.end()) throw std::invalid_argument("\"" + j.get<std::string>() + "\" is none of its choices");
  return static_cast<size_t>(found - choices.begin());
}

Experiment from(const json& j) {
  Experiment e;
  e.name = j.at("name");
  e.seed = j.at("seed");
  const json &data = j.at("data"), &task = j.at("task"), &split = j.at("split");
  e.data_path = data.at("path").get<std::string>();
  if (data.at("time").is_string()) e.schema.time = data.at("time").get<std::string>();
  e.targets = data.at("targets").get<std::vector<std::string>>();
  e.features = data.at("features").get<std::vector<std::string>>();
  e.schema.columns = e.features;
  append_new(e.schema.columns, e.targets);
  e.schema.missing = static_cast<Missing>(index_of(kMissing, data.at("missing")));
  e.scaling = static_cast<Scaling>(index_of(kScaling, data.at("scaling")));
  e.season = data.at("season");
  e.schema.separator = data.at("separator").get<std::string>().at(0);
  e.window = {task.at("lookback"), task.at("horizon"), task.at("stride")};
  e.quantiles = task.at("quantiles").get<std::vector<double>>();
  e.f64 = task.at("dtype") == "f64";
  e.split.kind = static_cast<SplitPlan::Kind>(index_of(kSplitKinds, split.at("kind")));
  if (e.split.kind == SplitPlan::Kind::borders) {
    e.split.train_end = border_from(split.at("train"));
    e.split.valid_end = border_from(split.at("valid"));
    if (!split.at("test").is_null()) e.split.test_end = border_from(split.at("test"));
  } else {
    e.split.train = split.at("train");
    e.split.valid = split.at("valid");
  }
  e.split.folds = split.at("folds");
  e.split.training = static_cast<Training>(index_of(kTraining, split.at("training")));
  e.split.purge = split.at("purge");
  e.training = training_from(j.at("train"));
  for (const json& m : j.at("members"))
    e.members.push_back({m.at("name"), m.at("plugin"), m.at("config").dump(), m.at("seed"), training_from(m.at("train")), {}});
  e.combine = j.at("combine").get<std::vector<std::string>>();
  e.metrics = j.at("metrics").get<std::vector<std::string>>();
  e.original_units = j.at("units") == "original";
  return e;
}

}  // namespace

Result<Experiment> load_experiment(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) return bad_input(fmt::format("{}: there is no such experiment file", path.string()));
  std::stringstream text;
  text << file.rdbuf();
  return parse_experiment(text.str(), path);
}

Result<Experiment> parse_experiment(std::string_view text, const fs::path& path) {
  toml::table root;
  try {
    root = toml::parse(text, path.string());
  } catch (const toml::parse_error& error) {
    return bad_input(fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  }
  std::optional<Error> mistake;
  Section top(root, "", path.string(), mistake);
  Experiment experiment = read_all(top, path, mistake);
  if (!mistake) read_members(root, top, path.string(), mistake, experiment);
  check_names(top, experiment);
  if (mistake) return *mistake;
  return experiment;
}

std::string to_json(const Experiment& e) {
  json members = json::array();
  for (const MemberPlan& m : e.members)
    members.push_back({{"name", m.name},
                       {"plugin", m.plugin},
                       {"config", json::parse(m.config_json)},
                       {"seed", m.seed},
                       {"train", to_json(m.training)}});
  json split{{"kind", kSplitKinds[static_cast<size_t>(e.split.kind)]},
             {"folds", e.split.folds},
             {"training", kTraining[static_cast<size_t>(e.split.training)]},
             {"purge", e.split.purge}};
  if (e.split.kind == SplitPlan::Kind::borders) {
    split["train"] = to_json(e.split.train_end);
    split["valid"] = to_json(e.split.valid_end);
    split["test"] = e.split.test_end ? to_json(*e.split.test_end) : json();
  } else {
    split["train"] = e.split.train;
    split["valid"] = e.split.valid;
  }
  const json j{{"name", e.name},
               {"seed", e.seed},
               {"data",
                {{"path", e.data_path.string()},
                 {"time", e.schema.time ? json(*e.schema.time) : json()},
                 {"targets", e.targets},
                 {"features", e.features},
                 {"missing", kMissing[static_cast<size_t>(e.schema.missing)]},
                 {"scaling", kScaling[static_cast<size_t>(e.scaling)]},
                 {"season", e.season},
                 {"separator", std::string(1, e.schema.separator)}}},
               {"task",
                {{"kind", "forecast"},
                 {"lookback", e.window.lookback},
                 {"horizon", e.window.horizon},
                 {"stride", e.window.stride},
                 {"quantiles", e.quantiles},
                 {"dtype", e.f64 ? "f64" : "f32"}}},
               {"split", split},
               {"train", to_json(e.training)},
               {"members", members},
               {"combine", e.combine},
               {"metrics", e.metrics},
               {"units", e.original_units ? "original" : "scaled"}};
  return j.dump(2);
}

Result<Experiment> experiment_from_json(const std::string& text, const fs::path& place) {
  try {
    Experiment experiment = from(json::parse(text));
    experiment.file = place;
    return experiment;
  } catch (const std::exception& damage) {
    return bad_input(fmt::format("{}: its experiment is damaged: {}", place.string(), damage.what()));
  }
}

}  // namespace tutti
