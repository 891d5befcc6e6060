#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/report/results.h"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tutti-results";
constexpr int kVersion = 1;

Json number(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

double to_number(const Json& json) {
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return json.get<double>();
}

Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double x : values) json.push_back(number(x));
  return json;
}

// A number must not pass for a list of one: these throw where json is of another type.
const Json::array_t& items(const Json& json) { return json.get_ref<const Json::array_t&>(); }
const Json::object_t& fields(const Json& json) { return json.get_ref<const Json::object_t&>(); }

std::vector<double> to_numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& x : items(json)) values.push_back(to_number(x));
  return values;
}

Json figures(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [metric, x] : values) json[metric] = number(x);
  return json;
}

std::map<std::string, double> to_figures(const Json& json) {
  std::map<std::string, double> values;
  for (const auto& [metric, x] : fields(json)) values[metric] = to_number(x);
  return values;
}

// An array of what write gives for each, and back.
template <class T, class Write>
Json list(const std::vector<T>& values, Write write) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(write(value));
  return json;
}

template <class Read>
auto to_list(const Json& json, Read read) {
  std::vector<decltype(read(json))> values;
  for (const Json& value : items(json)) values.push_back(read(value));
  return values;
}

Entry::Kind to_kind(const Json& json) {
  if (json == "member") return Entry::Kind::member;
  if (json == "combination") return Entry::Kind::combination;
  throw Json::other_error::create(501, "an entry's kind is neither member nor combination", &json);
}

Json write_entry(const Entry& entry) {
  return {{"kind", entry.kind == Entry::Kind::member ? "member" : "combination"},
          {"name", entry.name},
          {"plugin", entry.plugin},
          {"failure", entry.failure},
          {"overall", figures(entry.overall)},
          {"folds", list(entry.folds, figures)},
          {"valid", figures(entry.valid)},
          {"weights", list(entry.weights, numbers)},
          {"parameters", entry.parameters},
          {"train_seconds", number(entry.train_seconds)},
          {"predict_seconds", number(entry.predict_seconds)},
          {"step_error", numbers(entry.step_error)}};
}

Entry read_entry(const Json& json) {
  Entry entry;
  entry.kind = to_kind(json.at("kind"));
  json.at("name").get_to(entry.name);
  json.at("plugin").get_to(entry.plugin);
  json.at("failure").get_to(entry.failure);
  entry.overall = to_figures(json.at("overall"));
  entry.folds = to_list(json.at("folds"), to_figures);
  entry.valid = to_figures(json.at("valid"));
  entry.weights = to_list(json.at("weights"), to_numbers);
  json.at("parameters").get_to(entry.parameters);
  entry.train_seconds = to_number(json.at("train_seconds"));
  entry.predict_seconds = to_number(json.at("predict_seconds"));
  entry.step_error = to_numbers(json.at("step_error"));
  return entry;
}

Json write_fold(const FoldSummary& fold) { return {{"train", fold.train}, {"valid", fold.valid}, {"test", fold.test}}; }

FoldSummary read_fold(const Json& json) { return {json.at("train"), json.at("valid"), json.at("test")}; }

Json write_curve(const LossCurve& curve) {
  return {{"member", curve.member},
          {"fold", curve.fold},
          {"train", numbers(curve.train)},
          {"valid", numbers(curve.valid)},
          {"best_epoch", curve.best_epoch}};
}

LossCurve read_curve(const Json& json) {
  return {json.at("member"), json.at("fold"), to_numbers(json.at("train")), to_numbers(json.at("valid")), json.at("best_epoch")};
}

Json write_sample(const Sample& sample) {
  Json forecasts = Json::object();
  for (const auto& [name, values] : sample.forecast) forecasts[name] = numbers(values);
  return {{"title", sample.title}, {"past", numbers(sample.past)}, {"truth", numbers(sample.truth)}, {"forecast", forecasts}};
}

Sample read_sample(const Json& json) {
  Sample sample{json.at("title"), to_numbers(json.at("past")), to_numbers(json.at("truth")), {}};
  for (const auto& [name, values] : fields(json.at("forecast"))) sample.forecast[name] = to_numbers(values);
  return sample;
}

Json write_meanings(const std::map<std::string, MetricMeaning>& meanings) {
  Json json = Json::object();
  for (const auto& [metric, meaning] : meanings)
    json[metric] = {{"definition", meaning.definition}, {"lower_is_better", meaning.lower_is_better}};
  return json;
}

std::map<std::string, MetricMeaning> read_meanings(const Json& json) {
  std::map<std::string, MetricMeaning> meanings;
  for (const auto& [metric, meaning] : fields(json)) meanings[metric] = {meaning.at("definition"), meaning.at("lower_is_better")};
  return meanings;
}

Results read_results(const Json& json) {
  Results results;
  json.at("name").get_to(results.name);
  json.at("tutti_version").get_to(results.tutti_version);
  json.at("data").get_to(results.data);
  json.at("units").get_to(results.units);
  json.at("targets").get_to(results.targets);
  json.at("lookback").get_to(results.lookback);
  json.at("horizon").get_to(results.horizon);
  json.at("metric_names").get_to(results.metric_names);
  results.metric_meanings = read_meanings(json.at("metric_meanings"));
  json.at("member_names").get_to(results.member_names);
  results.folds = to_list(json.at("folds"), read_fold);
  results.entries = to_list(json.at("entries"), read_entry);
  results.curves = to_list(json.at("curves"), read_curve);
  results.samples = to_list(json.at("samples"), read_sample);
  json.at("notes").get_to(results.notes);
  json.at("experiment_text").get_to(results.experiment_text);
  return results;
}

}  // namespace

std::string to_json(const Results& results) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"tutti_version", results.tutti_version},
                     {"name", results.name},
                     {"data", results.data},
                     {"units", results.units},
                     {"targets", results.targets},
                     {"lookback", results.lookback},
                     {"horizon", results.horizon},
                     {"metric_names", results.metric_names},
                     {"metric_meanings", write_meanings(results.metric_meanings)},
                     {"member_names", results.member_names},
                     {"folds", list(results.folds, write_fold)},
                     {"entries", list(results.entries, write_entry)},
                     {"curves", list(results.curves, write_curve)},
                     {"samples", list(results.samples, write_sample)},
                     {"notes", results.notes},
                     {"experiment_text", results.experiment_text}};
  // A failure's text may come from a plugin, in any bytes: those that aren't UTF-8 are replaced.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Results> results_from_json(const std::string& text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || json.value("format", "") != kFormat) return bad_input(source + " doesn't hold results of tutti");
    if (json.value("version", 0) != kVersion)
      return unsupported(source + " was written by another version of tutti; run the evaluation again");
    return read_results(json);
  } catch (const Json::exception& error) {
    return bad_input(source + ": " + error.what());
  }
}

}  // namespace tutti
