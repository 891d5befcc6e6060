#include "shared/plugin/options.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti {

struct Options::Object {
  nlohmann::json json;

  const nlohmann::json& at(const char* key, bool (nlohmann::json::*has_type)() const noexcept, const char* type) const {
    const auto found = json.find(key);
    if (found == json.end()) throw std::invalid_argument(std::string("option \"") + key + "\" is missing");
    if (!((*found).*has_type)()) throw std::invalid_argument(std::string("option \"") + key + "\" must be " + type);
    return *found;
  }
};

Result<Options> Options::parse(const char* json) {
  auto object = std::make_shared<Object>();
  object->json = nlohmann::json::parse(json ? json : "", nullptr, /*allow_exceptions=*/false);
  if (!object->json.is_object()) return bad_input("the configuration is not a JSON object");
  Options options;
  options.object_ = std::move(object);
  return options;
}

int64_t Options::integer(const char* key) const {
  return object_->at(key, &nlohmann::json::is_number_integer, "a whole number").get<int64_t>();
}
double Options::number(const char* key) const { return object_->at(key, &nlohmann::json::is_number, "a number").get<double>(); }
bool Options::flag(const char* key) const { return object_->at(key, &nlohmann::json::is_boolean, "true or false").get<bool>(); }
std::string Options::text(const char* key) const { return object_->at(key, &nlohmann::json::is_string, "a text").get<std::string>(); }

}  // namespace tutti
