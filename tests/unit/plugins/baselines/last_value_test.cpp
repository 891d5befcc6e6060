#include "plugins/baselines/last_value.h"

#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<LastValue>::type();

TEST_CASE("last value repeats the newest step") {
  Member member(kType, problem_of(3, 2));
  CHECK(member.forecast({tensor_of<double>({2, 3, 1}, {1, 2, 3, 4, 5, 6}), {}, {}, {}}) == std::vector<double>{3, 3, 6, 6});
}

TEST_CASE("last value answers in 32-bit floats, too") {
  Member member(kType, problem_of<float>(2, 2));
  CHECK(member.forecast<float>({tensor_of<float>({1, 2, 1}, {1, 0.1f}), {}, {}, {}}) == std::vector<float>{0.1f, 0.1f});
}

TEST_CASE("last value learns nothing and has no parameters") {
  CHECK(kType->training == TUTTI_TRAINING_NONE);
  CHECK(kType->get_extension(TUTTI_TRAIN_ID) == nullptr);
  CHECK(kType->get_extension(TUTTI_PARAMETERS_ID) == nullptr);
}

}  // namespace
}  // namespace tutti::baselines
