// A model's configuration as the plugin reads it: the JSON object that the host has checked against the plugin's
// schema, defaults filled in. Reading a key that the schema doesn't promise throws std::invalid_argument with a
// sentence; the C border turns it into TUTTI_BAD_ARGUMENT.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shared/result.h"

namespace tutti {

class Options {
 public:
  // No options.
  Options() = default;

  // json must be one JSON object.
  static Result<Options> parse(const char* json);

  int64_t integer(const char* key) const;  // 64 and, as in JSON Schema, 64.0; not 2^63 and beyond
  double number(const char* key) const;
  bool flag(const char* key) const;
  std::string text(const char* key) const;

 private:
  struct Object;
  std::shared_ptr<const Object> object_;
};

}  // namespace tutti
