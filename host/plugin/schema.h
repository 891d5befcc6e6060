// A plugin's configuration against its own JSON Schema. The subset that plugins use: an object with properties, each
// with type (integer, number, boolean, string, array), default, minimum, maximum, exclusiveMinimum, exclusiveMaximum, enum,
// items and description; additionalProperties is false whether said or not.
#pragma once

#include <string>
#include <vector>

#include "shared/result.h"

namespace tutti {

// The configuration with every default filled in, as JSON. Errors name the key, what was found, what is wanted, and for
// an unknown key the nearest right spelling.
Result<std::string> complete_config(const std::string& schema_json, const std::string& config_json);

// One key of a schema, for people.
struct ConfigKey {
  std::string name, type, default_value, range, description;
};
std::vector<ConfigKey> describe_schema(const std::string& schema_json);

}  // namespace tutti
