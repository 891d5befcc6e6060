#include "plugins/baselines/mean.h"

#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<Mean>::type();

TEST_CASE("a mean over a window of 0 takes the whole lookback") {
  Member member(kType, problem_of(4, 2), R"({"window":0})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {1, 2, 3, 6}), {}, {}, {}}) == std::vector<double>{3, 3});
}

TEST_CASE("a mean takes the newest steps of its window") {
  Member member(kType, problem_of(4, 1), R"({"window":2})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {1, 2, 3, 6}), {}, {}, {}}) == std::vector<double>{4.5});
}

TEST_CASE("a mean leaves padding out") {
  Member member(kType, problem_of(4, 1), R"({"window":3})");
  CHECK(member.forecast({tensor_of<double>({1, 4, 1}, {99, 99, 3, 6}), {}, tensor_of<int64_t>({1}, {2}), {}}) ==
        std::vector<double>{4.5});
}

TEST_CASE("a mean's window longer than the lookback is refused") {
  Member member(kType, problem_of(4, 1), R"({"window":5})");
  CHECK(member.status() == TUTTI_BAD_ARGUMENT);
  CHECK(member.message() == "window is 5; it must be within 0 and the lookback of 4");
}

}  // namespace
}  // namespace tutti::baselines
