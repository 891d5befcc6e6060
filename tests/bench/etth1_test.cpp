// The published protocol on ETTh1: what closed-form members score is known to six digits, so every step from file to metric
// is held to it: borders, scaler, windows, metrics, none of the windows left out.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace tutti::testing;

namespace {

const std::filesystem::path kData = TUTTI_SOURCE_DIR "/../shared/data/ETTh1.csv";

bool data_is_missing() {
  if (std::filesystem::exists(kData)) return false;
  skip(kData.string() + " is not there");
  return true;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The figures of one experiment file at a horizon.
nlohmann::json evaluate(const std::string& file, int horizon) {
  const TempDir work;
  std::string toml = text_of(TUTTI_SOURCE_DIR "/tests/bench/" + file);
  toml = replaced(toml, "../../../shared/data/ETTh1.csv", kData.string());
  toml = replaced(toml, "horizon = 96", "horizon = " + std::to_string(horizon));
  work.write("etth1.toml", toml);
  const Outcome outcome = tutti::testing::tutti("evaluate " + (work / "etth1.toml").string() +
                                                " --json --no-predictions --quiet --out " + (work / "run").string());
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return nlohmann::json::parse(outcome.out);
}

double figure(const nlohmann::json& results, const std::string& name, const char* metric) {
  for (const auto& entry : results.at("entries"))
    if (entry.at("name") == name) return entry.at("overall").at(metric);
  FAIL("there is no " << name);
  return 0;
}

struct Row {
  const char* name;
  double mse, mae;
};

// Equal to the five decimals that the published targets are given to.
void check_rows(const nlohmann::json& results, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(figure(results, row.name, "mse") == Approx(row.mse).margin(5e-6).epsilon(0));
    CHECK(figure(results, row.name, "mae") == Approx(row.mae).margin(5e-6).epsilon(0));
  }
}

struct Combined {
  const char* name;
  const char* metric;
  double value;
};

// Within 1e-3 of an independent computation, which is known to four digits.
void check_combined(const nlohmann::json& results, const std::vector<Combined>& rows) {
  for (const Combined& row : rows) {
    INFO(row.name);
    CHECK(figure(results, row.name, row.metric) == Approx(row.value).margin(1e-3).epsilon(0));
  }
}

}  // namespace

TEST_CASE("ETTh1 is scored as published at horizon 96, and combinations as computed independently") {
  if (data_is_missing()) return;
  const auto results = evaluate("etth1.toml", 96);
  check_rows(results, {{"last-value", 1.294371, 0.713181},
                       {"seasonal-naive", 0.512225, 0.433303},
                       {"mean-of-96", 0.700839, 0.558088},
                       {"linear-336", 0.370235, 0.391538},
                       {"nlinear-336", 0.370199, 0.391506}});
  check_combined(results, {{"stack", "mse", 0.3662},
                           {"stack", "mae", 0.3876},
                           {"greedy", "mse", 0.3663},
                           {"median", "mse", 0.3739},
                           {"trimmed-mean", "mse", 0.3766},
                           {"inverse-error", "mse", 0.3742},
                           {"mean", "mse", 0.3977}});
}

TEST_CASE("ETTh1 is scored as published at horizon 192") {
  if (data_is_missing()) return;
  const auto results = evaluate("etth1.toml", 192);
  check_rows(results, {{"last-value", 1.324880, 0.733101},
                       {"seasonal-naive", 0.580781, 0.469160},
                       {"mean-of-96", 0.718324, 0.570475},
                       {"linear-336", 0.404151, 0.412681},
                       {"nlinear-336", 0.403448, 0.411171}});
}

TEST_CASE("ETTh1 is scored as published at horizon 336") {
  if (data_is_missing()) return;
  const auto results = evaluate("etth1.toml", 336);
  check_rows(results, {{"last-value", 1.329927, 0.745972},
                       {"seasonal-naive", 0.649914, 0.500762},
                       {"mean-of-96", 0.722939, 0.580888},
                       {"linear-336", 0.433447, 0.434190},
                       {"nlinear-336", 0.427685, 0.426163}});
}

TEST_CASE("ETTh1 is scored as published at horizon 720, and combinations as computed independently") {
  if (data_is_missing()) return;
  const auto results = evaluate("etth1.toml", 720);
  check_rows(results, {{"last-value", 1.335121, 0.755045},
                       {"seasonal-naive", 0.655405, 0.514122},
                       {"mean-of-96", 0.711641, 0.595262},
                       {"linear-336", 0.471446, 0.487761},
                       {"nlinear-336", 0.434362, 0.450457}});
  check_combined(results, {{"stack", "mse", 0.4713},
                           {"stack", "mae", 0.4877},
                           {"greedy", "mse", 0.4713},
                           {"median", "mse", 0.4479},
                           {"trimmed-mean", "mse", 0.4508},
                           {"mean", "mse", 0.4727}});
}

TEST_CASE("ETTh1 is scored as published with a lookback of 96") {
  if (data_is_missing()) return;
  check_rows(evaluate("etth1-lookback-96.toml", 96), {{"linear-96", 0.381480, 0.392967}, {"nlinear-96", 0.383270, 0.391696}});
  check_rows(evaluate("etth1-lookback-96.toml", 192), {{"linear-96", 0.431827, 0.424339}, {"nlinear-96", 0.434141, 0.421194}});
  check_rows(evaluate("etth1-lookback-96.toml", 336), {{"linear-96", 0.475389, 0.450626}, {"nlinear-96", 0.475582, 0.442576}});
  check_rows(evaluate("etth1-lookback-96.toml", 720), {{"linear-96", 0.500001, 0.496945}, {"nlinear-96", 0.469748, 0.461511}});
}
