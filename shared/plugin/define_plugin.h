// Turns C++ model classes into the contract's tables. The only place where exceptions stop.
//
//     class LastValue : public tutti::Model, public tutti::Trainable {
//      public:
//       static tutti::ModelDescription description();
//       static tutti::Result<std::unique_ptr<LastValue>> create(const tutti::HostLink&, const tutti::Problem&,
//                                                               const tutti::Options&);
//       …
//     };
//     TUTTI_DEFINE_PLUGIN("org.example.mine", "1.0.0", LastValue)
//
// A class that is also Trainable, Parameterised, Differentiable, Streamable or Traceable offers that extension.
#pragma once

#include <tutti/plugin.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "shared/plugin/border_check.h"
#include "shared/plugin/model.h"

namespace tutti {

// The constant part of tutti_model_type; strings are literals.
struct ModelDescription {
  uint32_t training = TUTTI_TRAINING_NONE;
  const char* id = "";
  const char* name = "";
  const char* summary = "";
  const char* config_schema = R"({"type":"object","properties":{},"additionalProperties":false})";
  uint32_t inputs = TUTTI_INPUT_PAST;
  uint32_t answers = TUTTI_ANSWER_POINT;
  uint32_t dtypes = TUTTI_DTYPE_F32 | TUTTI_DTYPE_F64;
  uint32_t flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT;
  const char* devices = "cpu";
  const char* const* class_labels = nullptr;  // [class_count] where it answers classes
  int64_t class_count = 0;
};

namespace border {

inline void write(tutti_error* error, const char* message) {
  if (!error) return;
  size_t length = ::strnlen(message, TUTTI_ERROR_LENGTH);
  if (length == TUTTI_ERROR_LENGTH) {  // cut before a character, not inside it
    --length;
    while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xc0) == 0x80) --length;
  }
  std::memcpy(error->message, message, length);
  error->message[length] = '\0';
}

inline tutti_status report(const Error& failure, tutti_error* error) {
  write(error, failure.message.c_str());
  switch (failure.code) {
    case ErrorCode::bad_input: return TUTTI_BAD_ARGUMENT;
    case ErrorCode::unsupported: return TUTTI_UNSUPPORTED;
    case ErrorCode::bad_state: return TUTTI_BAD_STATE;
    case ErrorCode::cancelled: return TUTTI_CANCELLED;
    case ErrorCode::failed: break;
  }
  return TUTTI_MODEL_DEAD;
}

// Runs body, which returns a Result<void>; whatever it throws becomes a status.
template <class Body>
tutti_status guarded(tutti_error* error, Body body) noexcept {
  try {
    const Result<void> result = body();
    return result ? TUTTI_OK : report(result.error(), error);
  } catch (const std::bad_alloc&) {
    write(error, "out of memory; a smaller batch may help");
    return TUTTI_OUT_OF_MEMORY;
  } catch (const std::invalid_argument& mistake) {
    write(error, mistake.what());
    return TUTTI_BAD_ARGUMENT;
  } catch (const std::exception& failure) {
    write(error, failure.what());
    return TUTTI_MODEL_DEAD;
  } catch (...) {
    write(error, "an exception of unknown type");
    return TUTTI_MODEL_DEAD;
  }
}

template <class M>
struct Instance {
  HostLink host;
  Problem problem;
  std::unique_ptr<M> model;
  bool dead = false;
};

template <class M>
Instance<M>& instance_of(tutti_model* model) {
  return *reinterpret_cast<Instance<M>*>(model);
}

// A call on a living model.
template <class M, class Body>
tutti_status call(tutti_model* model, tutti_error* error, Body body) noexcept {
  if (!model) return write(error, "the model is null"), TUTTI_BAD_ARGUMENT;
  Instance<M>& instance = instance_of<M>(model);
  if (instance.dead) return write(error, "the model failed before; only destroy may follow"), TUTTI_BAD_STATE;
  const tutti_status status = guarded(error, [&] { return body(instance); });
  instance.dead = status >= TUTTI_MODEL_DEAD;
  return status;
}

template <class M>
struct Adapter {
  static BorderRules rules() {
    const ModelDescription d = M::description();
    return {(d.flags & TUTTI_FREE_LOOKBACK) != 0, (d.flags & TUTTI_STRIDED_INPUT) != 0, d.inputs};
  }

  static tutti_status create(const tutti_host* host, const tutti_problem* problem, const char* config, tutti_model** model,
                             tutti_error* error) noexcept {
    return guarded(error, [&]() -> Result<void> {
      if (!host || !problem || !config || !model) return bad_input("create was given a null pointer");
      auto instance = std::make_unique<Instance<M>>(Instance<M>{HostLink(host), Problem::from(*problem), nullptr});
      TUTTI_CHECK(check_problem(instance->problem, *type()));
      TUTTI_TRY(const Options options, Options::parse(config));
      TUTTI_TRY(instance->model, M::create(instance->host, instance->problem, options));
      *model = reinterpret_cast<tutti_model*>(instance.release());
      return {};
    });
  }

  static void destroy(tutti_model* model) noexcept { delete reinterpret_cast<Instance<M>*>(model); }

  static tutti_status predict(tutti_model* model, const tutti_batch* batch, const tutti_output* output, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!batch || !output) return bad_input("predict was given a null pointer");
      TUTTI_CHECK(check_batch(*batch, self.problem, rules(), false));
      TUTTI_CHECK(check_output(*output, batch->size, self.problem));
      if (batch->size == 0) return {};
      return self.model->predict(*batch, *output);
    });
  }

  static tutti_status reset(tutti_model* model, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) { return self.model->reset(); });
  }

  // --- tutti.train/1
  static tutti_status step(tutti_model* model, const tutti_train_in* in, tutti_train_out* out, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!in || !out) return bad_input("step was given a null pointer");
      if (in->batch) TUTTI_CHECK(check_batch(*in->batch, self.problem, rules(), true));
      return self.model->step(*in, *out);
    });
  }
  static tutti_status notify(tutti_model* model, uint32_t event, double value, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) { return self.model->notify(event, value); });
  }

  // --- tutti.parameters/1
  static int64_t count(tutti_model* model) noexcept {
    int64_t count = 0;
    call<M>(model, nullptr, [&](Instance<M>& self) -> Result<void> {
      count = static_cast<int64_t>(self.model->parameters().size());
      return {};
    });
    return count;
  }
  static tutti_status get(tutti_model* model, int64_t index, tutti_parameter* parameter, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      const std::vector<Parameter>& all = self.model->parameters();
      if (!parameter || index < 0 || index >= static_cast<int64_t>(all.size())) return bad_input("there is no such parameter");
      const Parameter& found = all[static_cast<size_t>(index)];
      const tutti_parameter answer{parameter->struct_size, found.role, found.name.c_str(), found.tensor};
      std::memcpy(parameter, &answer, std::min<size_t>(parameter->struct_size, sizeof answer));
      return {};
    });
  }
  static tutti_status changed(tutti_model* model, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) { return self.model->parameters_changed(); });
  }

  // --- tutti.gradient/1
  static tutti_status evaluate(tutti_model* model, const tutti_batch* batch, double* loss, const tutti_tensor* gradients,
                               tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!batch || !loss || !gradients) return bad_input("evaluate was given a null pointer");
      TUTTI_CHECK(check_batch(*batch, self.problem, rules(), true));
      if (batch->size == 0) return bad_input("a batch without rows has no loss");
      if constexpr (std::derived_from<M, Parameterised>) TUTTI_CHECK(check_gradients(gradients, self.model->parameters()));
      TUTTI_TRY(*loss, self.model->gradient(*batch, gradients));
      return {};
    });
  }

  // --- tutti.stream/1
  static tutti_stream_state* handle(std::unique_ptr<StreamState> state) {
    return reinterpret_cast<tutti_stream_state*>(state.release());
  }
  static const StreamState& memory(const tutti_stream_state* state) {
    if (!state) throw std::invalid_argument("the stream's memory is null");
    return *reinterpret_cast<const StreamState*>(state);
  }
  static StreamState& memory(tutti_stream_state* state) {
    return const_cast<StreamState&>(memory(const_cast<const tutti_stream_state*>(state)));
  }
  static tutti_status create_stream(tutti_model* model, int64_t streams, tutti_stream_state** state, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!state || streams < 1) return bad_input("a stream needs a place for its handle and at least one row");
      TUTTI_TRY(auto made, self.model->create_stream(streams));
      *state = handle(std::move(made));
      return {};
    });
  }
  static tutti_status copy_stream(tutti_model* model, const tutti_stream_state* state, tutti_stream_state** copy,
                                  tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!copy) return bad_input("copy was given a null pointer");
      TUTTI_TRY(auto made, self.model->copy_stream(memory(state)));
      *copy = handle(std::move(made));
      return {};
    });
  }
  static tutti_status save_stream(tutti_model* model, const tutti_stream_state* state, void* bytes, uint64_t* size,
                                  tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!size) return bad_input("save was given a null pointer");
      const std::vector<uint8_t> saved = self.model->save_stream(memory(state));
      if (bytes && !saved.empty() && *size >= saved.size()) std::memcpy(bytes, saved.data(), saved.size());
      *size = saved.size();
      return {};
    });
  }
  static tutti_status load_stream(tutti_model* model, const void* bytes, uint64_t size, tutti_stream_state** state,
                                  tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!state || (!bytes && size)) return bad_input("load was given a null pointer");
      TUTTI_TRY(auto made, self.model->load_stream(static_cast<const uint8_t*>(bytes), size));
      *state = handle(std::move(made));
      return {};
    });
  }
  static tutti_status reset_stream(tutti_model* model, tutti_stream_state* state, const uint8_t* mask, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) { return self.model->reset_stream(memory(state), mask); });
  }
  static tutti_status step_stream(tutti_model* model, tutti_stream_state* state, const tutti_tensor* frame,
                                  const tutti_tensor* elapsed, const tutti_output* output, tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!frame || !output) return bad_input("step was given a null pointer");
      TUTTI_CHECK(check_frame(*frame, elapsed, self.problem, rules()));
      TUTTI_CHECK(check_output(*output, frame->shape[0], self.problem));
      return self.model->step_stream(memory(state), *frame, elapsed, *output);
    });
  }
  static void destroy_stream(tutti_model*, tutti_stream_state* state) noexcept { delete reinterpret_cast<StreamState*>(state); }

  // --- tutti.trace/1
  static tutti_status run_trace(tutti_model* model, const tutti_batch* batch, tutti_trace_fn visit, void* argument,
                                tutti_error* error) noexcept {
    return call<M>(model, error, [&](Instance<M>& self) -> Result<void> {
      if (!batch || !visit) return bad_input("trace was given a null pointer");
      TUTTI_CHECK(check_batch(*batch, self.problem, rules(), false));
      if (batch->size == 0) return {};
      return self.model->trace(*batch, visit, argument);
    });
  }

  static const void* get_extension(const char* id) noexcept {
    const auto is = [&](const char* wanted) { return id && std::strcmp(id, wanted) == 0; };
    if constexpr (std::derived_from<M, Trainable>) {
      static constexpr tutti_train table{sizeof(tutti_train), 0, step, notify};
      if (is(TUTTI_TRAIN_ID)) return &table;
    }
    if constexpr (std::derived_from<M, Parameterised>) {
      static constexpr tutti_parameters table{sizeof(tutti_parameters), 0, count, get, changed};
      if (is(TUTTI_PARAMETERS_ID)) return &table;
    }
    if constexpr (std::derived_from<M, Differentiable>) {
      static constexpr tutti_gradient table{sizeof(tutti_gradient), 0, evaluate};
      if (is(TUTTI_GRADIENT_ID)) return &table;
    }
    if constexpr (std::derived_from<M, Streamable>) {
      static constexpr tutti_stream table{sizeof(tutti_stream), 0,           create_stream, copy_stream,   save_stream,
                                          load_stream,          reset_stream, step_stream,   destroy_stream};
      if (is(TUTTI_STREAM_ID)) return &table;
    }
    if constexpr (std::derived_from<M, Traceable>) {
      static constexpr tutti_trace table{sizeof(tutti_trace), 0, run_trace};
      if (is(TUTTI_TRACE_ID)) return &table;
    }
    return nullptr;
  }

  static const tutti_model_type* type() {
    static const tutti_model_type table = [] {
      const ModelDescription d = M::description();
      return tutti_model_type{sizeof(tutti_model_type), d.training, d.id,      d.name,         d.summary,     d.config_schema,
                              d.inputs,                 d.answers,  d.dtypes,  d.flags,        d.devices,     d.class_labels,
                              d.class_count,            create,     destroy,   predict,        reset,         get_extension};
    }();
    return &table;
  }
};

// The library's table for the listed model classes.
template <class... Models>
struct Library {
  static const tutti_model_type* get_model(int32_t index) noexcept {
    constexpr std::array<const tutti_model_type* (*)(), sizeof...(Models)> types{Adapter<Models>::type...};
    return index >= 0 && index < static_cast<int32_t>(types.size()) ? types[static_cast<size_t>(index)]() : nullptr;
  }
  static const tutti_plugin* table(const char* id, const char* version, uint32_t host_abi_major) {
    static const tutti_plugin plugin{sizeof(tutti_plugin), TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR, id, version, sizeof...(Models), 0, get_model};
    return host_abi_major == TUTTI_ABI_MAJOR ? &plugin : nullptr;
  }
};

}  // namespace border
}  // namespace tutti

// Once in a library, at file scope outside any namespace. ID and VERSION are literals.
#define TUTTI_DEFINE_PLUGIN(ID, VERSION, ...)                                                         \
  TUTTI_METADATA(ID, VERSION);                                                                        \
  extern "C" const tutti_plugin* tutti_get_plugin(uint32_t host_abi_major, uint32_t /*minor*/) {      \
    return tutti::border::Library<__VA_ARGS__>::table(ID, VERSION, host_abi_major);                   \
  }                                                                                                   \
  static_assert(true)
