#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/data/collate.h"
#include "host/plugin/fault_report.h"
#include "host/plugin/hosted_model.h"
#include "host/text/plain.h"

namespace tutti {
namespace {

// A quiet NaN whose payload no arithmetic makes: where it is still there after a call, nothing was written.
constexpr uint32_t kUnwritten32 = 0x7FC0A11Eu;
constexpr uint64_t kUnwritten64 = 0x7FF8A11E7CAFE000u;

template <class T>
void mark_unwritten(Tensor& tensor) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const T mark = std::bit_cast<T>(sizeof(T) == 4 ? static_cast<Bits>(kUnwritten32) : static_cast<Bits>(kUnwritten64));
  for (int64_t i = 0; i < tensor.size(); ++i) std::memcpy(tensor.data<T>() + i, &mark, sizeof mark);
}

template <class T>
bool is_mark(T value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value) == kUnwritten32;
  else
    return std::bit_cast<uint64_t>(value) == kUnwritten64;
}

template <class T>
Result<std::vector<double>> checked_copy(const Tensor& tensor, const char* name) {
  int64_t unwritten = 0, infinite = 0;
  std::vector<double> copy(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const T value = tensor.data<T>()[i];
    unwritten += is_mark(value);
    infinite += !std::isfinite(value);
    copy[static_cast<size_t>(i)] = static_cast<double>(value);
  }
  if (unwritten) return failed(fmt::format("left {} of {} values of its {} unwritten", unwritten, tensor.size(), name));
  if (infinite)
    return failed(fmt::format("answered {} of {} values of its {} that are not finite", infinite, tensor.size(), name));
  return copy;
}

// Sorts each cell's levels (Chernozhukov et al. 2010: never makes the pinball loss larger). Gives how many were moved.
int64_t sort_levels(std::vector<double>& quantiles, size_t levels) {
  int64_t moved = 0;
  for (size_t cell = 0; cell + levels <= quantiles.size(); cell += levels) {
    const auto first = quantiles.begin() + static_cast<ptrdiff_t>(cell), last = first + static_cast<ptrdiff_t>(levels);
    if (std::is_sorted(first, last)) continue;
    std::sort(first, last);
    ++moved;
  }
  return moved;
}

Tensor copy_of(const tutti_tensor& source) {
  Tensor copy(source.dtype, std::vector<int64_t>(source.shape, source.shape + source.ndim));
  if (copy.bytes())
    std::memcpy(copy.data(), static_cast<const char*>(source.data) + source.byte_offset, static_cast<size_t>(copy.bytes()));
  return copy;
}

bool same_shape(const tutti_tensor& tensor, const Tensor& other) {
  return tensor.ndim == static_cast<int32_t>(other.shape().size()) &&
         std::equal(other.shape().begin(), other.shape().end(), tensor.shape) && same_dtype(tensor.dtype, other.dtype());
}

// Order matters: the same batches in another order give another sum.
uint64_t chain(uint64_t sum, uint64_t next) { return (std::rotl(sum, 5) ^ next) * 0x9E3779B97F4A7C15u; }

class InProcessModel final : public HostedModel {
 public:
  InProcessModel(const tutti_model_type& type, const ModelRequest& request, Executor& executor,
                 const std::atomic<bool>* cancelled, LogSink log)
      : name_(request.name),
        type_(type),
        problem_(request.problem),
        services_(request.name, executor, cancelled, std::move(log)) {}

  ~InProcessModel() override {
    if (model_ && !library_dead_) type_.destroy(model_);
  }

  Result<void> create(const std::string& config_json) {
    const tutti_problem problem = problem_.borrow();
    TUTTI_CHECK(
        call([&](tutti_error* error) { return type_.create(services_.table(), &problem, config_json.c_str(), &model_, error); }));
    if (!model_) return failed(fmt::format("{}: create said OK but made no model", name_));
    train_ = static_cast<const tutti_train*>(type_.get_extension(TUTTI_TRAIN_ID));
    parameters_ = static_cast<const tutti_parameters*>(type_.get_extension(TUTTI_PARAMETERS_ID));
    trace_ = static_cast<const tutti_trace*>(type_.get_extension(TUTTI_TRACE_ID));
    return {};
  }

  const std::string& name() const override { return name_; }
  const tutti_model_type& type() const override { return type_; }
  const Problem& problem() const override { return problem_; }

  Result<Answer> predict(const tutti_batch& batch) override {
    const bool f32 = problem_.dtype.bits == 32;
    const int64_t Q = static_cast<int64_t>(problem_.quantiles.size());
    tutti_output output{};
    output.struct_size = sizeof output;
    Tensor point, quantiles;
    const auto prepare = [&](Tensor& tensor, tutti_tensor& slot, std::vector<int64_t> shape) {
      tensor = Tensor(problem_.dtype, std::move(shape));
      f32 ? mark_unwritten<float>(tensor) : mark_unwritten<double>(tensor);
      slot = tensor.borrow();
    };
    if (problem_.wants(TUTTI_ANSWER_POINT)) prepare(point, output.point, {batch.size, problem_.horizon, problem_.targets});
    if (problem_.wants(TUTTI_ANSWER_QUANTILES))
      prepare(quantiles, output.quantiles, {batch.size, problem_.horizon, problem_.targets, Q});

    shown_to_predict_ = chain(shown_to_predict_, hash_batch(batch));
    TUTTI_CHECK(call([&](tutti_error* error) { return type_.predict(model_, &batch, &output, error); }));

    Answer answer;
    const auto take = [&](const Tensor& tensor, const char* what) {
      return f32 ? checked_copy<float>(tensor, what) : checked_copy<double>(tensor, what);
    };
    if (problem_.wants(TUTTI_ANSWER_POINT)) {
      Result<std::vector<double>> values = take(point, "point forecast");
      if (!values) return failed(name_ + " " + values.error().message);
      answer.point = *std::move(values);
    }
    if (problem_.wants(TUTTI_ANSWER_QUANTILES)) {
      Result<std::vector<double>> values = take(quantiles, "quantiles");
      if (!values) return failed(name_ + " " + values.error().message);
      answer.quantiles = *std::move(values);
      answer.crossings = sort_levels(answer.quantiles, static_cast<size_t>(Q));
    }
    return answer;
  }

  Result<StepReport> train_step(const tutti_batch& batch) override {
    if (!train_) return unsupported(fmt::format("{} has nothing to learn", name_));
    tutti_train_in in{};
    in.struct_size = sizeof in;
    in.batch = &batch;
    in.gradient_steps = 1;
    tutti_train_out out{};
    out.struct_size = sizeof out;
    out.loss = std::numeric_limits<double>::quiet_NaN();
    shown_to_train_ = chain(shown_to_train_, hash_batch(batch));
    TUTTI_CHECK(call([&](tutti_error* error) { return train_->step(model_, &in, &out, error); }));
    StepReport report{out.state, out.loss, {}};
    for (int32_t i = 0; i < std::clamp(out.scalar_count, 0, TUTTI_TRAIN_SCALARS); ++i)
      if (out.scalars[i].name) report.scalars.emplace_back(out.scalars[i].name, out.scalars[i].value);
    return report;
  }

  Result<void> notify(uint32_t event, double value) override {
    if (!train_) return {};
    return call([&](tutti_error* error) { return train_->notify(model_, event, value, error); });
  }

  Result<std::vector<NamedTensor>> parameters(ParameterSet set) override {
    std::vector<NamedTensor> copies;
    TUTTI_CHECK(for_each_parameter(set, [&](const tutti_parameter& parameter) -> Result<void> {
      copies.push_back({parameter.name, copy_of(parameter.tensor)});
      return {};
    }));
    return copies;
  }

  Result<void> restore(const std::vector<NamedTensor>& tensors, ParameterSet set) override {
    if (!parameters_) return {};
    TUTTI_CHECK(for_each_parameter(set, [&](const tutti_parameter& parameter) -> Result<void> {
      const auto found =
          std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == parameter.name; });
      if (found == tensors.end()) return bad_input(fmt::format("{}: the checkpoint lacks \"{}\"", name_, parameter.name));
      if (!same_shape(parameter.tensor, found->tensor))
        return bad_input(fmt::format("{}: \"{}\" has the shape {} {} in the checkpoint; the model wants {} {}", name_,
                                     parameter.name, name_of(found->tensor.dtype()),
                                     shape_text(found->tensor.shape().data(), static_cast<int>(found->tensor.shape().size())),
                                     name_of(parameter.tensor.dtype), shape_text(parameter.tensor.shape, parameter.tensor.ndim)));
      if (found->tensor.bytes())
        std::memcpy(static_cast<char*>(parameter.tensor.data) + parameter.tensor.byte_offset, found->tensor.data(),
                    static_cast<size_t>(found->tensor.bytes()));
      return {};
    }));
    return call([&](tutti_error* error) { return parameters_->changed(model_, error); });
  }

  int64_t weight_count() override {
    if (!parameters_) return -1;
    int64_t total = 0;
    const Result<void> counted = for_each_parameter(ParameterSet::learned, [&](const tutti_parameter& parameter) -> Result<void> {
      int64_t size = parameter.role == TUTTI_ROLE_WEIGHT;
      for (int axis = 0; axis < parameter.tensor.ndim; ++axis) size *= parameter.tensor.shape[axis];
      total += size;
      return {};
    });
    return counted ? total : -1;
  }

  Result<std::vector<NamedTensor>> trace(const tutti_batch& batch) override {
    if (!TUTTI_HAS(trace_, tutti_trace, run))
      return unsupported(fmt::format("{} shows no intermediate values (tutti.trace/1)", name_));
    std::vector<NamedTensor> visited;
    const tutti_trace_fn visit = [](void* argument, const char* name, const tutti_tensor* tensor) {
      static_cast<std::vector<NamedTensor>*>(argument)->push_back({name, copy_of(*tensor)});
    };
    TUTTI_CHECK(call([&](tutti_error* error) { return trace_->run(model_, &batch, visit, &visited, error); }));
    return visited;
  }

  uint64_t shown_to_predict() const override { return shown_to_predict_; }
  uint64_t shown_to_train() const override { return shown_to_train_; }
  void forget_shown() override { shown_to_predict_ = shown_to_train_ = 0; }

 private:
  // A call over the border: its status as a Result, its scratch memory freed, a fault named after this member.
  template <class Body>
  Result<void> call(Body body) {
    if (library_dead_) return failed(fmt::format("{}: its library failed for good before", name_));
    tutti_error error{};
    const FaultReport faults_are_named(name_.c_str());
    const tutti_status status = body(&error);
    services_.end_call();
    if (status == TUTTI_OK) return {};
    error.message[TUTTI_ERROR_LENGTH - 1] = '\0';
    library_dead_ = status == TUTTI_LIBRARY_DEAD;
    const std::string sentence =
        fmt::format("{}: {}", name_, error.message[0] ? plain_text(error.message) : "failed without saying why");
    switch (status) {
      case TUTTI_BAD_ARGUMENT:
        return bad_input(sentence);
      case TUTTI_UNSUPPORTED:
        return unsupported(sentence);
      case TUTTI_CANCELLED:
        return Error{ErrorCode::cancelled, sentence};
      default:
        return failed(sentence);
    }
  }

  template <class Body>
  Result<void> for_each_parameter(ParameterSet set, Body body) {
    if (!parameters_) return {};
    const int64_t count = parameters_->count(model_);
    for (int64_t i = 0; i < count; ++i) {
      tutti_parameter parameter{};
      parameter.struct_size = sizeof parameter;
      TUTTI_CHECK(call([&](tutti_error* error) { return parameters_->get(model_, i, &parameter, error); }));
      if (set == ParameterSet::learned && parameter.role == TUTTI_ROLE_OPTIMIZER) continue;
      TUTTI_CHECK(body(parameter));
    }
    return {};
  }

  std::string name_;
  const tutti_model_type& type_;
  Problem problem_;
  HostServices services_;
  tutti_model* model_ = nullptr;
  const tutti_train* train_ = nullptr;
  const tutti_parameters* parameters_ = nullptr;
  const tutti_trace* trace_ = nullptr;
  bool library_dead_ = false;
  uint64_t shown_to_predict_ = 0, shown_to_train_ = 0;
};

Result<void> check_request(const tutti_model_type& type, const ModelRequest& request) {
  const auto refuse = [&](const std::string& why) { return bad_input(fmt::format("{}: {} {}", request.name, type.id, why)); };
  const bool f32 = request.problem.dtype.bits == 32;
  if (!(type.dtypes & (f32 ? TUTTI_DTYPE_F32 : TUTTI_DTYPE_F64)))
    return refuse(fmt::format("doesn't compute in {}; set [task] dtype = \"{}\"", f32 ? "f32" : "f64", f32 ? "f64" : "f32"));
  if (request.problem.answers & ~type.answers) return refuse("doesn't answer with the kind of forecast that the task asks for");
  if (type.training == TUTTI_TRAINING_REPLAY || type.training == TUTTI_TRAINING_ROLLOUT)
    return refuse("learns from experience, which a forecast task doesn't give");
  return {};
}

}  // namespace

Result<std::unique_ptr<HostedModel>> make_in_process_model(const Catalogue::Model& model, const ModelRequest& request,
                                                           Executor& executor, const std::atomic<bool>* cancelled, LogSink log) {
  TUTTI_CHECK(check_request(*model.type, request));
  auto made = std::make_unique<InProcessModel>(*model.type, request, executor, cancelled, std::move(log));
  TUTTI_CHECK(made->create(request.config_json));
  return std::unique_ptr<HostedModel>(std::move(made));
}

}  // namespace tutti
