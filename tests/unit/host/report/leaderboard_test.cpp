#include <catch2/catch.hpp>
#include <sstream>

#include "tests/unit/host/report/made_results.h"

using namespace tutti;

TEST_CASE("the leaderboard of a small evaluation") {
  CHECK(to_text(made_results(), 80) == R"(treasury: 2 targets, 3 steps ahead from the last 60, 2 folds, original units
tcmd.csv, 9574 rows, 4 columns

#  name          mae   directional-accuracy
-  --------  --------  ---------------------
1  + stack   0.08120*                0.5298
2    mamba2  0.08310                 0.5325*
3  + mean    0.09050                 0.5300
4    ridge   0.12500                 0.5100

+ combination, * best of its column

weights (mean over folds)
  mean   ridge 0.50, mamba2 0.50
  stack  mamba2 0.94, ridge 0.06

failed
  tlob: gave no answer to batch 3 within 60 s; its process was ended

notes
  tlob failed and is in no combination
)");
}

TEST_CASE("no line is longer than the width, however narrow") {
  Results results = made_results();
  results.entries[1].name = results.member_names[1] = "a-member-with-a-name-that-is-far-too-long-for-a-narrow-terminal";
  results.entries[2].failure = "/a/path/that/is/longer/than/any/narrow/terminal/could/ever/show/on/one/line and more words";
  results.notes.push_back("Zürich and Genève have no values on holidays; these rows were filled in with the value before");
  for (const char* metric : {"rmse", "mase", "smape", "mse"}) results.metric_names.push_back(metric);
  for (const int width : {0, 40, 60, 79, 110, 200}) {
    std::istringstream lines(to_text(results, width));
    for (std::string line; std::getline(lines, line);) {
      const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      INFO(width << ": " << line);
      CHECK(characters <= std::max(width, 40));
      CHECK((line.empty() || line.back() != ' '));
    }
  }
}

TEST_CASE("metrics that find no room are named") {
  std::string narrow = to_text(made_results(), 40);
  std::replace(narrow.begin(), narrow.end(), '\n', ' ');
  CHECK(narrow.find("no room for directional-accuracy") != std::string::npos);
  CHECK(to_text(made_results(), 110).find("no room") == std::string::npos);
}

TEST_CASE("entries with the same figure share a rank") {
  Results results = made_results();
  results.entries[1].overall["mae"] = 0.0812;
  const std::string text = to_text(results, 100);
  CHECK(text.find("\n1    mamba2") != std::string::npos);
  CHECK(text.find("\n1  + stack") != std::string::npos);
  CHECK(text.find("\n3  + mean") != std::string::npos);
}

TEST_CASE("a figure that is NaN has no rank and is shown as a dash") {
  Results results = made_results();
  results.entries[0].overall["mae"] = std::nan("");
  CHECK(to_text(results, 100).find("\n-    ridge         - ") != std::string::npos);
}

TEST_CASE("an evaluation in which every member failed still says why") {
  Results results = made_results();
  for (Entry& entry : results.entries) entry.failure = "no";
  const std::string text = to_text(results, 100);
  CHECK(text.find("no member gave an answer") != std::string::npos);
  CHECK(text.find("ridge: no") != std::string::npos);
}

TEST_CASE("empty results give a leaderboard without entries") { CHECK(!to_text({}, 100).empty()); }
