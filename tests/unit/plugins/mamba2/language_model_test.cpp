#include "plugins/mamba2/language_model.h"

#include <catch2/catch.hpp>

#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

LanguageModelShape small_shape(bool tied, bool grouped = true) {
  LanguageModelShape shape;
  shape.block.d_model = 6, shape.block.d_inner = shape.block.d_ssm = 12, shape.block.headdim = 3, shape.block.ngroups = 2;
  shape.block.d_state = 3, shape.block.chunk = 4, shape.block.grouped_norm = grouped, shape.block.epsilon = 1e-3;
  shape.vocab_size = 7, shape.pad_vocab_size_multiple = 4, shape.tie_embeddings = tied;
  return shape;
}

std::vector<double> weights_of(const LanguageModelShape& shape) {
  const WeightLayout layout = weight_layout(shape);
  std::vector<double> weights(static_cast<size_t>(layout.size()));
  layout.initialise(3, weights.data());
  for (const Weight& weight : layout.weights())  // embeddings as small as at the start of training hide what they do
    if (weight.name == "backbone.embedding.weight")
      for (int64_t i = 0; i < weight.size; ++i) weights[static_cast<size_t>(weight.offset + i)] *= 20;
  return weights;
}

const std::vector<int64_t> kTokens{0, 3, 6, 1, 1, 2, 5, 4, 0, 6};
const std::vector<int64_t> kTargets{3, 6, 1, 1, -1, 5, -100, 0, 6, -1};

View<const int64_t, 2> two_rows(const std::vector<int64_t>& values) { return {values.data(), {2, 5}}; }

}  // namespace

TEST_CASE("a language model's vocabulary is padded, and its tied head is its embedding") {
  CHECK(small_shape(true).vocabulary() == 8);
  const WeightLayout tied = weight_layout(small_shape(true)), untied = weight_layout(small_shape(false));
  CHECK(tied.weights().front().shape == std::vector<int64_t>{8, 6});
  CHECK(tied.weights().back().name == "backbone.norm_f.weight");
  CHECK(untied.weights().back().name == "lm_head.weight");
}

TEST_CASE("every gradient of a language model is the limit of its differences") {
  const LanguageModelShape shape = small_shape(GENERATE(true, false), GENERATE(true, false));
  LanguageModel<double> model(shape);
  SerialExecutor executor;
  std::vector<double> weights = weights_of(shape), gradient(weights.size()), ignored(weights.size());
  model.loss_and_gradient(executor, weights.data(), two_rows(kTokens), two_rows(kTargets), gradient.data());
  const double step = 1e-4;
  for (const Weight& weight : model.layout().weights()) {
    std::vector<double> analytic, numeric;
    for (int64_t i = 0; i < weight.size; ++i) {
      double& value = weights[static_cast<size_t>(weight.offset + i)];
      const double kept = value;
      const auto at = [&](double offset) {
        value = kept + offset * step;
        return model.loss_and_gradient(executor, weights.data(), two_rows(kTokens), two_rows(kTargets), ignored.data());
      };
      numeric.push_back((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step));
      analytic.push_back(gradient[static_cast<size_t>(weight.offset + i)]);
      value = kept;
    }
    INFO(weight.name);
    CHECK(relative_difference(analytic, numeric) < 1e-6);  // rounding of 1e-15 / step, beside gradients 1e-4 as large as the loss
  }
}

TEST_CASE("token by token a language model gives what it gives at once, and its loss is theirs") {
  const LanguageModelShape shape = small_shape(true);
  const int64_t V = shape.vocabulary();
  LanguageModel<double> model(shape);
  SerialExecutor executor;
  const std::vector<double> weights = weights_of(shape);
  std::vector<double> whole(static_cast<size_t>(10 * V)), step(static_cast<size_t>(2 * V)), gradient(weights.size());
  model.forward(executor, weights.data(), two_rows(kTokens), whole.data());
  ModelState<double> state = model.empty_state(2);
  double loss = 0;
  for (int64_t t = 0; t < 5; ++t) {
    const int64_t tokens[] = {kTokens[static_cast<size_t>(t)], kTokens[static_cast<size_t>(5 + t)]};
    model.step(executor, weights.data(), tokens, state, step.data());
    for (int64_t r = 0; r < 2; ++r) {
      const double* logits = whole.data() + (r * 5 + t) * V;
      for (int64_t v = 0; v < V; ++v) CHECK(step[static_cast<size_t>(r * V + v)] == Approx(logits[v]).epsilon(1e-11));
      const int64_t target = kTargets[static_cast<size_t>(r * 5 + t)];
      if (target < 0) continue;
      double sum = 0;
      for (int64_t v = 0; v < V; ++v) sum += std::exp(logits[v]);
      loss += (std::log(sum) - logits[target]) / 7;  // seven targets are not negative
    }
  }
  CHECK(model.loss_and_gradient(executor, weights.data(), two_rows(kTokens), two_rows(kTargets), gradient.data()) ==
        Approx(loss).epsilon(1e-13));
}

TEST_CASE("threads don't change a bit of a language model's loss or gradient") {
  const LanguageModelShape shape = small_shape(false);
  const std::vector<double> weights = weights_of(shape);
  std::vector<double> one(weights.size()), three(weights.size());
  SerialExecutor serial;
  ThreadPool pool(3);
  const double a =
      LanguageModel<double>(shape).loss_and_gradient(serial, weights.data(), two_rows(kTokens), two_rows(kTargets), one.data());
  const double b =
      LanguageModel<double>(shape).loss_and_gradient(pool, weights.data(), two_rows(kTokens), two_rows(kTargets), three.data());
  CHECK(a == b);
  CHECK(one == three);
}
