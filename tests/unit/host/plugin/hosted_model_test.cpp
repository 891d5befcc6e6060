#include "host/plugin/hosted_model.h"

#include <catch2/catch.hpp>
#include <limits>

#include "shared/parallel/executor.h"
#include "shared/plugin/define_plugin.h"

namespace tutti {
namespace {

// Answers its one weight everywhere, or misbehaves as its configuration says.
class Constant final : public Model, public Trainable, public Parameterised {
 public:
  static ModelDescription description() {
    ModelDescription d;
    d.training = TUTTI_TRAINING_SUPERVISED;
    d.id = "test.constant", d.name = "constant", d.summary = "Answers its weight.";
    d.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES;
    d.config_schema = R"({"type":"object","properties":{"fault":{"type":"string","default":""}}})";
    return d;
  }
  static Result<std::unique_ptr<Constant>> create(const HostLink&, const Problem& problem, const Options& options) {
    auto made = std::make_unique<Constant>();
    made->fault_ = options.text("fault");
    if (made->fault_ == "create") return bad_input("fault is a fault");
    made->levels_ = static_cast<int64_t>(problem.quantiles.size());
    made->weight_ = Tensor::of<double>({1});
    made->moment_ = Tensor::of<double>({1});
    made->parameters_ = {{"weight", TUTTI_ROLE_WEIGHT, made->weight_.borrow()},
                         {"moment", TUTTI_ROLE_OPTIMIZER, made->moment_.borrow()}};
    return made;
  }
  Result<void> predict(const tutti_batch& batch, const tutti_output& output) override {
    if (fault_ == "throw") throw std::runtime_error("thrown by a fault");
    double* point = static_cast<double*>(output.point.data);
    const int64_t cells = batch.size * output.point.shape[1] * output.point.shape[2];
    for (int64_t i = 0; i < cells - (fault_ == "unwritten" ? 1 : 0); ++i) point[i] = weight_.data<double>()[0];
    if (fault_ == "infinite") point[0] = std::numeric_limits<double>::infinity();
    double* quantiles = static_cast<double*>(output.quantiles.data);
    for (int64_t i = 0; quantiles && i < cells * levels_; ++i)
      quantiles[i] = fault_ == "crossed" ? -static_cast<double>(i % levels_) : 1;
    return {};
  }
  Result<void> step(const tutti_train_in&, tutti_train_out& out) override {
    weight_.data<double>()[0] += 1, moment_.data<double>()[0] += 10;
    out.loss = 0.5;
    out.scalars[0] = {"moment", moment_.data<double>()[0]};
    out.scalar_count = 1;
    return {};
  }
  Result<void> notify(uint32_t, double) override { return {}; }
  const std::vector<Parameter>& parameters() override { return parameters_; }

 private:
  std::string fault_;
  int64_t levels_ = 0;
  Tensor weight_, moment_;
  std::vector<Parameter> parameters_;
};

struct Stage {
  SerialExecutor executor;
  Library library{{}, nullptr, {border::Adapter<Constant>::type()}};
  Tensor past = Tensor::of<double>({2, 4, 1}), target = Tensor::of<double>({2, 3, 1});

  Result<std::unique_ptr<HostedModel>> make(const std::string& fault = "", std::vector<double> quantiles = {}) {
    Problem problem;
    problem.features = 1, problem.lookback = 4, problem.horizon = 3, problem.targets = 1;
    problem.target_feature = {0};
    problem.quantiles = std::move(quantiles);
    if (!problem.quantiles.empty()) problem.answers |= TUTTI_ANSWER_QUANTILES;
    return make_in_process_model({&library, library.models[0]}, {"me", "{\"fault\":\"" + fault + "\"}", problem}, executor,
                                 nullptr, {});
  }
  tutti_batch batch(bool with_target = false) const {
    tutti_batch batch{};
    batch.struct_size = sizeof batch;
    batch.size = 2;
    batch.past = past.borrow();
    if (with_target) batch.target = target.borrow();
    return batch;
  }
};

}  // namespace

TEST_CASE("an answer comes back in f64 and whole") {
  Stage stage;
  auto model = stage.make();
  REQUIRE(model);
  const auto answer = (*model)->predict(stage.batch());
  REQUIRE(answer);
  CHECK(answer->point == std::vector<double>(6, 0.0));
}

TEST_CASE("an answer left unwritten, not finite or thrown is that member's error, by name") {
  Stage stage;
  CHECK((*stage.make("unwritten"))->predict(stage.batch()).error().message ==
        "me left 1 of 6 values of its point forecast unwritten");
  CHECK((*stage.make("infinite"))->predict(stage.batch()).error().message ==
        "me answered 1 of 6 values of its point forecast that are not finite");
  CHECK((*stage.make("throw"))->predict(stage.batch()).error().message == "me: thrown by a fault");
  CHECK(stage.make("create").error().message == "me: fault is a fault");
}

TEST_CASE("crossed quantiles are sorted and counted") {
  Stage stage;
  const auto answer = (*stage.make("crossed", {0.1, 0.9}))->predict(stage.batch());
  REQUIRE(answer);
  CHECK(answer->crossings == 6);
  CHECK(answer->quantiles[0] == -1);
  CHECK(answer->quantiles[1] == 0);
}

TEST_CASE("parameters come as copies and go back by name") {
  Stage stage;
  auto model = *stage.make();
  CHECK(model->weight_count() == 1);
  const auto before = *model->parameters(ParameterSet::all);
  REQUIRE(before.size() == 2);
  REQUIRE(model->train_step(stage.batch(true)));
  CHECK(model->predict(stage.batch())->point[0] == 1);
  REQUIRE(model->restore(before, ParameterSet::learned));  // the moment stays
  CHECK(model->predict(stage.batch())->point[0] == 0);
  CHECK(model->parameters(ParameterSet::all)->at(1).tensor.data<double>()[0] == 10);
  std::vector<NamedTensor> wrong;
  wrong.push_back({"weight", Tensor::of<double>({2})});
  CHECK(model->restore(wrong, ParameterSet::learned).error().message ==
        "me: \"weight\" has the shape f64 [2] in the checkpoint; the model wants f64 [1]");
  CHECK(model->restore({}, ParameterSet::learned).error().message == "me: the checkpoint lacks \"weight\"");
}

TEST_CASE("what a model was shown is summed in order, for prediction and training apart") {
  Stage stage;
  auto one = *stage.make(), two = *stage.make();
  const tutti_batch batch = stage.batch(true);
  Stage other;
  other.past.data<double>()[0] = 1;
  REQUIRE(one->predict(stage.batch()));
  REQUIRE(one->predict(other.batch()));
  REQUIRE(two->predict(stage.batch()));
  CHECK(one->shown_to_predict() != two->shown_to_predict());
  REQUIRE(two->predict(other.batch()));
  CHECK(one->shown_to_predict() == two->shown_to_predict());
  two->forget_shown();
  REQUIRE(two->predict(other.batch()));
  REQUIRE(two->predict(stage.batch()));
  CHECK(one->shown_to_predict() != two->shown_to_predict());
  CHECK(one->shown_to_train() == 0);
  REQUIRE(one->train_step(batch));
  CHECK(one->shown_to_train() != 0);
}

TEST_CASE("a step tells its loss and its named values") {
  Stage stage;
  const auto step = (*stage.make())->train_step(stage.batch(true));
  REQUIRE(step);
  CHECK(step->loss == 0.5);
  REQUIRE(step->scalars.size() == 1);
  CHECK(step->scalars[0] == std::pair<std::string, double>("moment", 10));
}

TEST_CASE("a model that doesn't compute in the experiment's dtype is refused with the cure") {
  Stage stage;
  tutti_model_type type = *stage.library.models[0];
  type.dtypes = TUTTI_DTYPE_F32;
  Problem problem;
  problem.features = problem.lookback = problem.horizon = problem.targets = 1;
  problem.target_feature = {0};
  const auto made = make_in_process_model({&stage.library, &type}, {"me", "{}", problem}, stage.executor, nullptr, {});
  CHECK(made.error().message == "me: test.constant doesn't compute in f64; set [task] dtype = \"f32\"");
}

}  // namespace tutti
