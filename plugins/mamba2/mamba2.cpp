#include "plugins/mamba2/mamba2.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace tutti::mamba2 {
namespace {

template <class T>
struct Stream final : StreamState {
  explicit Stream(ModelState<T> memory) : memory(std::move(memory)) {}
  ModelState<T> memory;
};

// The memory behind a handle. Throws where it is of another precision or another shape, which would be read as numbers
// that it isn't.
template <class T>
const ModelState<T>& memory_of(const StreamState& state, const Forecaster<T>& forecaster) {
  const auto* stream = dynamic_cast<const Stream<T>*>(&state);
  if (!stream || !forecaster.fits(stream->memory))
    throw std::invalid_argument("the stream's memory is of a model of another shape or precision; use the model that made it");
  return stream->memory;
}
template <class T>
ModelState<T>& memory_of(StreamState& state, const Forecaster<T>& forecaster) {
  return const_cast<ModelState<T>&>(memory_of(const_cast<const StreamState&>(state), forecaster));
}

// What saved streams begin with: a stream of another model is refused.
struct SavedHeader {
  char magic[8];
  int64_t element_size, rows, conv_size, ssm_size;
};
constexpr char kMagic[8] = {'m', 'a', 'm', 'b', 'a', '2', 's', '1'};

template <class T>
SavedHeader header_of(const ModelState<T>& memory) {
  SavedHeader header{
      {}, sizeof(T), memory.rows, static_cast<int64_t>(memory.conv.size()), static_cast<int64_t>(memory.ssm.size())};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return header;
}

template <class Trainer>
struct ElementOf;
template <class T>
struct ElementOf<std::unique_ptr<Trainer<T>>> {
  using Type = T;
};

// Calls body(trainer, T()) with the trainer in its precision T.
template <class AnyTrainer, class Body>
auto in_precision(AnyTrainer& any, Body body) {
  return std::visit(
      [&](auto& trainer) { return body(*trainer, typename ElementOf<std::remove_cvref_t<decltype(trainer)>>::Type()); }, any);
}

}  // namespace

ModelDescription Mamba2::description() {
  ModelDescription d;
  d.training = TUTTI_TRAINING_SUPERVISED;
  d.id = "tutti.mamba2";
  d.name = "Mamba-2";
  d.summary = "A stack of Mamba-2 blocks (structured state space duality) that reads a window and forecasts from its last step.";
  d.config_schema = config_schema();
  d.inputs = TUTTI_INPUT_PAST | TUTTI_INPUT_LENGTH;
  d.answers = TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES;
  d.flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT | TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT;
  return d;
}

Result<std::unique_ptr<Mamba2>> Mamba2::create(const HostLink& host, const Problem& problem, const Options& options) {
  TUTTI_TRY(const Config config, read_config(options, problem));
  AnyTrainer trainer;
  if (same_dtype(problem.dtype, dtype_of<float>()))
    trainer = std::make_unique<Trainer<float>>(config, problem);
  else
    trainer = std::make_unique<Trainer<double>>(config, problem);
  return std::unique_ptr<Mamba2>(new Mamba2(host, std::move(trainer)));
}

Result<void> Mamba2::predict(const tutti_batch& batch, const tutti_output& output) {
  in_precision(trainer_, [&](auto& trainer, auto) { trainer.forecaster().predict(host_, trainer.weights(), batch, output); });
  return {};
}

Result<void> Mamba2::reset() {
  in_precision(trainer_, [](auto& trainer, auto) { trainer.reset(); });
  return {};
}

Result<void> Mamba2::step(const tutti_train_in& in, tutti_train_out& out) {
  out.gradient_steps = 0, out.scalar_count = 0, out.loss = std::numeric_limits<double>::quiet_NaN();
  out.state = TUTTI_TRAIN_NEEDS_DATA;
  if (in.batch && in.batch->size > 0) in_precision(trainer_, [&](auto& trainer, auto) { trainer.step(host_, *in.batch, out); });
  return {};
}

Result<void> Mamba2::notify(uint32_t event, double value) {
  if (event != TUTTI_EVENT_TRAIN_BEGIN) return {};
  const int64_t steps = value >= 1 && value < 1e18 ? static_cast<int64_t>(value) : 0;
  in_precision(trainer_, [&](auto& trainer, auto) { trainer.plan(steps); });
  return {};
}

const std::vector<Parameter>& Mamba2::parameters() {
  return *in_precision(trainer_, [](auto& trainer, auto) { return &trainer.parameters(); });
}

Result<double> Mamba2::gradient(const tutti_batch& batch, const tutti_tensor* gradients) {
  return in_precision(trainer_, [&](auto& trainer, auto) { return trainer.gradient(host_, batch, gradients); });
}

Result<std::unique_ptr<StreamState>> Mamba2::create_stream(int64_t streams) {
  return in_precision(trainer_, [&](auto& trainer, auto zero) -> Result<std::unique_ptr<StreamState>> {
    if (const char* reason = trainer.forecaster().why_no_stream()) return unsupported(reason);
    return std::unique_ptr<StreamState>(std::make_unique<Stream<decltype(zero)>>(trainer.forecaster().empty_state(streams)));
  });
}

Result<std::unique_ptr<StreamState>> Mamba2::copy_stream(const StreamState& state) {
  return in_precision(trainer_, [&](auto& trainer, auto zero) -> Result<std::unique_ptr<StreamState>> {
    using T = decltype(zero);
    return std::unique_ptr<StreamState>(std::make_unique<Stream<T>>(memory_of<T>(state, trainer.forecaster())));
  });
}

std::vector<uint8_t> Mamba2::save_stream(const StreamState& state) {
  return in_precision(trainer_, [&](auto& trainer, auto zero) {
    const auto& memory = memory_of<decltype(zero)>(state, trainer.forecaster());
    const SavedHeader header = header_of(memory);
    const size_t conv_bytes = memory.conv.size() * sizeof zero, ssm_bytes = memory.ssm.size() * sizeof zero;
    std::vector<uint8_t> bytes(sizeof header + conv_bytes + ssm_bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, memory.conv.data(), conv_bytes);
    std::memcpy(bytes.data() + sizeof header + conv_bytes, memory.ssm.data(), ssm_bytes);
    return bytes;
  });
}

Result<std::unique_ptr<StreamState>> Mamba2::load_stream(const uint8_t* bytes, uint64_t size) {
  return in_precision(trainer_, [&](auto& trainer, auto zero) -> Result<std::unique_ptr<StreamState>> {
    if (const char* reason = trainer.forecaster().why_no_stream()) return unsupported(reason);
    const Error refusal =
        bad_input("these bytes are no stream of a model of this shape and precision; save it from the same model");
    SavedHeader header;
    if (size < sizeof header) return refusal;
    std::memcpy(&header, bytes, sizeof header);
    const auto per_row = trainer.forecaster().empty_state(1);
    const uint64_t bytes_per_row = (per_row.conv.size() + per_row.ssm.size()) * sizeof zero;
    const uint64_t content = size - sizeof header;
    if (header.rows < 1 || static_cast<uint64_t>(header.rows) > content / bytes_per_row) return refusal;
    auto memory = trainer.forecaster().empty_state(header.rows);
    const SavedHeader expected = header_of(memory);
    if (std::memcmp(&header, &expected, sizeof header) != 0 || content != static_cast<uint64_t>(header.rows) * bytes_per_row)
      return refusal;
    const uint8_t* from = bytes + sizeof header;
    std::memcpy(memory.conv.data(), from, memory.conv.size() * sizeof zero);
    std::memcpy(memory.ssm.data(), from + memory.conv.size() * sizeof zero, memory.ssm.size() * sizeof zero);
    return std::unique_ptr<StreamState>(std::make_unique<Stream<decltype(zero)>>(std::move(memory)));
  });
}

Result<void> Mamba2::reset_stream(StreamState& state, const uint8_t* mask) {
  in_precision(trainer_, [&](auto& trainer, auto zero) {
    auto& memory = memory_of<decltype(zero)>(state, trainer.forecaster());
    for (int64_t row = 0; row < memory.rows; ++row)
      if (!mask || mask[row]) trainer.forecaster().reset_row(memory, row);
  });
  return {};
}

Result<void> Mamba2::step_stream(StreamState& state, const tutti_tensor& frame, const tutti_tensor*, const tutti_output& output) {
  return in_precision(trainer_, [&](auto& trainer, auto zero) -> Result<void> {
    using T = decltype(zero);
    auto& memory = memory_of<T>(state, trainer.forecaster());
    const View<const T, 2> values = *view_of<const T, 2>(frame, "frame");
    if (values.shape[0] != memory.rows)
      return bad_input("the frame has " + std::to_string(values.shape[0]) + " rows; the memory holds " +
                       std::to_string(memory.rows) + " streams");
    trainer.forecaster().step(host_, trainer.weights(), memory, values, output);
    return {};
  });
}

Result<void> Mamba2::trace(const tutti_batch& batch, tutti_trace_fn visit, void* argument) {
  in_precision(trainer_,
               [&](auto& trainer, auto) { trainer.forecaster().trace(host_, trainer.weights(), batch, visit, argument); });
  return {};
}

}  // namespace tutti::mamba2
