#include "plugins/baselines/ewma.h"

#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<Ewma>::type();

TEST_CASE("an exponentially weighted mean starts at the first step") {
  Member member(kType, problem_of(3, 2), R"({"alpha":0.5})");  // 2, then (4 + 2) / 2 = 3, then (8 + 3) / 2
  CHECK(member.forecast({tensor_of<double>({1, 3, 1}, {2, 4, 8}), {}, {}, {}}) == std::vector<double>{5.5, 5.5});
}

TEST_CASE("with an alpha of 1 an exponentially weighted mean is the last value") {
  Member member(kType, problem_of(3, 1), R"({"alpha":1})");
  CHECK(member.forecast({tensor_of<double>({1, 3, 1}, {2, 4, 0.1}), {}, {}, {}}) == std::vector<double>{0.1});
}

TEST_CASE("an exponentially weighted mean starts at the first valid step") {
  Member member(kType, problem_of(3, 1), R"({"alpha":0.5})");
  CHECK(member.forecast({tensor_of<double>({1, 3, 1}, {99, 4, 8}), {}, tensor_of<int64_t>({1}, {2}), {}}) ==
        std::vector<double>{6});
}

TEST_CASE("an alpha outside of 0 to 1 is refused") {
  for (const char* config : {R"({"alpha":0})", R"({"alpha":1.5})", R"({"alpha":-1})"})
    CHECK(Member(kType, problem_of(3, 1), config).status() == TUTTI_BAD_ARGUMENT);
}

}  // namespace
}  // namespace tutti::baselines
