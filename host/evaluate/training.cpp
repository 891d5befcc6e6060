#include "host/evaluate/training.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "host/evaluate/prediction.h"
#include "host/evaluate/run_folder.h"
#include "shared/checkpoint/safetensors.h"
#include "shared/random/philox.h"

namespace tutti {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// What a training remembers between epochs, beside the model's parameters.
struct Memory {
  TrainingRecord record;
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t epochs_done = 0, epochs_without_gain = 0;
  bool finished = false;
  std::vector<NamedTensor> best;  // learned parameters of the best epoch
};

constexpr const char* kHashKey = "tutti.xxh3";

std::string hash_of(const std::vector<TensorToWrite>& tensors) {
  uint64_t sum = 0;
  for (const TensorToWrite& tensor : tensors) {
    int64_t size = size_in_bytes(tensor.tensor.dtype);
    for (int axis = 0; axis < tensor.tensor.ndim; ++axis) size *= tensor.tensor.shape[axis];
    sum = XXH3_64bits_withSeed(tensor.name.data(), tensor.name.size(), sum);
    sum = XXH3_64bits_withSeed(static_cast<const char*>(tensor.tensor.data) + tensor.tensor.byte_offset,
                               static_cast<size_t>(size), sum);
  }
  return fmt::format("{:016x}", sum);
}

// With a hash over all tensors, so that a flipped bit is found when the file is read.
Result<void> write_checkpoint(const fs::path& path, const std::vector<TensorToWrite>& tensors,
                              std::map<std::string, std::string> metadata) {
  metadata[kHashKey] = hash_of(tensors);
  return write_safetensors(path, tensors, metadata);
}

Result<Checkpoint> read_checkpoint(const fs::path& path) {
  TUTTI_TRY(Checkpoint checkpoint, read_safetensors(path));
  std::vector<TensorToWrite> tensors;
  for (const NamedTensor& tensor : checkpoint.tensors) tensors.push_back({tensor.name, tensor.tensor.borrow()});
  const auto hash = checkpoint.metadata.find(kHashKey);
  if (hash == checkpoint.metadata.end() || hash->second != hash_of(tensors))
    return bad_input(fmt::format("{}: is damaged: its content is not what was written; delete it to train anew", path.string()));
  return checkpoint;
}

json to_json(const std::vector<double>& values) {
  json list = json::array();
  for (double value : values) list.push_back(std::isfinite(value) ? json(value) : json());
  return list;
}
std::vector<double> from_json(const json& list) {
  std::vector<double> values;
  for (const json& value : list) values.push_back(value.is_number() ? value.get<double>() : kNone);
  return values;
}

std::map<std::string, std::string> metadata_of(const Memory& memory, const HostedModel& model) {
  const json state{{"train_loss", to_json(memory.record.train_loss)},
                   {"valid_loss", to_json(memory.record.valid_loss)},
                   {"learning_rate", to_json(memory.record.learning_rate)},
                   {"epoch_seconds", to_json(memory.record.epoch_seconds)},
                   {"best_epoch", memory.record.best_epoch},
                   {"best_loss", std::isfinite(memory.best_loss) ? json(memory.best_loss) : json()},
                   {"epochs_done", memory.epochs_done},
                   {"epochs_without_gain", memory.epochs_without_gain},
                   {"seconds", memory.record.seconds},
                   {"first_epoch_shown", memory.record.first_epoch_shown},
                   {"note", memory.record.note},
                   {"finished", memory.finished}};
  return {{"tutti.training", state.dump()}, {"tutti.model", model.type().id}};
}

Result<Memory> memory_from(const Checkpoint& checkpoint, const fs::path& path) {
  const auto found = checkpoint.metadata.find("tutti.training");
  const json state = found == checkpoint.metadata.end() ? json() : json::parse(found->second, nullptr, false);
  if (!state.is_object()) return bad_input(fmt::format("{}: is no checkpoint of a training", path.string()));
  Memory memory;
  try {
    memory.record.train_loss = from_json(state.at("train_loss"));
    memory.record.valid_loss = from_json(state.at("valid_loss"));
    memory.record.learning_rate = from_json(state.at("learning_rate"));
    memory.record.epoch_seconds = from_json(state.at("epoch_seconds"));
    memory.record.best_epoch = state.at("best_epoch");
    memory.record.seconds = state.at("seconds");
    memory.record.first_epoch_shown = state.at("first_epoch_shown");
    memory.record.note = state.at("note");
    if (state.at("best_loss").is_number()) memory.best_loss = state.at("best_loss");
    memory.epochs_done = state.at("epochs_done");
    memory.epochs_without_gain = state.at("epochs_without_gain");
    memory.finished = state.at("finished");
  } catch (const json::exception&) {
    return bad_input(fmt::format("{}: its training record is damaged", path.string()));
  }
  return memory;
}

std::vector<TensorToWrite> prefixed(const char* prefix, const std::vector<NamedTensor>& tensors) {
  std::vector<TensorToWrite> list;
  for (const NamedTensor& tensor : tensors) list.push_back({prefix + tensor.name, tensor.tensor.borrow()});
  return list;
}

std::vector<NamedTensor> without_prefix(const std::string& prefix, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> list;
  for (const NamedTensor& tensor : tensors)
    if (tensor.name.starts_with(prefix)) list.push_back({tensor.name.substr(prefix.size()), tensor.tensor.clone()});
  return list;
}

// A line an epoch, counted from 1; an empty cell where there was no value.
std::string log_of(const TrainingRecord& record) {
  const auto cell = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); };
  std::string text = "epoch,train_loss,valid_loss,learning_rate,seconds\n";
  for (size_t epoch = 0; epoch < record.train_loss.size(); ++epoch)
    text += fmt::format("{},{},{},{},{:.3f}\n", epoch + 1, cell(record.train_loss[epoch]), cell(record.valid_loss[epoch]),
                        cell(record.learning_rate[epoch]), record.epoch_seconds[epoch]);
  return text;
}

// What the model told of itself in a step under this name; NaN where it didn't.
double scalar_of(const StepReport& step, std::string_view name) {
  for (const auto& [key, value] : step.scalars)
    if (key == name) return value;
  return kNone;
}

class TrainingLoop {
 public:
  TrainingLoop(const TrainingTask& task, Progress& progress) : task_(task), model_(*task.model), progress_(progress) {
    epochs_ = closed_form() ? 1 : task.plan.epochs;
    batches_ = (static_cast<int64_t>(task.train->size()) + task.plan.batch - 1) / task.plan.batch;
  }

  Result<TrainingRecord> run() {
    Result<TrainingRecord> record = train();
    if (record || !models_fault_) return record;
    memory_.record.failure = record.error().message;
    return memory_.record;
  }

 private:
  Result<TrainingRecord> train() {
    TUTTI_TRY(const bool finished, take_finished());
    if (finished) return memory_.record;
    TUTTI_CHECK(by_model(model_.notify(TUTTI_EVENT_TRAIN_BEGIN, static_cast<double>(epochs_ * batches_))));
    TUTTI_CHECK(take_state());
    progress_.begin(task_.title, epochs_ * batches_);
    while (memory_.epochs_done < epochs_ && !out_of_patience()) {
      const auto start = std::chrono::steady_clock::now();
      TUTTI_TRY(const bool healthy, run_epoch());
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      memory_.record.seconds += seconds;
      if (!healthy) break;
      memory_.record.epoch_seconds.push_back(seconds);
      if (!closed_form()) TUTTI_CHECK(write_file(task_.training_log, log_of(memory_.record)));
      TUTTI_CHECK(save_state());
    }
    TUTTI_CHECK(finish());
    progress_.end(summary());
    return memory_.record;
  }

  // A call of the model: an error in it is the model's fault, but for the user's wish to stop.
  template <class T>
  Result<T> by_model(Result<T> result) {
    if (!result && result.error().code != ErrorCode::cancelled) models_fault_ = true;
    return result;
  }

  bool closed_form() const { return model_.type().training == TUTTI_TRAINING_CLOSED_FORM; }
  bool out_of_patience() const { return task_.plan.patience > 0 && memory_.epochs_without_gain >= task_.plan.patience; }

  // True where a finished checkpoint was there and has been taken over.
  Result<bool> take_finished() {
    if (!fs::exists(task_.checkpoint)) return false;
    TUTTI_TRY(const Checkpoint checkpoint, read_checkpoint(task_.checkpoint));
    TUTTI_TRY(memory_, memory_from(checkpoint, task_.checkpoint));
    TUTTI_CHECK(by_model(model_.restore(checkpoint.tensors, ParameterSet::learned)));
    return true;
  }

  // Goes on from the training state, where there is one.
  Result<void> take_state() {
    if (!fs::exists(task_.training_state)) return {};
    TUTTI_TRY(const Checkpoint checkpoint, read_checkpoint(task_.training_state));
    TUTTI_TRY(memory_, memory_from(checkpoint, task_.training_state));
    memory_.best = without_prefix("best/", checkpoint.tensors);
    return model_.restore(without_prefix("now/", checkpoint.tensors), ParameterSet::all);
  }

  // False where training diverged and can't go on.
  Result<bool> run_epoch() {
    const int64_t epoch = memory_.epochs_done;
    std::vector<Origin> order = *task_.train;
    shuffle(order, Philox(task_.shuffle_seed, static_cast<uint64_t>(epoch)));
    model_.forget_shown();
    TUTTI_CHECK(by_model(model_.notify(TUTTI_EVENT_EPOCH_BEGIN, static_cast<double>(epoch))));
    double loss_sum = 0, learning_rate = kNone;
    for (int64_t b = 0; b < batches_; ++b) {
      if (progress_.cancelled()) return Error{ErrorCode::cancelled, "stopped; go on with --resume"};
      const size_t first = static_cast<size_t>(b * task_.plan.batch);
      const std::span<const Origin> part =
          std::span(order).subspan(first, std::min(order.size() - first, static_cast<size_t>(task_.plan.batch)));
      TUTTI_TRY(const Batch batch, task_.collator->collate(part, Targets::with));
      TUTTI_TRY(const StepReport step, by_model(model_.train_step(batch.view)));
      if (step.state == TUTTI_TRAIN_DIVERGED) return diverged(epoch);
      loss_sum += step.loss * static_cast<double>(part.size());
      learning_rate = scalar_of(step, "learning_rate");
      progress_.update(epoch * batches_ + b + 1, figures(epoch, loss_sum / static_cast<double>(first + part.size())));
    }
    if (epoch == 0) memory_.record.first_epoch_shown = model_.shown_to_train();
    TUTTI_CHECK(by_model(model_.notify(TUTTI_EVENT_EPOCH_END, static_cast<double>(epoch))));
    memory_.record.train_loss.push_back(loss_sum / static_cast<double>(order.size()));
    memory_.record.learning_rate.push_back(learning_rate);
    memory_.epochs_done = epoch + 1;
    TUTTI_CHECK(validate(epoch));
    return true;
  }

  Result<bool> diverged(int64_t epoch) {
    if (memory_.record.best_epoch < 0)
      return by_model(
          Result<bool>(failed(fmt::format("{}: training diverged in its first epoch; lower its learning rate", model_.name()))));
    memory_.record.note = fmt::format("training diverged in epoch {}; epoch {} counts", epoch + 1, memory_.record.best_epoch + 1);
    return false;
  }

  Result<void> validate(int64_t epoch) {
    double loss = kNone;
    if (!task_.valid->empty()) {
      TUTTI_TRY(loss, by_model(validation_loss(model_, *task_.collator, *task_.valid)));
      TUTTI_CHECK(by_model(model_.notify(TUTTI_EVENT_VALIDATION, loss)));
    }
    memory_.record.valid_loss.push_back(loss);
    if (task_.valid->empty() || loss < memory_.best_loss - task_.plan.min_delta) {
      memory_.best_loss = loss;
      memory_.record.best_epoch = epoch;
      memory_.epochs_without_gain = 0;
      TUTTI_TRY(memory_.best, by_model(model_.parameters(ParameterSet::learned)));
    } else {
      ++memory_.epochs_without_gain;
    }
    return {};
  }

  Result<void> save_state() {
    TUTTI_TRY(const std::vector<NamedTensor> now, by_model(model_.parameters(ParameterSet::all)));
    if (now.empty()) return {};
    std::vector<TensorToWrite> tensors = prefixed("now/", now);
    const std::vector<TensorToWrite> best = prefixed("best/", memory_.best);
    tensors.insert(tensors.end(), best.begin(), best.end());
    return write_checkpoint(task_.training_state, tensors, metadata_of(memory_, model_));
  }

  Result<void> finish() {
    if (!memory_.best.empty()) TUTTI_CHECK(by_model(model_.restore(memory_.best, ParameterSet::learned)));
    TUTTI_CHECK(by_model(model_.notify(TUTTI_EVENT_TRAIN_END, 0)));
    memory_.finished = true;
    if (memory_.best.empty()) {
      if (memory_.record.best_epoch + 1 < memory_.epochs_done)
        memory_.record.note = "shows no parameters, so its last epoch counts, not its best";
      return {};
    }
    TUTTI_CHECK(write_checkpoint(task_.checkpoint, prefixed("", memory_.best), metadata_of(memory_, model_)));
    std::error_code ignored;
    fs::remove(task_.training_state, ignored);
    return {};
  }

  std::string figures(int64_t epoch, double loss) const {
    std::string text = epochs_ > 1 ? fmt::format("epoch {}/{} ", epoch + 1, epochs_) : "";
    if (std::isfinite(loss)) text += fmt::format("loss {:.4f}", loss);
    if (std::isfinite(memory_.best_loss)) text += fmt::format(" best valid {:.4f}", memory_.best_loss);
    return text;
  }

  std::string summary() const {
    std::string text = task_.title;
    if (epochs_ > 1) text += fmt::format(": {} epochs, best {}", memory_.epochs_done, memory_.record.best_epoch + 1);
    if (std::isfinite(memory_.best_loss)) text += fmt::format(", valid mse {:.4f}", memory_.best_loss);
    return text + fmt::format(", {:.1f} s", memory_.record.seconds);
  }

  const TrainingTask& task_;
  HostedModel& model_;
  Progress& progress_;
  Memory memory_;
  bool models_fault_ = false;
  int64_t epochs_ = 0, batches_ = 0;
};

}  // namespace

Result<TrainingRecord> train_member(const TrainingTask& task, Progress& progress) { return TrainingLoop(task, progress).run(); }

Result<void> load_checkpoint(HostedModel& model, const fs::path& path) {
  TUTTI_TRY(const Checkpoint checkpoint, read_checkpoint(path));
  return model.restore(checkpoint.tensors, ParameterSet::learned);
}

}  // namespace tutti
