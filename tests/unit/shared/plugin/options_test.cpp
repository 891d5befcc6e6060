#include "shared/plugin/options.h"

#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>

using namespace tutti;

namespace {

Options options(const char* json) {
  Result<Options> parsed = Options::parse(json);
  REQUIRE(parsed);
  return *parsed;
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options are read by key and type") {
  const Options made = options(R"({"layers": 4, "rate": 0.5, "bias": true, "form": "linear"})");
  CHECK(made.integer("layers") == 4);
  CHECK(made.number("rate") == 0.5);
  CHECK(made.number("layers") == 4.0);
  CHECK(made.flag("bias"));
  CHECK(made.text("form") == "linear");
}

TEST_CASE("a whole number may be written as a fraction, as in JSON Schema") {
  CHECK(options(R"({"n": 64.0})").integer("n") == 64);
  CHECK(options(R"({"n": 1e3})").integer("n") == 1000);
  CHECK(options(R"({"n": -0.0})").integer("n") == 0);
  CHECK(options(R"({"n": 9007199254740992.0})").integer("n") == int64_t{1} << 53);
  CHECK(options(R"({"n": 9223372036854775807})").integer("n") == INT64_MAX);
  CHECK(options(R"({"n": -9223372036854775808})").integer("n") == INT64_MIN);
}

TEST_CASE("a number that is no 64-bit whole number is refused where one is needed") {
  const auto refused = [](const char* json) { return refusal([&] { options(json).integer("n"); }); };
  CHECK(refused(R"({"n": 64.5})") == "option \"n\" must be a whole number");
  CHECK(refused(R"({"n": 1e300})") == "option \"n\" must be a whole number");
  CHECK(refused(R"({"n": -1e19})") == "option \"n\" must be a whole number");
  CHECK(refused(R"({"n": 9223372036854775808})") == "option \"n\" is too large");
  CHECK(refused(R"({"n": "64"})") == "option \"n\" must be a whole number");
  CHECK(refused(R"({"n": true})") == "option \"n\" must be a whole number");
}

TEST_CASE("an option that is missing or of another type is named") {
  const Options made = options(R"({"layers": 4, "none": null})");
  CHECK(refusal([&] { made.integer("width"); }) == "option \"width\" is missing");
  CHECK(refusal([&] { made.text("layers"); }) == "option \"layers\" must be a text");
  CHECK(refusal([&] { made.flag("layers"); }) == "option \"layers\" must be true or false");
  CHECK(refusal([&] { made.number("none"); }) == "option \"none\" must be a number");
}

TEST_CASE("options that were never parsed are all missing") {
  CHECK(refusal([] { Options().integer("layers"); }) == "option \"layers\" is missing");
}

TEST_CASE("a configuration that is not one JSON object is refused") {
  for (const char* text :
       {static_cast<const char*>(nullptr), "", "[]", "4", "null", "{", "{} {}", "{\"a\": }", "{\"a\": \"\xff\"}"}) {
    const Result<Options> parsed = Options::parse(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::bad_input);
    CHECK(parsed.error().message == "the configuration is not a JSON object");
  }
}

TEST_CASE("a copy of options outlives the first and the text that they were read from") {
  std::string text = R"({"form": "linear"})";
  Options copy;
  {
    const Options first = options(text.c_str());
    copy = first;
  }
  text.assign(text.size(), 'x');
  CHECK(copy.text("form") == "linear");
}
