// A library of two model types for tests that drive them through the C table: Shift, which has every ability and can
// be told to fail, and Clocked, which has none and asks for much. define_plugin_test.cpp makes the library of them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/plugin/define_plugin.h"
#include "shared/tensor/tensor.h"
#include "tests/support/fake_host.h"

namespace tutti {

// Forecasts each target's last value plus a learned bias, in f64, and has every ability. The option "fault" names
// what goes wrong in the function that "in" names.
class Shift final : public Model,
                    public Trainable,
                    public Parameterised,
                    public Differentiable,
                    public Streamable,
                    public Traceable {
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
    return answer(
        past.shape[0], [&](int64_t b, int64_t feature) { return past(b, past.shape[1] - 1, feature); }, output);
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
  Result<void> step_stream(StreamState& state, const tutti_tensor& frame, const tutti_tensor*,
                           const tutti_output& output) override {
    TUTTI_CHECK(enter("step_stream"));
    const auto last = static_cast<Memory&>(state).last.view<double, 2>();
    const auto values = *view_of<const double, 2>(frame, "frame");
    if (values.shape[0] != last.shape[0]) return bad_input("the frame has another number of streams");
    std::copy_n(values.data, values.size(), last.data);
    return answer(
        last.shape[0], [&](int64_t b, int64_t feature) { return last(b, feature); }, output);
  }

  Result<void> trace(const tutti_batch& batch, tutti_trace_fn visit, void* argument) override {
    TUTTI_CHECK(enter("trace"));
    visit(argument, "past", &batch.past);
    return {};
  }

 private:
  Shift(const HostLink& host, const Problem& problem)
      : host_(host), problem_(problem), bias_(Tensor::of<double>({problem.targets})) {
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
          const double forecast =
              past(b, past.shape[1] - 1, problem_.target_feature[static_cast<size_t>(k)]) + bias_.data<double>()[k];
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
    d.inputs = TUTTI_INPUT_PAST | TUTTI_INPUT_TIME | TUTTI_INPUT_ELAPSED | TUTTI_INPUT_LENGTH | TUTTI_INPUT_FUTURE_KNOWN |
               TUTTI_INPUT_STATICS;
    d.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_CLASSES | TUTTI_ANSWER_ACTION_VALUES | TUTTI_ANSWER_POLICY;
    d.flags |= TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT;
    d.class_labels = kLabels, d.class_count = 3;
    return d;
  }
  static Result<std::unique_ptr<Clocked>> create(const HostLink&, const Problem&, const Options&) {
    return std::make_unique<Clocked>();
  }
  Result<void> predict(const tutti_batch&, const tutti_output&) override { return {}; }
};

inline const tutti_plugin& library() { return *tutti_get_plugin(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR); }
inline const tutti_model_type& shift() { return *library().get_model(0); }
inline const tutti_model_type& clocked() { return *library().get_model(1); }

template <class Table>
const Table& extension(const char* id) {
  return *static_cast<const Table*>(shift().get_extension(id));
}
inline const tutti_train& train() { return extension<tutti_train>(TUTTI_TRAIN_ID); }
inline const tutti_parameters& parameters() { return extension<tutti_parameters>(TUTTI_PARAMETERS_ID); }
inline const tutti_gradient& gradient() { return extension<tutti_gradient>(TUTTI_GRADIENT_ID); }
inline const tutti_stream& stream() { return extension<tutti_stream>(TUTTI_STREAM_ID); }
inline const tutti_trace& trace() { return extension<tutti_trace>(TUTTI_TRACE_ID); }

inline Problem small_problem() {
  Problem problem;
  problem.features = 3, problem.lookback = 4, problem.horizon = 2, problem.targets = 2, problem.target_feature = {2, 0};
  return problem;
}

inline std::string fault(const std::string& fault, const std::string& in) {
  return R"({"fault":")" + fault + R"(","in":")" + in + R"("})";
}

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

  explicit Used(const std::string& config = fault("", ""), const Problem& of = small_problem(),
                const tutti_model_type& type = shift())
      : type(type),
        problem(of),
        past(of.dtype, {2, of.lookback, of.features}),
        target(of.dtype, {2, of.horizon, of.targets}),
        point(of.dtype, {2, of.horizon, of.targets}),
        gradients(of.dtype, {of.targets}) {
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
inline std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << refusal.status << " " << refusal.message;
}

inline Refusal bad(const std::string& message) { return {TUTTI_BAD_ARGUMENT, message}; }
inline Refusal cannot(const std::string& message) { return {TUTTI_UNSUPPORTED, message}; }

// What create answers; the model, which there must not be, is left alone.
inline Refusal refused(const Problem& problem, const tutti_model_type& type = shift(),
                       const std::string& config = fault("", "")) {
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

}  // namespace tutti
