#include "shared/plugin/border_check.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/shared/plugin/test_models.h"

using namespace tutti;

TEST_CASE("a problem that makes no sense is refused") {
  const auto with = [](auto change, const tutti_model_type& type = shift()) {
    Problem problem = small_problem();
    change(problem);
    return refused(problem, type, fault("", ""));
  };
  CHECK(with([](Problem& p) { p.features = 0; }) == bad("test.shift needs at least one feature and one past step"));
  CHECK(with([](Problem& p) { p.lookback = -1; }) == bad("test.shift needs at least one feature and one past step"));
  CHECK(with([](Problem& p) { p.horizon = 0; }) == bad("test.shift needs a horizon and a target of at least one"));
  CHECK(with([](Problem& p) { p.targets = 0, p.target_feature = {}; }) ==
        bad("test.shift needs a horizon and a target of at least one"));
  CHECK(with([](Problem& p) { p.target_feature = {}; }) == bad("test.shift needs target_feature for each target"));
  CHECK(with([](Problem& p) { p.target_feature = {0, 3}; }) == bad("test.shift: a target_feature is no feature"));
  CHECK(with([](Problem& p) { p.target_feature = {0, -2}; }) == bad("test.shift: a target_feature is no feature"));
  CHECK(with([](Problem& p) { p.targets = -1; }) == bad("the problem has a negative size"));
  for (int64_t Problem::*size :
       {&Problem::known_features, &Problem::static_features, &Problem::classes, &Problem::actions, &Problem::season})
    CHECK(with([&](Problem& p) { p.*size = -1; }) == bad("test.shift: the problem has a negative size"));
  CHECK(with([](Problem& p) { p.answers = TUTTI_ANSWER_CLASSES; }, clocked()) == bad("test.clocked needs at least one class"));
  CHECK(with([](Problem& p) { p.answers = TUTTI_ANSWER_POLICY; }, clocked()) == bad("test.clocked needs at least one action"));
}

TEST_CASE("quantile levels rise inside (0,1)") {
  const auto with = [](std::vector<double> levels) {
    Problem problem = small_problem();
    problem.answers = TUTTI_ANSWER_QUANTILES, problem.quantiles = std::move(levels);
    return refused(problem);
  };
  CHECK(with({}) == bad("test.shift needs quantile levels to answer quantiles"));
  for (const std::vector<double>& levels : std::vector<std::vector<double>>{{0}, {1}, {NAN}, {0.5, 0.5}, {0.9, 0.1}, {0.1, NAN}})
    CHECK(with(levels) == bad("test.shift: quantile levels must rise inside (0,1)"));
}

TEST_CASE("a problem that the type can't solve is unsupported") {
  const auto with = [](auto change) {
    Problem problem = small_problem();
    change(problem);
    return refused(problem);
  };
  CHECK(with([](Problem& p) { p.dtype = dtype_of<float>(); }) == cannot("test.shift doesn't compute in f32"));
  CHECK(with([](Problem& p) { p.dtype = dtype_of<int32_t>(); }) == cannot("test.shift doesn't compute in i32"));
  CHECK(with([](Problem& p) { p.device = {TUTTI_CUDA, 0}; }) == cannot("test.shift doesn't compute on cuda"));
  CHECK(with([](Problem& p) { p.device = {42, 0}; }) == cannot("test.shift doesn't compute on this device"));
  for (const uint32_t answers : {0u, TUTTI_ANSWER_CLASSES, TUTTI_ANSWER_POINT | TUTTI_ANSWER_POLICY, 1u << 31})
    CHECK(with([&](Problem& p) { p.answers = answers; }) == cannot("test.shift doesn't give the kind of answer that is wanted"));
}

TEST_CASE("an empty tensor may have any strides") {
  Used used;
  const int64_t shape[] = {0, 4, 3}, strides[] = {12, 3, 1}, out_shape[] = {0, 2, 2}, out_strides[] = {4, 2, 1};
  used.batch.size = 0;
  used.batch.past = {nullptr, {TUTTI_CPU, 0}, 3, dtype_of<double>(), shape, strides, 0};
  used.output.point = {nullptr, {TUTTI_CPU, 0}, 3, dtype_of<double>(), out_shape, out_strides, 0};
  CHECK(used.predict() == TUTTI_OK);
}

TEST_CASE("a past that doesn't fit the problem is refused, and the model lives on") {
  Used used;
  const auto refuse = [&](auto spoil) { return refused_tensor(used, &tutti_batch::past, spoil); };
  const int64_t features[] = {2, 4, 2}, rows[] = {3, 4, 3}, steps[] = {2, 3, 3}, no_steps[] = {2, 0, 3}, turned[] = {12, 1, 4};
  CHECK(refuse([&](tutti_tensor& t) { t = {}; }) == bad("past has 0 axes; 3, batch, time and feature, are needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.ndim = 2; }) == bad("past has 2 axes; 3, batch, time and feature, are needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.ndim = -3; }) == bad("past has -3 axes; 3, batch, time and feature, are needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.shape = features; }) == bad("past has the shape [2,4,2]; [2,4,3] is needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.shape = rows; }) == bad("past has the shape [3,4,3]; [2,4,3] is needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.shape = steps; }) == cannot("past has 3 steps; the model was made for 4"));
  CHECK(refuse([&](tutti_tensor& t) { t.shape = no_steps; }) == cannot("past has 0 steps; the model was made for 4"));
  CHECK(refuse([&](tutti_tensor& t) { t.shape = nullptr; }) == bad("past has no shape or strides"));
  CHECK(refuse([&](tutti_tensor& t) { t.strides = nullptr; }) == bad("past has no shape or strides"));
  CHECK(refuse([&](tutti_tensor& t) { t.strides = turned; }) == cannot("past is not dense; pass a contiguous copy"));
  CHECK(refuse([&](tutti_tensor& t) { t.dtype = dtype_of<float>(); }) == bad("past is f32; f64 is needed"));
  CHECK(refuse([&](tutti_tensor& t) { t.device = {TUTTI_CUDA, 0}; }) == cannot("past is not in CPU memory"));
  CHECK(refuse([&](tutti_tensor& t) { t.device = {42, 0}; }) == cannot("past is not in CPU memory"));
  CHECK(refuse([&](tutti_tensor& t) { t.data = nullptr; }) == bad("past has no data"));
  CHECK(refuse([&](tutti_tensor& t) { t.byte_offset = 3; }) == bad("past is not aligned to its elements"));
  CHECK(refused_by_predict(used, [](Used& u) { u.batch.size = -1; }) == bad("the batch's size is negative"));
}

TEST_CASE("optional tensors that are there must fit, too") {
  Used used;
  const Tensor wrong_kind = Tensor::of<double>({2}), wrong_shape = Tensor::of<int64_t>({3});
  Tensor length = Tensor::of<int64_t>({2});
  const auto refuse = [&](tutti_tensor tutti_batch::*tensor, const Tensor& value) {
    return refused_tensor(used, tensor, [&](tutti_tensor& t) { t = value.borrow(); });
  };
  CHECK(refuse(&tutti_batch::length, wrong_kind) == bad("length is f64; i64 is needed"));
  CHECK(refuse(&tutti_batch::length, wrong_shape) == bad("length has the shape [3]; [2] is needed"));
  CHECK(refuse(&tutti_batch::row, wrong_kind) == bad("row is f64; i64 is needed"));
  CHECK(refuse(&tutti_batch::observed, wrong_kind) == bad("observed has the shape [2]; [2,4,3] is needed"));
  CHECK(refuse(&tutti_batch::elapsed, wrong_kind) == bad("elapsed has the shape [2]; [2,4] is needed"));
  CHECK(refuse(&tutti_batch::length, length) == bad("length 0 is not within 1 to 4"));
  length.data<int64_t>()[0] = 4, length.data<int64_t>()[1] = 5;
  CHECK(refuse(&tutti_batch::length, length) == bad("length 5 is not within 1 to 4"));
  CHECK(refused_tensor(used, &tutti_batch::length, [&](tutti_tensor& t) { t = length.borrow(), t.byte_offset = 4; }) ==
        bad("length is not aligned to its elements"));
  length.data<int64_t>()[1] = 1;
  CHECK(refuse(&tutti_batch::length, length).status == TUTTI_OK);
}

TEST_CASE("inputs that a type asks for must be there") {
  Problem problem = small_problem();
  problem.known_features = 1, problem.static_features = 2;
  Used used("{}", problem, clocked());
  const Tensor time = Tensor::of<int64_t>({2, 4}), elapsed = Tensor::of<double>({2, 4}), known = Tensor::of<double>({2, 2, 1}),
               statics = Tensor::of<double>({2, 2});
  const auto missing = [&](const char* name) {
    CHECK(used.predict() == TUTTI_BAD_ARGUMENT);
    CHECK(used.message() == std::string(name) + " is missing");
  };
  missing("past_time");
  used.batch.past_time = time.borrow(), missing("elapsed");
  used.batch.elapsed = elapsed.borrow(), missing("future_known");
  used.batch.future_known = known.borrow(), missing("statics");
  used.batch.statics = statics.borrow();
  CHECK(used.predict() == TUTTI_OK);
}

TEST_CASE("a type that takes any strides and shorter windows gets them") {
  Used used("{}", small_problem(), clocked());
  const int64_t shape[] = {2, 3, 3}, backwards[] = {12, -3, 1}, pair[] = {2, 3}, broadcast[] = {0, 1};
  const Tensor time = Tensor::of<int64_t>({3}), elapsed = Tensor::of<double>({3});
  used.batch.past.shape = shape, used.batch.past.strides = backwards, used.batch.past.byte_offset = 9 * sizeof(double);
  used.batch.past_time = {const_cast<void*>(time.data()), {TUTTI_CPU, 0}, 2, dtype_of<int64_t>(), pair, broadcast, 0};
  used.batch.elapsed = {const_cast<void*>(elapsed.data()), {TUTTI_CPU, 0}, 2, dtype_of<double>(), pair, broadcast, 0};
  CHECK(used.predict() == TUTTI_OK);
}

TEST_CASE("every answer that the problem names needs its room") {
  Problem problem = small_problem();
  problem.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES, problem.quantiles = {0.1, 0.5, 0.9};
  Used used(fault("", ""), problem);
  const Tensor quantiles = Tensor::of<double>({2, 2, 2, 3}), too_few = Tensor::of<double>({2, 2, 2, 2}),
               single = Tensor::of<float>({2, 2, 2, 3});
  CHECK(used.predict() == TUTTI_BAD_ARGUMENT);
  CHECK(used.message() == "quantiles is missing");
  used.output.quantiles = quantiles.borrow();
  CHECK(used.predict() == TUTTI_OK);
  const auto refuse = [&](auto spoil) { return refused_by_predict(used, spoil); };
  CHECK(refuse([&](Used& u) { u.output.quantiles = too_few.borrow(); }) ==
        bad("quantiles has the shape [2,2,2,2]; [2,2,2,3] is needed"));
  CHECK(refuse([&](Used& u) { u.output.quantiles = single.borrow(); }) == bad("quantiles is f32; f64 is needed"));
  CHECK(refuse([&](Used& u) { u.output.point = {}; }) == bad("point is missing"));
  CHECK(refuse([&](Used& u) { u.output.point.data = nullptr; }) == bad("point has no data"));
  const int64_t turned[] = {4, 1, 2};
  CHECK(refuse([&](Used& u) { u.output.point.strides = turned; }) == cannot("point is not dense; pass a contiguous copy"));

  Problem policy = small_problem();
  policy.answers = TUTTI_ANSWER_CLASSES | TUTTI_ANSWER_ACTION_VALUES | TUTTI_ANSWER_POLICY, policy.classes = 3,
  policy.actions = 2;
  Used acting("{}", policy, clocked());
  const Tensor time = Tensor::of<int64_t>({2, 4}), elapsed = Tensor::of<double>({2, 4}), three = Tensor::of<double>({2, 3}),
               two = Tensor::of<double>({2, 2});
  acting.batch.past_time = time.borrow(), acting.batch.elapsed = elapsed.borrow();
  const auto missing = [&](const char* name) {
    CHECK(acting.predict() == TUTTI_BAD_ARGUMENT);
    CHECK(acting.message() == std::string(name) + " is missing");
  };
  missing("classes");
  acting.output.classes = three.borrow(), missing("action_values");
  acting.output.action_values = two.borrow(), missing("policy");
  acting.output.policy = two.borrow();
  CHECK(acting.predict() == TUTTI_OK);
}

TEST_CASE("learning needs targets that fit") {
  Used used;
  const Tensor weight = Tensor::of<float>({2}), classes = Tensor::of<int64_t>({2}), wrong = Tensor::of<double>({2, 2, 1});
  const auto refuse = [&](auto spoil) {
    const tutti_batch batch = used.batch;
    spoil(used.batch);
    const tutti_status status = used.step();
    CHECK(used.evaluate() == status);
    used.batch = batch;
    return Refusal{status, used.message()};
  };
  CHECK(refuse([&](tutti_batch& b) { b.target = {}; }) == bad("target is missing"));
  CHECK(refuse([&](tutti_batch& b) { b.target = wrong.borrow(); }) == bad("target has the shape [2,2,1]; [2,2,2] is needed"));
  CHECK(refuse([&](tutti_batch& b) { b.weight = weight.borrow(); }) == bad("weight is f32; f64 is needed"));
  CHECK(refuse([&](tutti_batch& b) { b.target_class = classes.borrow(); }) == bad("target_class is i64; i32 is needed"));
  CHECK(refuse([&](tutti_batch& b) { b.past.data = nullptr; }) == bad("past has no data"));
  CHECK(used.step() == TUTTI_OK);
}

TEST_CASE("gradients that don't fit the parameters are refused") {
  Used used;
  used.gradients = Tensor::of<double>({3});
  CHECK(used.evaluate() == TUTTI_BAD_ARGUMENT);
  CHECK(used.message() == "the gradient of bias has the shape [3]; [2] is needed");
  used.gradients = Tensor::of<float>({2});
  CHECK(used.evaluate() == TUTTI_BAD_ARGUMENT);
  CHECK(used.message() == "the gradient of bias is f32; f64 is needed");
  used.gradients = Tensor::of<double>({2});
  CHECK(used.evaluate() == TUTTI_OK);
  const Tensor past = Tensor::of<double>({0, 4, 3}), target = Tensor::of<double>({0, 2, 2});
  used.batch.size = 0, used.batch.past = past.borrow(), used.batch.target = target.borrow();
  CHECK(used.evaluate() == TUTTI_BAD_ARGUMENT);
  CHECK(used.message() == "a batch without rows has no loss");
}

TEST_CASE("a stream needs rows, and frames that fit") {
  Used used;
  tutti_stream_state* state = nullptr;
  for (const int64_t streams : {int64_t{0}, int64_t{-1}, INT64_MIN})
    CHECK(stream().create(used.model, streams, &state, nullptr) == TUTTI_BAD_ARGUMENT);
  CHECK(stream().create(used.model, INT64_MAX, &state, nullptr) == TUTTI_OUT_OF_MEMORY);
  REQUIRE(state == nullptr);
  REQUIRE(stream().create(used.model, 2, &state, nullptr) == TUTTI_OK);
  const Tensor lawful = Tensor::of<double>({2, 3}), wide = Tensor::of<double>({2, 4}), single = Tensor::of<float>({2, 3}),
               flat = Tensor::of<double>({6}), elapsed = Tensor::of<double>({3}), three = Tensor::of<double>({3, 3});
  const auto refuse = [&](tutti_tensor frame, const tutti_tensor* since = nullptr) {
    const tutti_status status = stream().step(used.model, state, &frame, since, &used.output, &used.error);
    return Refusal{status, used.message()};
  };
  CHECK(refuse(wide.borrow()) == bad("frame has the shape [2,4]; [2,3] is needed"));
  CHECK(refuse(single.borrow()) == bad("frame is f32; f64 is needed"));
  CHECK(refuse(flat.borrow()) == bad("frame has 1 axes; 2, stream and feature, are needed"));
  CHECK(refuse(three.borrow()) == bad("point has the shape [2,2,2]; [3,2,2] is needed"));
  tutti_tensor spoilt = lawful.borrow();
  spoilt.shape = nullptr;
  CHECK(refuse(spoilt) == bad("frame has no shape or strides"));
  const tutti_tensor since = elapsed.borrow(), absent{};
  CHECK(refuse(lawful.borrow(), &since) == bad("elapsed has the shape [3]; [2] is needed"));
  CHECK(refuse(lawful.borrow(), &absent).status == TUTTI_OK);
  CHECK(refuse(lawful.borrow()).status == TUTTI_OK);
  stream().destroy(used.model, state);
}
