#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/report/results.h"

namespace tutti {
namespace {

using nlohmann::json;
using Figures = std::map<std::string, double>;

// JSON has no NaN: null stands for it.
json number(double value) { return std::isfinite(value) ? json(value) : json(); }
double number(const json& j) { return j.is_number() ? j.get<double>() : std::numeric_limits<double>::quiet_NaN(); }

json list(const std::vector<double>& values) {
  json j = json::array();
  for (const double value : values) j.push_back(number(value));
  return j;
}
std::vector<double> list(const json& j) {
  std::vector<double> values;
  for (const json& value : j) values.push_back(number(value));
  return values;
}

json figures(const Figures& values) {
  json j = json::object();
  for (const auto& [name, value] : values) j[name] = number(value);
  return j;
}
Figures figures(const json& j) {
  Figures values;
  for (const auto& [name, value] : j.items()) values[name] = number(value);
  return values;
}

json entry_to(const Entry& entry) {
  json folds = json::array(), weights = json::array();
  for (const Figures& fold : entry.folds) folds.push_back(figures(fold));
  for (const std::vector<double>& fold : entry.weights) weights.push_back(list(fold));
  return {{"kind", entry.kind == Entry::Kind::member ? "member" : "combination"},
          {"name", entry.name},
          {"plugin", entry.plugin},
          {"failure", entry.failure},
          {"overall", figures(entry.overall)},
          {"folds", folds},
          {"valid", figures(entry.valid)},
          {"weights", weights},
          {"parameters", entry.parameters},
          {"train_seconds", number(entry.train_seconds)},
          {"predict_seconds", number(entry.predict_seconds)},
          {"step_error", list(entry.step_error)}};
}

Entry entry_from(const json& j) {
  Entry entry;
  entry.kind = j.at("kind") == "member" ? Entry::Kind::member : Entry::Kind::combination;
  entry.name = j.at("name");
  entry.plugin = j.at("plugin");
  entry.failure = j.at("failure");
  entry.overall = figures(j.at("overall"));
  for (const json& fold : j.at("folds")) entry.folds.push_back(figures(fold));
  entry.valid = figures(j.at("valid"));
  for (const json& fold : j.at("weights")) entry.weights.push_back(list(fold));
  entry.parameters = j.at("parameters");
  entry.train_seconds = number(j.at("train_seconds"));
  entry.predict_seconds = number(j.at("predict_seconds"));
  entry.step_error = list(j.at("step_error"));
  return entry;
}

json curve_to(const LossCurve& curve) {
  return {{"member", curve.member}, {"fold", curve.fold}, {"train", list(curve.train)}, {"valid", list(curve.valid)}, {"best_epoch", curve.best_epoch}};
}
LossCurve curve_from(const json& j) { return {j.at("member"), j.at("fold"), list(j.at("train")), list(j.at("valid")), j.at("best_epoch")}; }

json sample_to(const Sample& sample) {
  json forecast = json::object();
  for (const auto& [name, values] : sample.forecast) forecast[name] = list(values);
  return {{"title", sample.title}, {"past", list(sample.past)}, {"truth", list(sample.truth)}, {"forecast", forecast}};
}
Sample sample_from(const json& j) {
  Sample sample{j.at("title"), list(j.at("past")), list(j.at("truth")), {}};
  for (const auto& [name, values] : j.at("forecast").items()) sample.forecast[name] = list(values);
  return sample;
}

Results from(const json& j) {
  Results r;
  r.name = j.at("name");
  r.data = j.at("data");
  r.units = j.at("units");
  r.targets = j.at("targets").get<std::vector<std::string>>();
  r.lookback = j.at("lookback");
  r.horizon = j.at("horizon");
  r.metric_names = j.at("metrics").get<std::vector<std::string>>();
  r.lower_is_better = j.at("lower_is_better").get<std::map<std::string, bool>>();
  r.definitions = j.at("definitions").get<std::map<std::string, std::string>>();
  r.member_names = j.at("members").get<std::vector<std::string>>();
  for (const json& fold : j.at("folds")) r.folds.push_back({fold.at("train"), fold.at("valid"), fold.at("test")});
  for (const json& entry : j.at("entries")) r.entries.push_back(entry_from(entry));
  for (const json& curve : j.at("loss_curves")) r.curves.push_back(curve_from(curve));
  for (const json& sample : j.at("samples")) r.samples.push_back(sample_from(sample));
  r.notes = j.at("notes").get<std::vector<std::string>>();
  r.experiment_text = j.at("experiment");
  r.tutti_version = j.at("tutti_version");
  return r;
}

template <class Item>
json list_of(const std::vector<Item>& items, json (*to)(const Item&)) {
  json j = json::array();
  for (const Item& item : items) j.push_back(to(item));
  return j;
}

}  // namespace

std::string to_json(const Results& r) {
  const json j{{"name", r.name},
               {"data", r.data},
               {"units", r.units},
               {"targets", r.targets},
               {"lookback", r.lookback},
               {"horizon", r.horizon},
               {"metrics", r.metric_names},
               {"lower_is_better", r.lower_is_better},
               {"definitions", r.definitions},
               {"members", r.member_names},
               {"folds", list_of<FoldSummary>(r.folds, [](const FoldSummary& f) -> json { return {{"train", f.train}, {"valid", f.valid}, {"test", f.test}}; })},
               {"entries", list_of<Entry>(r.entries, entry_to)},
               {"loss_curves", list_of<LossCurve>(r.curves, curve_to)},
               {"samples", list_of<Sample>(r.samples, sample_to)},
               {"notes", r.notes},
               {"experiment", r.experiment_text},
               {"tutti_version", r.tutti_version}};
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Results> results_from_json(const std::string& text, const std::string& source) {
  try {
    return from(json::parse(text));
  } catch (const json::exception& damage) {
    return bad_input(source + " is damaged: " + damage.what() + "; run the evaluation again");
  }
}

}  // namespace tutti
