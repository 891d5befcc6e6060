#include <catch2/catch.hpp>

#include "tests/support/experiment.h"
#include "tests/support/program.h"

using namespace tutti::testing;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Runs an experiment that must be refused: exit code 2, one sentence that holds all the words, and no folder left.
void check_refused(const std::string& toml, const std::string& csv, const std::vector<std::string>& words) {
  const TempDir work;
  work.write("small.toml", toml);
  if (!csv.empty()) work.write("prices.csv", csv);
  const Outcome outcome =
      tutti::testing::tutti("evaluate " + (work / "small.toml").string() + " --out " + (work / "run").string());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.out.empty());
  for (const std::string& word : words) {
    INFO("wanted: " << word);
    CHECK(outcome.err.find(word) != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(work / "run"));
  CHECK_FALSE(std::filesystem::exists(work / "run.partial"));
}

const std::string kToml = experiment_toml(kSimpleMembers);
const std::string kCsv = prices_csv(200);

}  // namespace

TEST_CASE("a missing experiment file is named") {
  const Outcome outcome = tutti::testing::tutti("evaluate nowhere.toml");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err == "tutti: nowhere.toml: there is no such experiment file\n");
}

TEST_CASE("a missing data file is named") { check_refused(kToml, "", {"prices.csv"}); }

TEST_CASE("a missing column is named, with the nearest there is") {
  check_refused(replaced(kToml, "\"beta\"]", "\"btea\"]"), kCsv, {"btea", "did you mean \"beta\"?"});
}

TEST_CASE("a text in a number is named with file, line and column") {
  check_refused(kToml, replaced(kCsv, "2000-01-03,", "2000-01-03,many"), {"prices.csv:4", "alpha", "many"});
}

TEST_CASE("an empty field is named, and what to do about it") {
  std::string csv = kCsv;
  const size_t at = csv.find("2000-01-05,") + 11;
  csv.erase(at, csv.find(',', at) - at);
  check_refused(kToml, csv, {"prices.csv:6", "alpha", "forward-fill"});
}

TEST_CASE("times that don't rise are named") {
  check_refused(kToml, replaced(kCsv, "2000-02-01", "1999-02-01"), {"prices.csv:30", "1999-02-01"});
}

TEST_CASE("too few rows for the window are counted") { check_refused(kToml, prices_csv(24), {"rows", "lookback"}); }

TEST_CASE("an unknown key is named with its line and the nearest right spelling") {
  check_refused(replaced(kToml, "lookback", "lokback"), kCsv, {"small.toml:9", "lokback", "did you mean \"lookback\"?"});
}

TEST_CASE("an unknown plugin is named with its line and the nearest right spelling") {
  check_refused(replaced(kToml, "tutti.ridge", "tutti.rigde"), kCsv,
                {"small.toml:", "tutti.rigde", "did you mean \"tutti.ridge\"?"});
}

TEST_CASE("a wrong type in a plugin's configuration is named with what is wanted") {
  check_refused(experiment_toml("[[member]]\nplugin = \"tutti.ridge\"\nconfig = { lookback = \"long\" }\n"), kCsv,
                {"lookback", "\"long\"", "a whole number"});
}

TEST_CASE("an unknown key in a plugin's configuration is named with the nearest right spelling") {
  check_refused(experiment_toml("[[member]]\nplugin = \"tutti.ridge\"\nconfig = { lokback = 3 }\n"), kCsv,
                {"lokback", "did you mean \"lookback\"?"});
}

TEST_CASE("a configuration that the plugin itself refuses is refused before work begins") {
  check_refused(experiment_toml("[[member]]\nplugin = \"tutti.mamba2\"\nconfig = { d_model = 8, headdim = 7 }\n"), kCsv,
                {"headdim"});
}

TEST_CASE("an unknown combination and an unknown metric are named") {
  check_refused(experiment_toml(kSimpleMembers, "[\"medain\"]"), kCsv, {"medain", "did you mean \"median\"?"});
  check_refused(kToml + "[report]\nmetrics = [\"rsme\"]\n", kCsv, {"rsme", "did you mean \"rmse\"?"});
}

TEST_CASE("a wrong type in the experiment is named with what is wanted") {
  check_refused(replaced(kToml, "horizon = 3", "horizon = \"3\""), kCsv, {"small.toml:10", "horizon", "a whole number"});
}

TEST_CASE("a broken experiment file is named with its line") { check_refused("name = \n", kCsv, {"small.toml:1"}); }

TEST_CASE("a member's name that can't be part of a file's name is refused") {
  for (const char* name : {"a/b", "truth", ""})
    check_refused(experiment_toml("[[member]]\nplugin = \"tutti.ridge\"\nname = \"" + std::string(name) + "\"\n"), kCsv,
                  {"small.toml:21", "name"});
}

TEST_CASE("unknown commands and options are refused, and help is offered") {
  const Outcome command = tutti::testing::tutti("evalute x.toml"), option = tutti::testing::tutti("plugins --jason");
  CHECK(command.exit_code == 2);
  CHECK(command.err.find("did you mean \"evaluate\"?") != std::string::npos);
  CHECK(command.err.find("--help") != std::string::npos);
  CHECK(option.exit_code == 2);
  const Outcome help = tutti::testing::tutti("evaluate --help");
  CHECK(help.exit_code == 0);
  CHECK(help.out.find("Example") != std::string::npos);
}

TEST_CASE("numbers are read with a decimal point whatever the locale") {
  const TempDir work;
  work.write("small.toml", kToml);
  work.write("prices.csv", kCsv);
  const Outcome outcome = run("LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 '" TUTTI_BINARY_DIR "/bin/tutti' evaluate " +
                              (work / "small.toml").string() + " --out " + (work / "run").string());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
}
