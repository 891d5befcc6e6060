#include "host/report/results.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/report/made_results.h"

using namespace tutti;

namespace {

std::vector<std::string> order(const Results& results) {
  std::vector<std::string> names;
  for (const Entry* entry : ranked(results)) names.push_back(entry->name);
  return names;
}

}  // namespace

TEST_CASE("entries are ranked by the first metric, those without a figure after the others, failed ones last") {
  Results results = made_results();
  CHECK(order(results) == std::vector<std::string>{"stack", "mamba2", "mean", "ridge", "tlob"});
  results.entries[4].overall["mae"] = std::nan("");
  results.entries[3].overall.clear();
  CHECK(order(results) == std::vector<std::string>{"mamba2", "ridge", "mean", "stack", "tlob"});
}

TEST_CASE("a metric of which more is better ranks the highest first") {
  Results results = made_results();
  results.metric_names = {"directional-accuracy"};
  CHECK(order(results) == std::vector<std::string>{"mamba2", "mean", "stack", "ridge", "tlob"});
  CHECK(best_overall(results, "directional-accuracy") == 0.5325);
  CHECK(best_overall(results, "mae") == 0.0812);
}

TEST_CASE("ties keep the order of the experiment") {
  Results results = made_results();
  for (Entry& entry : results.entries) entry.overall["mae"] = 1;
  CHECK(order(results) == std::vector<std::string>{"ridge", "mamba2", "mean", "stack", "tlob"});
}

TEST_CASE("a failed entry is never the best") {
  Results results = made_results();
  results.entries[2].overall["mae"] = 0;
  CHECK(best_overall(results, "mae") == 0.0812);
  CHECK(std::isnan(best_overall(results, "unheard-of")));
}

TEST_CASE("mean weights leave out folds that have none") {
  Entry entry;
  CHECK(mean_weights(entry).empty());
  entry.weights = {{0.25, 0.75}, {}, {0.75, 0.25}};
  CHECK(mean_weights(entry) == std::vector<double>{0.5, 0.5});
}
