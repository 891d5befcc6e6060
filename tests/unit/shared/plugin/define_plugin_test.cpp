#include "shared/plugin/define_plugin.h"

#include <catch2/catch.hpp>
#include <limits>
#include <utility>

#include "tests/unit/shared/plugin/test_models.h"

using namespace tutti;

TUTTI_DEFINE_PLUGIN("org.example.test", "1.2.3", Shift, Clocked);

namespace {

using Call = tutti_status (*)(Used&);

// Every function of the contract that may fail, by the name of its C++ counterpart.
const std::pair<const char*, Call> kCalls[] = {
    {"predict", [](Used& u) { return u.predict(); }},
    {"reset", [](Used& u) { return u.type.reset(u.model, &u.error); }},
    {"step", [](Used& u) { return u.step(); }},
    {"notify", [](Used& u) { return train().notify(u.model, TUTTI_EVENT_EPOCH_END, 0, &u.error); }},
    {"parameters",
     [](Used& u) {
       tutti_parameter parameter{};
       parameter.struct_size = sizeof parameter;
       return parameters().get(u.model, 0, &parameter, &u.error);
     }},
    {"parameters_changed", [](Used& u) { return parameters().changed(u.model, &u.error); }},
    {"gradient", [](Used& u) { return u.evaluate(); }},
    {"trace",
     [](Used& u) {
       return trace().run(
           u.model, &u.batch, [](void*, const char*, const tutti_tensor*) {}, nullptr, &u.error);
     }},
    {"create_stream",
     [](Used& u) {
       tutti_stream_state* state = nullptr;
       const tutti_status status = stream().create(u.model, 2, &state, &u.error);
       stream().destroy(u.model, state);
       return status;
     }},
    {"load_stream",
     [](Used& u) {
       tutti_stream_state* state = nullptr;
       const double frame[3] = {};
       const tutti_status status = stream().load(u.model, frame, sizeof frame, &state, &u.error);
       stream().destroy(u.model, state);
       return status;
     }},
};

// Functions of a stream, called on one.
using StreamCall = tutti_status (*)(Used&, tutti_stream_state*);
const std::pair<const char*, StreamCall> kStreamCalls[] = {
    {"copy_stream",
     [](Used& u, tutti_stream_state* state) {
       tutti_stream_state* copy = nullptr;
       const tutti_status status = stream().copy(u.model, state, &copy, &u.error);
       stream().destroy(u.model, copy);
       return status;
     }},
    {"save_stream",
     [](Used& u, tutti_stream_state* state) {
       uint64_t size = 0;
       return stream().save(u.model, state, nullptr, &size, &u.error);
     }},
    {"reset_stream", [](Used& u, tutti_stream_state* state) { return stream().reset(u.model, state, nullptr, &u.error); }},
    {"step_stream",
     [](Used& u, tutti_stream_state* state) {
       const Tensor frame = Tensor::of<double>({2, 3});
       const tutti_tensor borrowed = frame.borrow();
       return stream().step(u.model, state, &borrowed, nullptr, &u.output, &u.error);
     }},
};

// Runs check(used, call) for each of both lists, on a model with the fault in the called function.
template <class Check>
void with_fault_in_every_call(const char* kind, Check check) {
  for (const auto& [name, call] : kCalls) {
    INFO(name);
    Used used(fault(kind, name));
    check(used, [&used, call = call] { return call(used); });
  }
  for (const auto& [name, call] : kStreamCalls) {
    INFO(name);
    Used used(fault(kind, name));
    tutti_stream_state* state = nullptr;
    REQUIRE(stream().create(used.model, 2, &state, &used.error) == TUTTI_OK);
    check(used, [&used, state, call = call] { return call(used, state); });
    stream().destroy(used.model, state);
  }
}

}  // namespace

// ---- The library and its types

TEST_CASE("a library names itself and its types in the listed order") {
  CHECK(library().struct_size == sizeof(tutti_plugin));
  CHECK(library().abi_major == TUTTI_ABI_MAJOR);
  CHECK(library().abi_minor == TUTTI_ABI_MINOR);
  CHECK(std::string(library().id) == "org.example.test");
  CHECK(std::string(library().version) == "1.2.3");
  CHECK(library().model_count == 2);
  CHECK(std::string(shift().id) == "test.shift");
  CHECK(std::string(clocked().id) == "test.clocked");
  CHECK(&shift() == library().get_model(0));
  for (const int32_t index : {-1, 2, INT32_MAX, INT32_MIN}) CHECK(library().get_model(index) == nullptr);
}

TEST_CASE("a host of another major version gets nothing, one of any minor version is served") {
  CHECK(tutti_get_plugin(TUTTI_ABI_MAJOR + 1, 0) == nullptr);
  CHECK(tutti_get_plugin(0, 0) == nullptr);
  CHECK(tutti_get_plugin(TUTTI_ABI_MAJOR, 0) == &library());
  CHECK(tutti_get_plugin(TUTTI_ABI_MAJOR, 99) == &library());
}

TEST_CASE("a type describes itself") {
  CHECK(shift().struct_size == sizeof(tutti_model_type));
  CHECK(shift().training == TUTTI_TRAINING_SUPERVISED);
  CHECK(shift().dtypes == TUTTI_DTYPE_F64);
  CHECK(std::string(shift().devices) == "cpu");
  CHECK(shift().class_labels == nullptr);
  CHECK(clocked().class_count == 3);
  CHECK(std::string(clocked().class_labels[2]) == "up");
}

TEST_CASE("a type offers the extensions of its abilities, and no other") {
  for (const char* id : {TUTTI_TRAIN_ID, TUTTI_PARAMETERS_ID, TUTTI_GRADIENT_ID, TUTTI_STREAM_ID, TUTTI_TRACE_ID}) {
    CHECK(shift().get_extension(id) != nullptr);
    CHECK(shift().get_extension(id) == shift().get_extension(std::string(id).c_str()));
    CHECK(clocked().get_extension(id) == nullptr);
  }
  for (const char* id : {"tutti.train/2", "tutti.train", "", TUTTI_ACT_ID, static_cast<const char*>(nullptr)})
    CHECK(shift().get_extension(id) == nullptr);
  CHECK(train().struct_size == sizeof(tutti_train));
  CHECK(parameters().struct_size == sizeof(tutti_parameters));
  CHECK(gradient().struct_size == sizeof(tutti_gradient));
  CHECK(stream().struct_size == sizeof(tutti_stream));
  CHECK(trace().struct_size == sizeof(tutti_trace));
}

// ---- Making and freeing

TEST_CASE("a model made is a model destroyed") {
  const int before = Shift::alive;
  {
    const Used a, b;
    CHECK(Shift::alive == before + 2);
  }
  CHECK(Shift::alive == before);
  shift().destroy(nullptr);
}

TEST_CASE("create refuses null arguments") {
  const FakeHost host;
  const Problem problem = small_problem();
  const tutti_problem borrowed = problem.borrow();
  tutti_model* model = nullptr;
  tutti_error error{};
  CHECK(shift().create(nullptr, &borrowed, "{}", &model, &error) == TUTTI_BAD_ARGUMENT);
  CHECK(shift().create(host.table(), nullptr, "{}", &model, &error) == TUTTI_BAD_ARGUMENT);
  CHECK(shift().create(host.table(), &borrowed, nullptr, &model, &error) == TUTTI_BAD_ARGUMENT);
  CHECK(shift().create(host.table(), &borrowed, "{}", nullptr, &error) == TUTTI_BAD_ARGUMENT);
  CHECK(std::string(error.message) == "create was given a null pointer");
  CHECK(shift().create(nullptr, nullptr, nullptr, nullptr, nullptr) == TUTTI_BAD_ARGUMENT);
  CHECK(model == nullptr);
}

TEST_CASE("create refuses a configuration that it can't read") {
  CHECK(refused(small_problem(), shift(), "{") == bad("the configuration is not a JSON object"));
  CHECK(refused(small_problem(), shift(), "{}") == bad("option \"fault\" is missing"));
  CHECK(refused(small_problem(), shift(), R"({"fault": 4})") == bad("option \"fault\" must be a text"));
}

TEST_CASE("whatever create throws or answers becomes a status, and nothing is left over") {
  const int before = Shift::alive;
  const auto faulty = [](const char* kind) { return refused(small_problem(), shift(), fault(kind, "create")); };
  CHECK(faulty("bad_alloc").status == TUTTI_OUT_OF_MEMORY);
  CHECK(faulty("invalid_argument") == bad("an argument is wrong"));
  CHECK(faulty("runtime_error") == Refusal{TUTTI_MODEL_DEAD, "it broke"});
  CHECK(faulty("int") == Refusal{TUTTI_MODEL_DEAD, "an exception of unknown type"});
  CHECK(faulty("unsupported") == cannot("not here"));
  CHECK(Shift::alive == before);
}

TEST_CASE("a model keeps nothing of what create borrowed") {
  const FakeHost host;
  auto problem = std::make_unique<Problem>(small_problem());
  auto config = std::make_unique<std::string>(fault("", ""));
  tutti_problem borrowed = problem->borrow();
  tutti_model* model = nullptr;
  REQUIRE(shift().create(host.table(), &borrowed, config->c_str(), &model, nullptr) == TUTTI_OK);
  problem.reset(), config.reset();
  borrowed = {};
  Used used;
  CHECK(shift().predict(model, &used.batch, &used.output, nullptr) == TUTTI_OK);
  shift().destroy(model);
}

// ---- Predicting

TEST_CASE("an answer reaches the host") {
  Used used;
  REQUIRE(used.predict() == TUTTI_OK);
  const auto point = used.point.view<double, 3>();
  CHECK(point(0, 0, 0) == 11);  // feature 2 of the last of four steps of three features
  CHECK(point(0, 1, 1) == 9);
  CHECK(point(1, 1, 0) == 23);
}

TEST_CASE("a batch without rows is answered without the model") {
  Used used(fault("runtime_error", "predict"));
  const Tensor past = Tensor::of<double>({0, 4, 3}), point = Tensor::of<double>({0, 2, 2});
  used.batch.size = 0, used.batch.past = past.borrow(), used.output.point = point.borrow();
  used.batch.past.data = nullptr;
  CHECK(used.predict() == TUTTI_OK);
}

// ---- Null arguments

TEST_CASE("every function refuses a null model") {
  Used used;
  tutti_model* const model = std::exchange(used.model, nullptr);
  for (const auto& [name, call] : kCalls) {
    INFO(name);
    CHECK(call(used) == TUTTI_BAD_ARGUMENT);
    CHECK(used.message() == "the model is null");
  }
  CHECK(parameters().count(nullptr) == 0);
  stream().destroy(nullptr, nullptr);
  used.model = model;
}

TEST_CASE("every function refuses null arguments with a sentence, and needs no room for one") {
  Used used;
  tutti_model* const model = used.model;
  const tutti_train_in in{sizeof in, 0, nullptr, nullptr, 0, 0};
  tutti_train_out out{};
  tutti_stream_state* state = nullptr;
  double loss = 0;
  uint64_t size = 0;
  const tutti_tensor none{};
  tutti_error* error = &used.error;
  for (int repeat = 0; repeat < 2; ++repeat, error = nullptr) {
    const auto refuses = [&](tutti_status status) {
      CHECK(status == TUTTI_BAD_ARGUMENT);
      CHECK(used.message().empty() == (error == nullptr));
      used.error.message[0] = '\0';
    };
    refuses(shift().predict(model, nullptr, &used.output, error));
    refuses(shift().predict(model, &used.batch, nullptr, error));
    refuses(train().step(model, nullptr, &out, error));
    refuses(train().step(model, &in, nullptr, error));
    refuses(parameters().get(model, 0, nullptr, error));
    refuses(gradient().evaluate(model, nullptr, &loss, &none, error));
    refuses(gradient().evaluate(model, &used.batch, nullptr, &none, error));
    refuses(gradient().evaluate(model, &used.batch, &loss, nullptr, error));
    refuses(trace().run(
        model, nullptr, [](void*, const char*, const tutti_tensor*) {}, nullptr, error));
    refuses(trace().run(model, &used.batch, nullptr, nullptr, error));
    refuses(stream().create(model, 1, nullptr, error));
    refuses(stream().copy(model, nullptr, &state, error));
    refuses(stream().save(model, nullptr, nullptr, &size, error));
    refuses(stream().load(model, nullptr, 8, &state, error));
    refuses(stream().load(model, &loss, 8, nullptr, error));
    refuses(stream().reset(model, nullptr, nullptr, error));
    refuses(stream().step(model, nullptr, nullptr, nullptr, &used.output, error));
  }
  REQUIRE(stream().create(model, 2, &state, nullptr) == TUTTI_OK);
  const Tensor frame = Tensor::of<double>({2, 3});
  const tutti_tensor borrowed = frame.borrow();
  CHECK(stream().copy(model, state, nullptr, nullptr) == TUTTI_BAD_ARGUMENT);
  CHECK(stream().save(model, state, nullptr, nullptr, nullptr) == TUTTI_BAD_ARGUMENT);
  CHECK(stream().step(model, state, &borrowed, nullptr, nullptr, nullptr) == TUTTI_BAD_ARGUMENT);
  CHECK(stream().step(model, nullptr, &borrowed, nullptr, &used.output, nullptr) == TUTTI_BAD_ARGUMENT);
  stream().destroy(model, state);
  CHECK(used.predict() == TUTTI_OK);
}

// ---- Failing

TEST_CASE("std::bad_alloc is out of memory, and the model lives on") {
  with_fault_in_every_call("bad_alloc", [](Used& used, auto call) {
    CHECK(call() == TUTTI_OUT_OF_MEMORY);
    CHECK(used.message() == "out of memory; a smaller batch may help");
    CHECK(call() == TUTTI_OUT_OF_MEMORY);
  });
}

TEST_CASE("std::invalid_argument is a bad argument, and the model lives on") {
  with_fault_in_every_call("invalid_argument", [](Used& used, auto call) {
    CHECK(call() == TUTTI_BAD_ARGUMENT);
    CHECK(used.message() == "an argument is wrong");
    CHECK(call() == TUTTI_BAD_ARGUMENT);
  });
}

TEST_CASE("any other exception kills the model, which then answers nothing but destroy") {
  for (const auto& [kind, sentence] :
       {std::pair("runtime_error", "it broke"), std::pair("int", "an exception of unknown type")}) {
    const char* const expected = sentence;
    with_fault_in_every_call(kind, [&](Used& used, auto call) {
      CHECK(call() == TUTTI_MODEL_DEAD);
      CHECK(used.message() == expected);
      CHECK(call() == TUTTI_BAD_STATE);
      for (const auto& [name, other] : kCalls) {
        INFO(name);
        CHECK(other(used) == TUTTI_BAD_STATE);
        CHECK(used.message() == "the model failed before; only destroy may follow");
      }
      CHECK(parameters().count(used.model) == 0);
    });
  }
}

TEST_CASE("an error that a model answers keeps its meaning") {
  const auto status_of = [](const char* kind) {
    Used used(fault(kind, "predict"));
    const tutti_status first = used.predict();
    CHECK(used.predict() == (first == TUTTI_MODEL_DEAD ? TUTTI_BAD_STATE : first));
    return first;
  };
  CHECK(status_of("bad_input") == TUTTI_BAD_ARGUMENT);
  CHECK(status_of("unsupported") == TUTTI_UNSUPPORTED);
  CHECK(status_of("bad_state") == TUTTI_BAD_STATE);
  CHECK(status_of("cancelled") == TUTTI_CANCELLED);
  CHECK(status_of("failed") == TUTTI_MODEL_DEAD);
}

TEST_CASE("a host without scratch memory makes a call run out of memory, and no more") {
  Used used(fault("scratch", "predict"));
  CHECK(used.predict() == TUTTI_OK);
  CHECK(used.host.scratch_pieces() == 1);
  used.host.end_call();
  used.host.exhaust_scratch();
  CHECK(used.predict() == TUTTI_OUT_OF_MEMORY);
  used.host.exhaust_scratch(false);
  CHECK(used.predict() == TUTTI_OK);
  CHECK(used.host.log().back().text == "fault in predict");
}

TEST_CASE("an error may have no room for its sentence") {
  Used used;
  used.batch.past.ndim = 2;
  CHECK(shift().predict(used.model, &used.batch, &used.output, nullptr) == TUTTI_BAD_ARGUMENT);
}

TEST_CASE("a long sentence is cut between two characters and ends in a zero") {
  tutti_error error;
  for (size_t before = 500; before < 520; ++before) {
    std::string sentence(before, 'a');
    for (int i = 0; i < 20; ++i) sentence += "€";
    std::memset(error.message, 'x', sizeof error.message);
    border::write(&error, sentence.c_str());
    const std::string written = error.message;
    REQUIRE(written.size() < TUTTI_ERROR_LENGTH);
    REQUIRE(written.size() >= TUTTI_ERROR_LENGTH - 3);
    REQUIRE(sentence.compare(0, written.size(), written) == 0);
    REQUIRE((before >= 511 || (written.size() - before) % 3 == 0));
  }
  border::write(&error, "");
  CHECK(std::string(error.message).empty());
}

TEST_CASE("a model whose neighbour died works on, with parameters of its own") {
  Used dead(fault("runtime_error", "reset")), alive;
  CHECK(dead.step() == TUTTI_OK);
  CHECK(dead.predict() == TUTTI_OK);
  CHECK(alive.predict() == TUTTI_OK);
  CHECK(dead.point.data<double>()[0] != alive.point.data<double>()[0]);
  CHECK(alive.point.data<double>()[0] == 11);
  CHECK(shift().reset(dead.model, nullptr) == TUTTI_MODEL_DEAD);
  CHECK(alive.predict() == TUTTI_OK);
  CHECK(alive.host.log().empty());
}

// ---- Learning

TEST_CASE("a step learns, and reset forgets") {
  Used used;
  const tutti_train_in in{sizeof in, 0, &used.batch, nullptr, 1, 0};
  tutti_train_out out{};
  out.struct_size = sizeof out;
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(train().step(used.model, &in, &out, &used.error) == TUTTI_OK);
    CHECK(out.state == TUTTI_TRAIN_DONE);
    CHECK(out.loss < before);
    before = out.loss;
  }
  CHECK(train().notify(used.model, TUTTI_EVENT_TRAIN_END, 0, nullptr) == TUTTI_OK);
  REQUIRE(shift().reset(used.model, nullptr) == TUTTI_OK);
  CHECK(used.predict() == TUTTI_OK);
  CHECK(used.point.data<double>()[0] == 11);

  const tutti_train_in nothing{sizeof nothing, 0, nullptr, nullptr, 0, 0};
  CHECK(train().step(used.model, &nothing, &out, nullptr) == TUTTI_OK);
  CHECK(out.state == TUTTI_TRAIN_NEEDS_DATA);
}

TEST_CASE("parameters are counted, described and changed by the host") {
  Used used;
  REQUIRE(parameters().count(used.model) == 2);
  tutti_parameter bias{}, origin{};
  bias.struct_size = origin.struct_size = sizeof bias;
  REQUIRE(parameters().get(used.model, 0, &bias, nullptr) == TUTTI_OK);
  REQUIRE(parameters().get(used.model, 1, &origin, nullptr) == TUTTI_OK);
  CHECK(std::string(bias.name) == "bias");
  CHECK(bias.role == TUTTI_ROLE_WEIGHT);
  CHECK(bias.struct_size == sizeof bias);
  CHECK(origin.role == TUTTI_ROLE_BUFFER);
  view_of<double, 1>(bias.tensor, "bias")->data[0] = 1000;
  CHECK(parameters().changed(used.model, nullptr) == TUTTI_OK);
  CHECK(used.predict() == TUTTI_OK);
  CHECK(used.point.data<double>()[0] == 1011);
  for (const int64_t index : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    CHECK(parameters().get(used.model, index, &bias, &used.error) == TUTTI_BAD_ARGUMENT);
    CHECK(used.message() == "there is no such parameter");
  }
}

TEST_CASE("a host with a shorter parameter struct gets what fits into it") {
  Used used;
  tutti_parameter parameter;
  std::memset(&parameter, 0x5a, sizeof parameter);
  parameter.struct_size = offsetof(tutti_parameter, tensor);
  REQUIRE(parameters().get(used.model, 0, &parameter, nullptr) == TUTTI_OK);
  CHECK(parameter.struct_size == offsetof(tutti_parameter, tensor));
  CHECK(std::string(parameter.name) == "bias");
  CHECK(parameter.tensor.ndim == 0x5a5a5a5a);
}

TEST_CASE("a gradient agrees with the loss and changes nothing") {
  Used used;
  double loss = 0, moved = 0;
  tutti_parameter bias{};
  bias.struct_size = sizeof bias;
  REQUIRE(parameters().get(used.model, 0, &bias, nullptr) == TUTTI_OK);
  const tutti_tensor all[] = {used.gradients.borrow(), {}};
  REQUIRE(gradient().evaluate(used.model, &used.batch, &loss, all, nullptr) == TUTTI_OK);
  const double slope = used.gradients.data<double>()[1];
  static_cast<double*>(bias.tensor.data)[1] += 0.25;
  REQUIRE(gradient().evaluate(used.model, &used.batch, &moved, all, nullptr) == TUTTI_OK);
  CHECK((moved - loss) / 0.25 ==
        Approx((slope + used.gradients.data<double>()[1]) / 2));  // exact for a parabola but for rounding
}

// ---- Streams and traces

TEST_CASE("a stream answers as predict does, and its copies and saved bytes hold the same memory") {
  Used used;
  tutti_stream_state *state = nullptr, *copy = nullptr, *loaded = nullptr;
  REQUIRE(stream().create(used.model, 2, &state, nullptr) == TUTTI_OK);
  for (int64_t t = 0; t < 4; ++t) {
    Tensor frame = Tensor::of<double>({2, 3});
    for (int64_t b = 0; b < 2; ++b) std::copy_n(used.past.view<double, 3>()[b][t].data, 3, frame.view<double, 2>()[b].data);
    const tutti_tensor borrowed = frame.borrow();
    REQUIRE(stream().step(used.model, state, &borrowed, nullptr, &used.output, &used.error) == TUTTI_OK);
  }
  const Tensor streamed = used.point.clone();
  REQUIRE(used.predict() == TUTTI_OK);
  CHECK(std::memcmp(streamed.data(), used.point.data(), static_cast<size_t>(streamed.bytes())) == 0);

  const auto saved = [&](const tutti_stream_state* of) {
    uint64_t size = 0;
    REQUIRE(stream().save(used.model, of, nullptr, &size, nullptr) == TUTTI_OK);
    std::vector<uint8_t> bytes(size);
    uint64_t too_small = size - 1;
    REQUIRE(stream().save(used.model, of, bytes.data(), &too_small, nullptr) == TUTTI_OK);
    CHECK(too_small == size);
    CHECK(bytes == std::vector<uint8_t>(size));
    REQUIRE(stream().save(used.model, of, bytes.data(), &size, nullptr) == TUTTI_OK);
    return bytes;
  };
  const std::vector<uint8_t> bytes = saved(state);
  REQUIRE(stream().copy(used.model, state, &copy, nullptr) == TUTTI_OK);
  REQUIRE(stream().load(used.model, bytes.data(), bytes.size(), &loaded, nullptr) == TUTTI_OK);
  CHECK(saved(copy) == bytes);
  CHECK(saved(loaded) == bytes);
  const uint8_t mask[] = {0, 1};
  REQUIRE(stream().reset(used.model, copy, mask, nullptr) == TUTTI_OK);
  CHECK(saved(copy) != bytes);
  CHECK(saved(state) == bytes);
  CHECK(stream().load(used.model, bytes.data(), 7, &loaded, &used.error) == TUTTI_BAD_ARGUMENT);
  CHECK(stream().load(used.model, nullptr, 0, &loaded, &used.error) == TUTTI_BAD_ARGUMENT);
  for (tutti_stream_state* each : {state, copy, loaded}) stream().destroy(used.model, each);
  stream().destroy(used.model, nullptr);
}

TEST_CASE("the memory of a dead model's stream can be freed") {
  Used used(fault("runtime_error", "step_stream"));
  tutti_stream_state* state = nullptr;
  REQUIRE(stream().create(used.model, 2, &state, nullptr) == TUTTI_OK);
  CHECK(kStreamCalls[3].second(used, state) == TUTTI_MODEL_DEAD);
  stream().destroy(used.model, state);
}

TEST_CASE("a trace visits what lies between input and answer") {
  Used used;
  std::vector<std::string> names;
  const auto visit = [](void* argument, const char* name, const tutti_tensor* tensor) {
    static_cast<std::vector<std::string>*>(argument)->push_back(name + shape_text(tensor->shape, tensor->ndim));
  };
  CHECK(trace().run(used.model, &used.batch, visit, &names, nullptr) == TUTTI_OK);
  CHECK(names == std::vector<std::string>{"past[2,4,3]"});
  used.batch.past.ndim = 1;
  CHECK(trace().run(used.model, &used.batch, visit, &names, nullptr) == TUTTI_BAD_ARGUMENT);
}
