#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/host/report/made_results.h"

using namespace tutti;

namespace {

Results back_and_forth(const Results& results) {
  auto read = results_from_json(to_json(results), "metrics.json");
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  return *std::move(read);
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("everything in results is written and read back") {
  const Results results = made_results(), read = back_and_forth(results);
  CHECK(to_json(read) == to_json(results));
  CHECK(read.name == "treasury");
  CHECK(read.data == results.data);
  CHECK(read.units == "original");
  CHECK(read.targets == results.targets);
  CHECK(read.lookback == 60);
  CHECK(read.horizon == 3);
  CHECK(read.metric_names == results.metric_names);
  CHECK(!read.metric_meanings.at("directional-accuracy").lower_is_better);
  CHECK(read.metric_meanings.at("mae").definition == "mean of |p - y|");
  CHECK(read.member_names == results.member_names);
  REQUIRE(read.folds.size() == 2);
  CHECK(read.folds[1].train == results.folds[1].train);
  CHECK(read.folds[1].valid == results.folds[1].valid);
  CHECK(read.folds[1].test == results.folds[1].test);
  REQUIRE(read.entries.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    const Entry &a = read.entries[i], &b = results.entries[i];
    CHECK(a.kind == b.kind);
    CHECK(a.name == b.name);
    CHECK(a.plugin == b.plugin);
    CHECK(a.failure == b.failure);
    CHECK(a.overall == b.overall);
    CHECK(a.folds == b.folds);
    CHECK(a.valid == b.valid);
    CHECK(a.weights == b.weights);
    CHECK(a.parameters == b.parameters);
    CHECK(a.train_seconds == b.train_seconds);
    CHECK(a.predict_seconds == b.predict_seconds);
    CHECK(a.step_error == b.step_error);
  }
  REQUIRE(read.curves.size() == 2);
  CHECK(read.curves[1].member == "mamba2");
  CHECK(read.curves[1].fold == 1);
  CHECK(read.curves[1].valid == results.curves[1].valid);
  CHECK(read.curves[1].best_epoch == 2);
  REQUIRE(read.samples.size() == 1);
  CHECK(read.samples[0].title == results.samples[0].title);
  CHECK(read.samples[0].past == results.samples[0].past);
  CHECK(read.samples[0].truth == results.samples[0].truth);
  CHECK(read.samples[0].forecast == results.samples[0].forecast);
  CHECK(read.notes == results.notes);
  CHECK(read.experiment_text == results.experiment_text);
  CHECK(read.tutti_version == "0.1.0");
}

TEST_CASE("numbers come back bit for bit, NaN as null, infinity by name") {
  Results results = made_results();
  const std::vector<double> numbers = {0.1, 1.0 / 3, -0.0, 5e-324, 1.7976931348623157e308, 123456789.123456789};
  results.entries[0].step_error = numbers;
  results.entries[0].overall = {{"a", std::nan("")}, {"b", HUGE_VAL}, {"c", -HUGE_VAL}};
  CHECK(to_json(results).find("\"a\": null") != std::string::npos);
  const Results read = back_and_forth(results);
  for (size_t i = 0; i < numbers.size(); ++i) CHECK(same_bits(read.entries[0].step_error[i], numbers[i]));
  CHECK(std::isnan(read.entries[0].overall.at("a")));
  CHECK(read.entries[0].overall.at("b") == HUGE_VAL);
  CHECK(read.entries[0].overall.at("c") == -HUGE_VAL);
  CHECK(std::isnan(read.curves[0].train[0]));
}

TEST_CASE("a failure's text in any bytes can be written") {
  Results results = made_results();
  results.entries[2].failure = "bad \xff byte \"quoted\" \n";
  CHECK(back_and_forth(results).entries[2].failure == "bad \xEF\xBF\xBD byte \"quoted\" \n");
}

TEST_CASE("what isn't a file of results is refused with its name") {
  const auto refusal = [](const std::string& json) { return results_from_json(json, "metrics.json").error().message; };
  CHECK(refusal("{").find("metrics.json: ") == 0);
  CHECK(refusal("[]") == "metrics.json doesn't hold results of tutti");
  CHECK(refusal("{}") == "metrics.json doesn't hold results of tutti");
  CHECK(refusal("{\"format\": 3}").find("metrics.json") == 0);
  CHECK(refusal("{\"format\": \"tutti-results\", \"version\": 99}") ==
        "metrics.json was written by another version of tutti; run the evaluation again");
  std::string wrong = to_json(made_results());
  wrong.replace(wrong.find("\"horizon\": 3"), 12, "\"horizon\": []");
  CHECK(refusal(wrong).find("metrics.json: ") == 0);
}
