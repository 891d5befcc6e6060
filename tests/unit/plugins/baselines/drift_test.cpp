#include "plugins/baselines/drift.h"

#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<Drift>::type();

TEST_CASE("drift draws on the line through the first and the last step") {
  Member member(kType, problem_of(3, 3));
  CHECK(member.forecast({tensor_of<double>({1, 3, 1}, {1, 9, 2}), {}, {}, {}}) == std::vector<double>{2.5, 3, 3.5});
}

TEST_CASE("drift starts at the first valid step, and from one step alone goes nowhere") {
  Member member(kType, problem_of(3, 2));
  const Windows padded{tensor_of<double>({2, 3, 1}, {9, 1, 2, 9, 9, 2}), {}, tensor_of<int64_t>({2}, {2, 1}), {}};
  CHECK(member.forecast(padded) == std::vector<double>{3, 4, 2, 2});
}

}  // namespace
}  // namespace tutti::baselines
