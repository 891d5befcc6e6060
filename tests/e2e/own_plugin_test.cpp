#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/experiment.h"
#include "tests/support/program.h"

using namespace tutti::testing;

namespace {

const std::string kFixtures = TUTTI_BINARY_DIR "/tests/e2e/fixtures";

Outcome evaluate(const TempDir& work, const std::string& members, const std::string& plugins) {
  work.write("prices.csv", prices_csv(200));
  work.write("small.toml", experiment_toml(members));
  return tutti::testing::tutti("evaluate " + (work / "small.toml").string() + " --out " + (work / "run").string() +
                               " --plugins " + plugins);
}

std::string member(const std::string& plugin) { return "[[member]]\nplugin = \"" + plugin + "\"\n"; }

}  // namespace

TEST_CASE("a plugin of one C file, built with nothing but cc, is listed, inspected and evaluated beside the others") {
  const TempDir work;
  std::filesystem::create_directory(work / "mine");
  const Outcome built =
      run("cd " TUTTI_SOURCE_DIR " && cc -shared -fPIC -I plugin_api/include plugin_api/example/last_value.c -o " +
          (work / "mine/last_value.so").string());
  INFO(built.err);
  REQUIRE(built.exit_code == 0);

  const std::string plugins = " --plugins " + (work / "mine").string();
  const Outcome listed = tutti::testing::tutti("plugins --json" + plugins);
  REQUIRE(listed.exit_code == 0);
  CHECK(listed.out.find("\"example.last-value\"") != std::string::npos);
  const Outcome inspected = tutti::testing::tutti("inspect example.last-value" + plugins);
  CHECK(inspected.exit_code == 0);
  CHECK(inspected.out.find("example.last-value") != std::string::npos);
  CHECK(tutti::testing::tutti("inspect " + (work / "mine/last_value.so").string()).exit_code == 0);

  const Outcome outcome =
      evaluate(work, std::string(kSimpleMembers) + ("[[member]]\nplugin = \"example.last-value\"\nname = \"mine\"\n"),
               (work / "mine").string());
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.find("mine") != std::string::npos);
}

TEST_CASE(
    "a member that answers NaN, leaves its answer half written or fails is left out, with the reason, and the others go on") {
  const TempDir work;
  const Outcome outcome =
      evaluate(work, std::string(kSimpleMembers) + member("fixture.nan") + member("fixture.unwritten") + member("fixture.error"),
               kFixtures);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto metrics = nlohmann::json::parse(text_of(work / "run/metrics.json"));
  std::map<std::string, std::string> failures;
  for (const auto& entry : metrics.at("entries")) failures[entry.at("name")] = entry.at("failure");
  CHECK(failures.at("nan").find("not finite") != std::string::npos);
  CHECK(failures.at("unwritten").find("unwritten") != std::string::npos);
  CHECK(failures.at("error").find("it is a fixture") != std::string::npos);
  CHECK(failures.at("ridge").empty());
  CHECK(failures.at("stack").empty());
  CHECK(outcome.out.find("\nfailed\n  nan: ") != std::string::npos);
}

TEST_CASE("a run without a living member fails and says why") {
  const TempDir work;
  const Outcome outcome = evaluate(work, member("fixture.nan"), kFixtures);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("no member is left") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(work / "run"));
}

TEST_CASE("a member that writes to its input is named before the process ends") {
  const TempDir work;
  const Outcome outcome = evaluate(work, std::string(kSimpleMembers) + member("fixture.writer"), kFixtures);
  CHECK(outcome.exit_code > 128);
  CHECK(outcome.err.find("member \"writer\" wrote to memory that it may only read") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(work / "run"));
}

TEST_CASE("files that are no plugins are refused by reason, and none of their code runs") {
  const TempDir work;
  std::filesystem::create_directory(work / "odd");
  work.write("odd/text.so", "not a library");
  work.write("odd/empty.so", "");
  const std::string whole = text_of(kFixtures + "/fixture.so");
  work.write("odd/cut.so", whole.substr(0, whole.size() / 2));
  std::filesystem::copy(kFixtures + "/bare/bare.so", work / "odd/bare.so");
  std::filesystem::copy(kFixtures + "/other/other_major.so", work / "odd/other_major.so");
  const Outcome outcome = tutti::testing::tutti("plugins --plugins " + (work / "odd").string());
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.find("text.so is not a shared library") != std::string::npos);
  CHECK(outcome.out.find("empty.so is not a shared library") != std::string::npos);
  CHECK(outcome.out.find("cut.so is cut off") != std::string::npos);
  CHECK(outcome.out.find("bare.so carries no plugin note") != std::string::npos);
  CHECK(outcome.out.find("other_major.so was built for version 9") != std::string::npos);
  CHECK(outcome.out.find("constructor ran") == std::string::npos);
  CHECK(outcome.err.find("constructor ran") == std::string::npos);
}

TEST_CASE("inspect shows what lies between a model's input and its answer") {
  const Outcome outcome = tutti::testing::tutti("inspect tutti.mamba2 --trace");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto shown_as = [&](const std::string& name) {  // what follows the name on its line, up to the range
    std::istringstream line(outcome.out.substr(std::min(outcome.out.find("\n  " + name + " "), outcome.out.size())));
    std::string word, dtype, shape;
    line >> word >> dtype >> shape;
    return dtype + " " + shape;
  };
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    CHECK(shown_as(layer + "norm") == "f64 [2,60,64]");
    CHECK(shown_as(layer + "mixer.in_proj") == "f64 [2,60,290]");
    CHECK(shown_as(layer + "mixer.conv1d") == "f64 [2,60,160]");
    CHECK(shown_as(layer + "mixer.dt") == "f64 [2,60,2]");
    CHECK(shown_as(layer + "mixer.decay") == "f64 [2,60,2]");
    CHECK(shown_as(layer + "mixer.states") == "f64 [2,2,64,16]");
    CHECK(shown_as(layer + "mixer.scan") == "f64 [2,60,128]");
    CHECK(shown_as(layer + "mixer.norm") == "f64 [2,60,128]");
    CHECK(shown_as(layer + "mixer.out_proj") == "f64 [2,60,64]");
  }
  const Outcome without = tutti::testing::tutti("inspect tutti.ridge --trace");
  CHECK(without.exit_code == 2);
  CHECK(without.err.find("shows no intermediate values") != std::string::npos);
}

TEST_CASE("a library without a note is taken with --allow-bare") {
  const Outcome outcome = tutti::testing::tutti("inspect " + kFixtures + "/bare/bare.so --allow-bare");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("fixture.bare") != std::string::npos);
}

TEST_CASE("a plugin file cut off anywhere is refused and never crashes the host") {
  const TempDir work;
  std::filesystem::create_directory(work / "cut");
  const std::string whole = text_of(kFixtures + "/fixture.so");
  for (size_t size = 0; size < whole.size(); size += 1024)
    work.write("cut/at" + std::to_string(size) + ".so", whole.substr(0, size));
  const Outcome outcome = tutti::testing::tutti("plugins --json --plugins " + (work / "cut").string());
  REQUIRE(outcome.exit_code == 0);
  const auto listed = nlohmann::json::parse(outcome.out);
  for (const auto& plugin : listed.at("plugins")) CHECK(plugin.at("id") != "fixture");
  CHECK(listed.at("refused").size() == (whole.size() + 1023) / 1024);
}
