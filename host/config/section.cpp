#include "host/config/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/text/spelling.h"

namespace tutti {
namespace {

std::string words_for(const toml::node& node) {
  std::ostringstream text;
  switch (node.type()) {
    case toml::node_type::string:
      return "the text \"" + node.as_string()->get() + "\"";
    case toml::node_type::integer:
      return "the number " + std::to_string(node.as_integer()->get());
    case toml::node_type::floating_point:
      text << node.as_floating_point()->get();
      return "the number " + text.str();
    case toml::node_type::boolean:
      return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// JSON has no infinity and no NaN.
bool is_finite(const toml::node& node) {
  if (const auto* table = node.as_table())
    return std::all_of(table->begin(), table->end(), [](const auto& item) { return is_finite(item.second); });
  if (const auto* array = node.as_array()) return std::all_of(array->begin(), array->end(), is_finite);
  const auto* number = node.as_floating_point();
  return !number || std::isfinite(number->get());
}

nlohmann::json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_json(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    nlohmann::json list = nlohmann::json::array();
    for (const toml::node& value : *array) list.push_back(to_json(value));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text;
  if (const auto* value = node.as_date()) text << value->get();
  if (const auto* value = node.as_date_time()) text << value->get();
  return text.str();
}

}  // namespace

Section::Section(const toml::table& table, std::string name, std::string file, std::optional<Error>& mistake)
    : table_(table), name_(std::move(name)), file_(std::move(file)), mistake_(mistake) {}

SourcePlace Section::place() const { return {file_, static_cast<int>(table_.source().begin.line)}; }
SourcePlace Section::place(const char* key) const {
  const toml::node* node = table_.get(key);
  return node ? SourcePlace{file_, static_cast<int>(node->source().begin.line)} : place();
}

std::string Section::called(const char* key) const {
  return name_.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}\" in {}", key, name_);
}

void Section::mistake(const SourcePlace& place, const std::string& sentence) {
  if (!mistake_) mistake_ = bad_input(fmt::format("{}: {}", place.text(), sentence));
}

void Section::ask(const char* key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
}

const toml::node* Section::find(const char* key, bool needed) {
  ask(key);
  const toml::node* node = table_.get(key);
  if (!node && needed && !missing_) missing_ = bad_input(fmt::format("{}: {} is missing", place().text(), called(key)));
  return node;
}

void Section::wrong_type(const char* key, const toml::node& node, const char* wanted) {
  mistake(place(key), fmt::format("{} is {}; it must be {}", called(key), words_for(node), wanted));
}

std::string Section::text(const char* key, std::optional<std::string> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or("");
  if (const auto* value = node->as_string()) return value->get();
  wrong_type(key, *node, "a text");
  return {};
}

int64_t Section::integer(const char* key, int64_t least, std::optional<int64_t> fallback, int64_t most) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(least);
  const auto* value = node->as_integer();
  if (!value) {
    wrong_type(key, *node, "a whole number");
  } else if (value->get() < least || value->get() > most) {
    mistake(place(key), most == std::numeric_limits<int64_t>::max()
                            ? fmt::format("{} is {}; it must be at least {}", called(key), value->get(), least)
                            : fmt::format("{} is {}; it must be within {} to {}", called(key), value->get(), least, most));
  } else {
    return value->get();
  }
  return least;
}

double Section::number(const char* key, double least, double most, std::optional<double> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(least);
  if (!node->is_number()) {
    wrong_type(key, *node, "a number");
    return least;
  }
  const double value = *node->value<double>();
  if (value >= least && value <= most) return value;
  mistake(place(key), most == std::numeric_limits<double>::max()
                          ? fmt::format("{} is {}; it must be a finite number of at least {}", called(key), value, least)
                          : fmt::format("{} is {}; it must be within {} to {}", called(key), value, least, most));
  return least;
}

std::vector<std::string> Section::texts(const char* key, std::optional<std::vector<std::string>> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(std::vector<std::string>());
  std::vector<std::string> values;
  const auto* array = node->as_array();
  if (!array)
    wrong_type(key, *node, "a list of texts");
  else
    for (const toml::node& item : *array)
      item.is_string() ? values.push_back(item.as_string()->get()) : wrong_type(key, item, "a list of texts");
  return values;
}

std::vector<int64_t> Section::integers(const char* key, std::optional<std::vector<int64_t>> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(std::vector<int64_t>());
  std::vector<int64_t> values;
  const auto* array = node->as_array();
  if (!array)
    wrong_type(key, *node, "a list of whole numbers");
  else
    for (const toml::node& item : *array)
      item.is_integer() ? values.push_back(item.as_integer()->get()) : wrong_type(key, item, "a list of whole numbers");
  return values;
}

std::vector<double> Section::numbers(const char* key, std::optional<std::vector<double>> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(std::vector<double>());
  std::vector<double> values;
  const auto* array = node->as_array();
  if (!array)
    wrong_type(key, *node, "a list of numbers");
  else
    for (const toml::node& item : *array)
      item.is_number() ? values.push_back(*item.value<double>()) : wrong_type(key, item, "a list of numbers");
  return values;
}

size_t Section::choice(const char* key, const std::vector<std::string>& choices, std::optional<size_t> fallback) {
  const toml::node* node = find(key, !fallback);
  if (!node) return fallback.value_or(0);
  const auto* value = node->as_string();
  if (!value) {
    wrong_type(key, *node, fmt::format("one of {}", list_of(choices)).c_str());
    return 0;
  }
  const auto found = std::find(choices.begin(), choices.end(), value->get());
  if (found == choices.end())
    mistake(place(key), fmt::format("{} is \"{}\"{}; it must be {}{}", called(key), value->get(),
                                    did_you_mean(value->get(), choices), choices.size() > 1 ? "one of " : "", list_of(choices)));
  return found == choices.end() ? 0 : static_cast<size_t>(found - choices.begin());
}

Border Section::border(const char* key) {
  const toml::node* node = find(key, true);
  if (!node) return {};
  if (const auto* value = node->as_integer()) return {value->get()};
  if (const auto* value = node->as_string()) return {value->get()};
  if (node->is_date() || node->is_date_time()) return {to_json(*node).get<std::string>()};
  wrong_type(key, *node, "a row number or a date");
  return {};
}

std::string Section::json_table(const char* key) {
  const toml::table* found = table(key, false);
  if (!found) return "{}";
  if (!is_finite(*found)) mistake(place(key), fmt::format("{} holds a number that isn't finite", called(key)));
  return to_json(*found).dump();
}

const toml::table* Section::table(const char* key, bool needed) {
  const toml::node* node = find(key, needed);
  if (!node) return nullptr;
  if (!node->is_table()) wrong_type(key, *node, "a table");
  return node->as_table();
}

void Section::refuse_the_rest() {
  for (const auto& [key, value] : table_) {
    const std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string where = name_.empty() ? "" : " in " + name_;
    mistake({file_, static_cast<int>(key.source().begin.line)},
            fmt::format("unknown key \"{}\"{}{}; there are {}", name, where, did_you_mean(name, asked_), list_of(asked_)));
  }
  if (missing_ && !mistake_) mistake_ = missing_;
}

}  // namespace tutti
