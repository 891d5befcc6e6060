#include "host/plugin/schema.h"

#include <catch2/catch.hpp>

namespace tutti {
namespace {

const char* kSchema = R"({"type":"object","properties":{
  "width":{"type":"integer","default":32,"minimum":1,"maximum":64,"description":"how wide"},
  "rate":{"type":"number","default":0.5,"exclusiveMinimum":0},
  "form":{"type":"string","default":"linear","enum":["linear","nlinear"]},
  "on":{"type":"boolean","default":false},
  "sizes":{"type":"array","default":[1,2],"items":{"type":"integer","minimum":1}}}})";

std::string refusal(const std::string& config, const std::string& schema = kSchema) {
  const auto result = complete_config(schema, config);
  return result ? "accepted" : result.error().message;
}

}  // namespace

TEST_CASE("defaults are filled in, and what is given stays") {
  CHECK(*complete_config(kSchema, "{}") == R"({"form":"linear","on":false,"rate":0.5,"sizes":[1,2],"width":32})");
  CHECK(*complete_config(kSchema, R"({"width":8,"on":true})") ==
        R"({"form":"linear","on":true,"rate":0.5,"sizes":[1,2],"width":8})");
}

TEST_CASE("a whole number where a number is wanted becomes one") {
  CHECK(*complete_config(kSchema, R"({"rate":2})") == R"({"form":"linear","on":false,"rate":2.0,"sizes":[1,2],"width":32})");
}

TEST_CASE("what a schema doesn't allow is refused with the key, what was found and what is wanted") {
  CHECK(refusal(R"({"widht":8})") ==
        "unknown config key \"widht\" (did you mean \"width\"?); there are \"form\", \"on\", \"rate\", \"sizes\" and \"width\"");
  CHECK(refusal(R"({"width":"8"})") == "config key \"width\" is \"8\"; it must be a whole number");
  CHECK(refusal(R"({"width":2.5})") == "config key \"width\" is 2.5; it must be a whole number");
  CHECK(refusal(R"({"width":0})") == "config key \"width\" is 0; it must be at least 1 and at most 64");
  CHECK(refusal(R"({"width":65})") == "config key \"width\" is 65; it must be at least 1 and at most 64");
  CHECK(refusal(R"({"rate":0})") == "config key \"rate\" is 0; it must be above 0");
  CHECK(refusal(R"({"form":"cubic"})") == "config key \"form\" is \"cubic\"; it must be one of \"linear\", \"nlinear\"");
  CHECK(refusal(R"({"on":1})") == "config key \"on\" is 1; it must be true or false");
  CHECK(refusal(R"({"sizes":3})") == "config key \"sizes\" is 3; it must be a list");
  CHECK(refusal(R"({"sizes":[1,0]})") == "config key \"sizes\" is 0; it must be at least 1");
  CHECK(refusal("[]") == "the configuration is not a table of keys and values");
}

TEST_CASE("a key without a default must be given") {
  CHECK(refusal("{}", R"({"properties":{"width":{"type":"integer"}}})") == "config key \"width\" is missing; it has no default");
}

TEST_CASE("a schema is described key by key") {
  const auto keys = describe_schema(kSchema);
  REQUIRE(keys.size() == 5);
  CHECK(keys[4].name == "width");
  CHECK(keys[4].type == "integer");
  CHECK(keys[4].default_value == "32");
  CHECK(keys[4].range == "at least 1 and at most 64");
  CHECK(keys[4].description == "how wide");
}

}  // namespace tutti
