#include "plugins/baselines/seasonal_naive.h"

#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<SeasonalNaive>::type();

Problem with_season(Problem problem, int64_t season) {
  problem.season = season;
  return problem;
}

TEST_CASE("seasonal naive repeats the last season over and over") {
  Member member(kType, problem_of(4, 5), R"({"season":3})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {1, 2, 3, 4}), {}, {}, {}}) == std::vector<double>{2, 3, 4, 2, 3});
}

TEST_CASE("a season of 0 is the season of the problem") {
  Member member(kType, with_season(problem_of(4, 3), 2), R"({"season":0})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {1, 2, 3, 4}), {}, {}, {}}) == std::vector<double>{3, 4, 3});
}

TEST_CASE("a season of the configuration goes before the problem's") {
  Member member(kType, with_season(problem_of(4, 3), 2), R"({"season":4})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {1, 2, 3, 4}), {}, {}, {}}) == std::vector<double>{1, 2, 3});
}

TEST_CASE("a season longer than the valid steps falls back to the last value") {
  Member member(kType, problem_of(4, 3), R"({"season":3})");
  const Windows padded{tensor_of<double>({2, 4, 1}, {0, 0, 3, 4, 0, 2, 3, 4}), {}, tensor_of<int64_t>({2}, {2, 3}), {}};
  CHECK(member.forecast(padded) == std::vector<double>{4, 4, 4, 2, 3, 4});
  CHECK(member.forecast({tensor_of<double>({1, 2, 1}, {3, 4}), {}, {}, {}}) == std::vector<double>{4, 4, 4});
}

TEST_CASE("an unknown season is refused") {
  Member member(kType, problem_of(4, 3), R"({"season":0})");
  CHECK(member.status() == TUTTI_BAD_ARGUMENT);
  CHECK(member.message() == "the season is unknown; set season in the member's config or for the data");
}

TEST_CASE("a season longer than the lookback is refused") {
  Member member(kType, with_season(problem_of(4, 3), 5), R"({"season":0})");
  CHECK(member.status() == TUTTI_BAD_ARGUMENT);
  CHECK(member.message() == "a season of 5 steps doesn't fit a lookback of 4; lengthen the lookback or shorten the season");
}

}  // namespace
}  // namespace tutti::baselines
