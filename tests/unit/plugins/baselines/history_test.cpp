#include "plugins/baselines/history.h"

#include "plugins/baselines/drift.h"
#include "plugins/baselines/ewma.h"
#include "plugins/baselines/last_value.h"
#include "plugins/baselines/mean.h"
#include "plugins/baselines/ridge.h"
#include "plugins/baselines/seasonal_naive.h"
#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

TEST_CASE("each target continues its own feature") {
  Member member(border::Adapter<LastValue>::type(), problem_of(2, 2, {2, 0}, 3));
  const Tensor past = tensor_of<double>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(member.forecast({past.clone(), {}, {}, {}}) == std::vector<double>{6, 4, 6, 4});
}

TEST_CASE("a history begins at the first valid step") {
  const Problem problem = problem_of(4, 1);
  const Windows windows{tensor_of<double>({2, 4, 1}, {9, 9, 3, 4, 5, 6, 7, 8}), {}, tensor_of<int64_t>({2}, {2, 4}), {}};
  const auto history = *Histories<double>::of(windows.borrow(), problem);
  REQUIRE(history(0, 0).size() == 2);
  CHECK(history(0, 0)(0) == 3);
  REQUIRE(history(1, 0).size() == 4);
  CHECK(history(1, 0)(0) == 5);
}

TEST_CASE("a history is read through any strides") {
  const Problem problem = problem_of(2, 1, {1}, 2);
  const Tensor feature_major = tensor_of<double>({1, 2, 2}, {1, 2, 3, 4});
  const View<const double, 3> past = feature_major.view<double, 3>().transposed();
  tutti_batch batch{};
  batch.size = 1, batch.past = as_tensor(past);
  const auto history = *Histories<double>::of(batch, problem);
  CHECK(history(0, 0)(0) == 3);
  CHECK(history(0, 0)(1) == 4);
}

TEST_CASE("no baseline takes a target that is not among the features") {
  const Problem problem = problem_of(2, 1, {0, -1});
  const std::pair<const tutti_model_type*, const char*> types[] = {
      {border::Adapter<LastValue>::type(), "{}"},
      {border::Adapter<SeasonalNaive>::type(), R"({"season":1})"},
      {border::Adapter<Drift>::type(), "{}"},
      {border::Adapter<Mean>::type(), R"({"window":0})"},
      {border::Adapter<Ewma>::type(), R"({"alpha":0.5})"},
      {border::Adapter<Ridge>::type(), R"({"form":"linear","lookback":0,"ridge":1})"}};
  for (const auto& [type, config] : types) {
    INFO(type->id);
    Member member(type, problem, config);
    CHECK(member.status() == TUTTI_UNSUPPORTED);
    CHECK(member.message() == "target 1 is not among the features; its own past is needed to continue it");
  }
}

}  // namespace
}  // namespace tutti::baselines
