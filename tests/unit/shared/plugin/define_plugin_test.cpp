#include "shared/plugin/define_plugin.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "shared/tensor/tensor.h"
#include "tests/support/fake_host.h"

namespace {

using namespace tutti;

// Forecasts each target's last value plus a learned bias, in f64, and has every ability. The option "fault" names
// what goes wrong in the function that "in" names.
class Shift final : public Model, public Trainable, public Parameterised, public Differentiable, public Streamable, public Traceable {
 public:
  static inline int alive = 0;

  static ModelDescription description() {
    ModelDescription d;
    d.training = TUTTI_TRAINING_SUPERVISED;
    d.id = "test.shift", d.name = "Shift", d.summary = "Last value plus a learned bias.";
    d.dtypes = TUTTI_DTYPE_F64;
    d.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES;
    return d;
  }

  static Result<std::unique_ptr<Shift>> create(const HostLink& host, const Problem& problem, const Options& options) {
    auto model = std::unique_ptr<Shift>(new Shift(host, problem));
    model->fault_ = options.text("fault"), model->where_ = options.text("in");
    TUTTI_CHECK(model->enter("create"));
    return model;
  }
  ~Shift() override { --alive; }

  Result<void> predict(const tutti_batch& batch, const tutti_output& output) override {
    TUTTI_CHECK(enter("predict"));
    const auto past = *view_of<const double, 3>(batch.past, "past");
    return answer(past.shape[0], [&](int64_t b, int64_t feature) { return past(b, past.shape[1] - 1, feature); }, output);
  }
  Result<void> reset() override {
    TUTTI_CHECK(enter("reset"));
    std::fill_n(bias_.data<double>(), bias_.size(), 0.0);
    return {};
  }

  Result<void> step(const tutti_train_in& in, tutti_train_out& out) override {
    TUTTI_CHECK(enter("step"));
    out.state = in.batch ? TUTTI_TRAIN_DONE : TUTTI_TRAIN_NEEDS_DATA;
    out.gradient_steps = in.batch ? 1 : 0, out.scalar_count = 0;
    if (!in.batch) return {};
    Tensor gradient = bias_.clone();
    out.loss = loss(*in.batch, gradient.data<double>());
    for (int64_t k = 0; k < bias_.size(); ++k) bias_.data<double>()[k] -= 0.5 * gradient.data<double>()[k];
    return {};
  }
  Result<void> notify(uint32_t, double) override { return enter("notify"); }

  const std::vector<Parameter>& parameters() override {
    if (Result<void> entered = enter("parameters"); !entered) throw std::runtime_error(entered.error().message);
    return parameters_;
  }
  Result<void> parameters_changed() override { return enter("parameters_changed"); }

  Result<double> gradient(const tutti_batch& batch, const tutti_tensor* gradients) override {
    TUTTI_CHECK(enter("gradient"));
    return loss(batch, view_of<double, 1>(gradients[0], "gradient")->data);
  }

  struct Memory final : StreamState {
    explicit Memory(Tensor last) : last(std::move(last)) {}
    Tensor last;  // [streams, features]
  };
  Result<std::unique_ptr<StreamState>> create_stream(int64_t streams) override {
    TUTTI_CHECK(enter("create_stream"));
    return std::unique_ptr<StreamState>(new Memory(Tensor::of<double>({streams, problem_.features})));
  }
  Result<std::unique_ptr<StreamState>> copy_stream(const StreamState& state) override {
    TUTTI_CHECK(enter("copy_stream"));
    return std::unique_ptr<StreamState>(new Memory(static_cast<const Memory&>(state).last.clone()));
  }
  std::vector<uint8_t> save_stream(const StreamState& state) override {
    if (Result<void> entered = enter("save_stream"); !entered) throw std::runtime_error(entered.error().message);
    const Tensor& last = static_cast<const Memory&>(state).last;
    const auto* bytes = static_cast<const uint8_t*>(last.data());
    return {bytes, bytes + last.bytes()};
  }
  Result<std::unique_ptr<StreamState>> load_stream(const uint8_t* bytes, uint64_t size) override {
    TUTTI_CHECK(enter("load_stream"));
    const uint64_t row = sizeof(double) * static_cast<uint64_t>(problem_.features);
    if (size == 0 || size % row != 0) return bad_input("these bytes are no stream");
    auto memory = std::make_unique<Memory>(Tensor::of<double>({static_cast<int64_t>(size / row), problem_.features}));
    std::memcpy(memory->last.data(), bytes, size);
    return std::unique_ptr<StreamState>(std::move(memory));
  }
  Result<void> reset_stream(StreamState& state, const uint8_t* mask) override {
    TUTTI_CHECK(enter("reset_stream"));
    const auto last = static_cast<Memory&>(state).last.view<double, 2>();
    for (int64_t row = 0; row < last.shape[0]; ++row)
      if (!mask || mask[row]) std::fill_n(last[row].data, last.shape[1], 0.0);
    return {};
  }
  Result<void> step_stream(StreamState& state, const tutti_tensor& frame, const tutti_tensor*, const tutti_output& output) override {
    TUTTI_CHECK(enter("step_stream"));
    const auto last = static_cast<Memory&>(state).last.view<double, 2>();
    const auto values = *view_of<const double, 2>(frame, "frame");
    if (values.shape[0] != last.shape[0]) return bad_input("the frame has another number of streams");
    std::copy_n(values.data, values.size(), last.data);
    return answer(last.shape[0], [&](int64_t b, int64_t feature) { return last(b, feature); }, output);
  }

  Result<void> trace(const tutti_batch& batch, tutti_trace_fn visit, void* argument) override {
    TUTTI_CHECK(enter("trace"));
    visit(argument, "past", &batch.past);
    return {};
  }

 private:
  Shift(const HostLink& host, const Problem& problem) : host_(host), problem_(problem), bias_(Tensor::of<double>({problem.targets})) {
    ++alive;
    parameters_.push_back({"bias", TUTTI_ROLE_WEIGHT, bias_.borrow()});
    parameters_.push_back({"origin", TUTTI_ROLE_BUFFER, origin_.borrow()});
  }

  Result<void> enter(const std::string& where) {
    if (where != where_) return {};
    host_.log(TUTTI_LOG_INFO, "fault in " + where);
    if (fault_ == "bad_alloc") throw std::bad_alloc();
    if (fault_ == "invalid_argument") throw std::invalid_argument("an argument is wrong");
    if (fault_ == "runtime_error") throw std::runtime_error("it broke");
    if (fault_ == "int") throw 42;
    if (fault_ == "scratch") host_.scratch<double>(8)[7] = 1;
    if (fault_ == "bad_input") return bad_input("the data is wrong");
    if (fault_ == "unsupported") return unsupported("not here");
    if (fault_ == "bad_state") return bad_state("not now");
    if (fault_ == "cancelled") return Error{ErrorCode::cancelled, "stopped"};
    if (fault_ == "failed") return failed("it failed");
    return {};
  }

  double loss(const tutti_batch& batch, double* gradient) const {
    const auto past = *view_of<const double, 3>(batch.past, "past"), target = *view_of<const double, 3>(batch.target, "target");
    double sum = 0;
    std::fill_n(gradient, problem_.targets, 0.0);
    for (int64_t b = 0; b < target.shape[0]; ++b)
      for (int64_t h = 0; h < target.shape[1]; ++h)
        for (int64_t k = 0; k < target.shape[2]; ++k) {
          const double forecast = past(b, past.shape[1] - 1, problem_.target_feature[static_cast<size_t>(k)]) + bias_.data<double>()[k];
          sum += (forecast - target(b, h, k)) * (forecast - target(b, h, k)) / static_cast<double>(target.size());
          gradient[k] += 2 * (forecast - target(b, h, k)) / static_cast<double>(target.size());
        }
    return sum;
  }

  template <class Last>
  Result<void> answer(int64_t rows, Last last, const tutti_output& output) const {
    const auto fill = [&](double* out, int64_t levels) {
      for (int64_t b = 0; b < rows; ++b)
        for (int64_t h = 0; h < problem_.horizon; ++h)
          for (int64_t k = 0; k < problem_.targets; ++k)
            for (int64_t q = 0; q < levels; ++q)
              *out++ = last(b, problem_.target_feature[static_cast<size_t>(k)]) + bias_.data<double>()[k];
    };
    if (problem_.wants(TUTTI_ANSWER_POINT)) fill(view_of<double, 3>(output.point, "point")->data, 1);
    if (problem_.wants(TUTTI_ANSWER_QUANTILES))
      fill(view_of<double, 4>(output.quantiles, "quantiles")->data, static_cast<int64_t>(problem_.quantiles.size()));
    return {};
  }

  HostLink host_;
  Problem problem_;
  Tensor bias_, origin_ = Tensor::of<int64_t>({1});
  std::vector<Parameter> parameters_;
  std::string fault_, where_;
};

// Answers zeros to windows of any length and strides, once it is told the time; has no further ability.
class Clocked final : public Model {
 public:
  static ModelDescription description() {
    static constexpr const char* kLabels[] = {"down", "flat", "up"};
    ModelDescription d;
    d.id = "test.clocked", d.name = "Clocked", d.summary = "Zeros.";
    d.inputs = TUTTI_INPUT_PAST | TUTTI_INPUT_TIME | TUTTI_INPUT_ELAPSED | TUTTI_INPUT_LENGTH | TUTTI_INPUT_FUTURE_KNOWN | TUTTI_INPUT_STATICS;
    d.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_CLASSES | TUTTI_ANSWER_ACTION_VALUES | TUTTI_ANSWER_POLICY;
    d.flags |= TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT;
    d.class_labels = kLabels, d.class_count = 3;
    return d;
  }
  static Result<std::unique_ptr<Clocked>> create(const HostLink&, const Problem&, const Options&) { return std::make_unique<Clocked>(); }
  Result<void> predict(const tutti_batch&, const tutti_output&) override { return {}; }
};

}  // namespace

TUTTI_DEFINE_PLUGIN("org.example.test", "1.2.3", Shift, Clocked);

namespace {

const tutti_plugin& library() { return *tutti_get_plugin(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR); }
const tutti_model_type& shift() { return *library().get_model(0); }
const tutti_model_type& clocked() { return *library().get_model(1); }

template <class Table>
const Table& extension(const char* id) {
  return *static_cast<const Table*>(shift().get_extension(id));
}
const tutti_train& train() { return extension<tutti_train>(TUTTI_TRAIN_ID); }
const tutti_parameters& parameters() { return extension<tutti_parameters>(TUTTI_PARAMETERS_ID); }
const tutti_gradient& gradient() { return extension<tutti_gradient>(TUTTI_GRADIENT_ID); }
const tutti_stream& stream() { return extension<tutti_stream>(TUTTI_STREAM_ID); }
const tutti_trace& trace() { return extension<tutti_trace>(TUTTI_TRACE_ID); }

Problem small_problem() {
  Problem problem;
  problem.features = 3, problem.lookback = 4, problem.horizon = 2, problem.targets = 2, problem.target_feature = {2, 0};
  return problem;
}

std::string fault(const std::string& fault, const std::string& in) { return R"({"fault":")" + fault + R"(","in":")" + in + R"("})"; }

// A model, a batch of two rows that fits it, room for the answer, and the last error.
struct Used {
  FakeHost host;
  const tutti_model_type& type;
  Problem problem;
  Tensor past, target, point, gradients;
  tutti_batch batch{};
  tutti_output output{};
  tutti_model* model = nullptr;
  tutti_error error{};

  explicit Used(const std::string& config = fault("", ""), const Problem& of = small_problem(), const tutti_model_type& type = shift())
      : type(type), problem(of), past(of.dtype, {2, of.lookback, of.features}), target(of.dtype, {2, of.horizon, of.targets}),
        point(of.dtype, {2, of.horizon, of.targets}), gradients(of.dtype, {of.targets}) {
    if (same_dtype(of.dtype, dtype_of<double>())) {
      for (int64_t i = 0; i < past.size(); ++i) past.data<double>()[i] = static_cast<double>(i);
      for (int64_t i = 0; i < target.size(); ++i) target.data<double>()[i] = 100.0 + static_cast<double>(i);
    }
    batch.struct_size = sizeof batch, batch.size = 2;
    batch.past = past.borrow(), batch.target = target.borrow();
    output.struct_size = sizeof output, output.point = point.borrow();
    const tutti_problem borrowed = problem.borrow();
    REQUIRE(type.create(host.table(), &borrowed, config.c_str(), &model, &error) == TUTTI_OK);
    REQUIRE(model);
  }
  ~Used() { type.destroy(model); }
  Used(const Used&) = delete;
  Used& operator=(const Used&) = delete;

  tutti_status predict() { return type.predict(model, &batch, &output, &error); }
  tutti_status step() {
    const tutti_train_in in{sizeof in, 0, &batch, nullptr, 0, 0};
    tutti_train_out out{};
    out.struct_size = sizeof out;
    return train().step(model, &in, &out, &error);
  }
  tutti_status evaluate() {
    double loss = 0;
    const tutti_tensor all[] = {gradients.borrow(), {}};
    return gradient().evaluate(model, &batch, &loss, all, &error);
  }
  std::string message() const { return error.message; }
};

struct Refusal {
  tutti_status status;
  std::string message;
  bool operator==(const Refusal&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.status << " " << refusal.message; }

Refusal bad(const std::string& message) { return {TUTTI_BAD_ARGUMENT, message}; }
Refusal cannot(const std::string& message) { return {TUTTI_UNSUPPORTED, message}; }

// What create answers; the model, which there must not be, is left alone.
Refusal refused(const Problem& problem, const tutti_model_type& type = shift(), const std::string& config = fault("", "")) {
  const FakeHost host;
  const tutti_problem borrowed = problem.borrow();
  auto* const untouched = reinterpret_cast<tutti_model*>(const_cast<tutti_problem*>(&borrowed));
  tutti_model* model = untouched;
  tutti_error error{};
  const tutti_status status = type.create(host.table(), &borrowed, config.c_str(), &model, &error);
  CHECK(model == untouched);
  return {status, error.message};
}

// What predict answers after spoil has changed the batch or the output; afterwards the model still works.
template <class Spoil>
Refusal refused_by_predict(Used& used, Spoil spoil) {
  const tutti_batch batch = used.batch;
  const tutti_output output = used.output;
  spoil(used);
  const tutti_status status = used.predict();
  const Refusal refusal{status, used.message()};
  used.batch = batch, used.output = output;
  CHECK(used.predict() == TUTTI_OK);
  return refusal;
}

// Like refused_by_predict, with one tensor spoilt.
template <class Spoil>
Refusal refused_tensor(Used& used, tutti_tensor tutti_batch::*tensor, Spoil spoil) {
  return refused_by_predict(used, [&](Used& u) { spoil(u.batch.*tensor); });
}

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
    {"trace", [](Used& u) { return trace().run(u.model, &u.batch, [](void*, const char*, const tutti_tensor*) {}, nullptr, &u.error); }},
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

TEST_CASE("a problem that makes no sense is refused") {
  const auto with = [](auto change, const tutti_model_type& type = shift()) {
    Problem problem = small_problem();
    change(problem);
    return refused(problem, type, fault("", ""));
  };
  CHECK(with([](Problem& p) { p.features = 0; }) == bad("test.shift needs at least one feature and one past step"));
  CHECK(with([](Problem& p) { p.lookback = -1; }) == bad("test.shift needs at least one feature and one past step"));
  CHECK(with([](Problem& p) { p.horizon = 0; }) == bad("test.shift needs a horizon and a target of at least one"));
  CHECK(with([](Problem& p) { p.targets = 0, p.target_feature = {}; }) == bad("test.shift needs a horizon and a target of at least one"));
  CHECK(with([](Problem& p) { p.target_feature = {}; }) == bad("test.shift needs target_feature for each target"));
  CHECK(with([](Problem& p) { p.target_feature = {0, 3}; }) == bad("test.shift: a target_feature is no feature"));
  CHECK(with([](Problem& p) { p.target_feature = {0, -2}; }) == bad("test.shift: a target_feature is no feature"));
  CHECK(with([](Problem& p) { p.targets = -1; }) == bad("the problem has a negative size"));
  for (int64_t Problem::*size : {&Problem::known_features, &Problem::static_features, &Problem::classes, &Problem::actions, &Problem::season})
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
  const Tensor quantiles = Tensor::of<double>({2, 2, 2, 3}), too_few = Tensor::of<double>({2, 2, 2, 2}), single = Tensor::of<float>({2, 2, 2, 3});
  CHECK(used.predict() == TUTTI_BAD_ARGUMENT);
  CHECK(used.message() == "quantiles is missing");
  used.output.quantiles = quantiles.borrow();
  CHECK(used.predict() == TUTTI_OK);
  const auto refuse = [&](auto spoil) { return refused_by_predict(used, spoil); };
  CHECK(refuse([&](Used& u) { u.output.quantiles = too_few.borrow(); }) == bad("quantiles has the shape [2,2,2,2]; [2,2,2,3] is needed"));
  CHECK(refuse([&](Used& u) { u.output.quantiles = single.borrow(); }) == bad("quantiles is f32; f64 is needed"));
  CHECK(refuse([&](Used& u) { u.output.point = {}; }) == bad("point is missing"));
  CHECK(refuse([&](Used& u) { u.output.point.data = nullptr; }) == bad("point has no data"));
  const int64_t turned[] = {4, 1, 2};
  CHECK(refuse([&](Used& u) { u.output.point.strides = turned; }) == cannot("point is not dense; pass a contiguous copy"));

  Problem policy = small_problem();
  policy.answers = TUTTI_ANSWER_CLASSES | TUTTI_ANSWER_ACTION_VALUES | TUTTI_ANSWER_POLICY, policy.classes = 3, policy.actions = 2;
  Used acting("{}", policy, clocked());
  const Tensor time = Tensor::of<int64_t>({2, 4}), elapsed = Tensor::of<double>({2, 4}), three = Tensor::of<double>({2, 3}), two = Tensor::of<double>({2, 2});
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
    refuses(trace().run(model, nullptr, [](void*, const char*, const tutti_tensor*) {}, nullptr, error));
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
  for (const auto& [kind, sentence] : {std::pair("runtime_error", "it broke"), std::pair("int", "an exception of unknown type")}) {
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
  CHECK((moved - loss) / 0.25 == Approx((slope + used.gradients.data<double>()[1]) / 2));  // exact for a parabola but for rounding
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

TEST_CASE("a stream needs rows, and frames that fit") {
  Used used;
  tutti_stream_state* state = nullptr;
  for (const int64_t streams : {int64_t{0}, int64_t{-1}, INT64_MIN}) CHECK(stream().create(used.model, streams, &state, nullptr) == TUTTI_BAD_ARGUMENT);
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
