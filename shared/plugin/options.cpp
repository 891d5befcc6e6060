#include "shared/plugin/options.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti {

struct Options::Object {
  nlohmann::json json;
};

namespace {

[[noreturn]] void refuse(const char* key, const std::string& reason) {
  throw std::invalid_argument(std::string("option \"") + key + "\" " + reason);
}

template <class Object>
const nlohmann::json& at(const std::shared_ptr<Object>& object, const char* key,
                         bool (nlohmann::json::*has_type)() const noexcept, const char* type) {
  if (!object || !object->json.contains(key)) refuse(key, "is missing");
  const nlohmann::json& value = *object->json.find(key);
  if (!(value.*has_type)()) refuse(key, std::string("must be ") + type);
  return value;
}

constexpr double kWholeDoubles = 0x1p53;  // up to here every whole number is a double

}  // namespace

Result<Options> Options::parse(const char* json) {
  auto object = std::make_shared<Object>();
  object->json = nlohmann::json::parse(json ? json : "", nullptr, /*allow_exceptions=*/false);
  if (!object->json.is_object()) return bad_input("the configuration is not a JSON object");
  Options options;
  options.object_ = std::move(object);
  return options;
}

int64_t Options::integer(const char* key) const {
  const nlohmann::json& value = at(object_, key, &nlohmann::json::is_number, "a whole number");
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) refuse(key, "is too large");
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > kWholeDoubles) refuse(key, "must be a whole number");
  }
  return value.get<int64_t>();
}
double Options::number(const char* key) const { return at(object_, key, &nlohmann::json::is_number, "a number").get<double>(); }
bool Options::flag(const char* key) const { return at(object_, key, &nlohmann::json::is_boolean, "true or false").get<bool>(); }
std::string Options::text(const char* key) const {
  return at(object_, key, &nlohmann::json::is_string, "a text").get<std::string>();
}

}  // namespace tutti
