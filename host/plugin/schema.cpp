#include "host/plugin/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/text/spelling.h"

namespace tutti {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return false;
}

std::string words_for(const std::string& type) {
  if (type == "integer") return "a whole number";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  if (type == "string") return "a text";
  if (type == "array") return "a list";
  return "an object";
}

std::string range_of(const json& rule) {
  if (rule.contains("enum")) {
    std::string choices;
    for (const json& choice : rule["enum"]) choices += (choices.empty() ? "" : ", ") + choice.dump();
    return "one of " + choices;
  }
  std::vector<std::string> parts;
  if (rule.contains("minimum")) parts.push_back("at least " + rule["minimum"].dump());
  if (rule.contains("exclusiveMinimum")) parts.push_back("above " + rule["exclusiveMinimum"].dump());
  if (rule.contains("maximum")) parts.push_back("at most " + rule["maximum"].dump());
  if (rule.contains("exclusiveMaximum")) parts.push_back("below " + rule["exclusiveMaximum"].dump());
  return fmt::format("{}", fmt::join(parts, " and "));
}

bool in_range(const json& value, const json& rule) {
  if (rule.contains("enum")) return std::find(rule["enum"].begin(), rule["enum"].end(), value) != rule["enum"].end();
  if (!value.is_number()) return true;
  const double x = value.get<double>();
  const auto bound = [&](const char* name, double none) { return rule.contains(name) ? rule[name].get<double>() : none; };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return x >= bound("minimum", -infinity) && x <= bound("maximum", infinity) && x > bound("exclusiveMinimum", -infinity) &&
         x < bound("exclusiveMaximum", infinity);
}

Result<void> check_value(const std::string& key, const json& value, const json& rule) {
  const std::string type = rule.value("type", "");
  if (!type.empty() && !has_type(value, type))
    return bad_input(fmt::format("config key \"{}\" is {}; it must be {}", key, value.dump(), words_for(type)));
  if (!in_range(value, rule))
    return bad_input(fmt::format("config key \"{}\" is {}; it must be {}", key, value.dump(), range_of(rule)));
  if (value.is_array() && rule.contains("items"))
    for (const json& item : value) TUTTI_CHECK(check_value(key, item, rule["items"]));
  return {};
}

}  // namespace

Result<std::string> complete_config(const std::string& schema_json, const std::string& config_json) {
  const json schema = json::parse(schema_json, nullptr, false);
  json config = json::parse(config_json, nullptr, false);
  if (!schema.is_object()) return failed("the plugin's configuration schema is not a JSON object");
  if (!config.is_object()) return bad_input("the configuration is not a table of keys and values");
  const json rules = schema.value("properties", json::object());

  std::vector<std::string> known;
  for (const auto& [key, rule] : rules.items()) known.push_back(key);
  for (const auto& [key, value] : config.items()) {
    if (!rules.contains(key))
      return bad_input(fmt::format("unknown config key \"{}\"{}; there are {}", key, did_you_mean(key, known),
                                   known.empty() ? std::string("none") : list_of(known)));
    TUTTI_CHECK(check_value(key, value, rules[key]));
  }
  for (const auto& [key, rule] : rules.items()) {
    if (config.contains(key)) {
      if (rule.value("type", "") == "number") config[key] = config[key].get<double>();
    } else if (rule.contains("default")) {
      config[key] = rule["default"];
    } else {
      return bad_input(fmt::format("config key \"{}\" is missing; it has no default", key));
    }
  }
  return config.dump();
}

std::vector<ConfigKey> describe_schema(const std::string& schema_json) {
  const json schema = json::parse(schema_json, nullptr, false);
  std::vector<ConfigKey> keys;
  if (!schema.is_object()) return keys;
  const json rules = schema.value("properties", json::object());
  for (const auto& [name, rule] : rules.items())
    keys.push_back({name, rule.value("type", ""), rule.contains("default") ? rule["default"].dump() : "", range_of(rule),
                    rule.value("description", "")});
  return keys;
}

}  // namespace tutti
