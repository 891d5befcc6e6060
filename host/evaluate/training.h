// Trains one member: the host owns epochs, order, early stopping and checkpoints; the model owns how it learns. Every
// member of an experiment meets the same batches in the same order, fixed by the experiment's seed, the fold and the epoch.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "host/config/experiment.h"
#include "host/data/collate.h"
#include "host/evaluate/progress.h"
#include "host/plugin/hosted_model.h"
#include "shared/result.h"

namespace tutti {

struct TrainingTask {
  HostedModel* model;
  Collator* collator;
  const std::vector<Origin>* train;
  const std::vector<Origin>* valid;  // may be empty: then nothing stops training early, and the last epoch counts
  TrainingPlan plan;
  uint64_t shuffle_seed;
  std::filesystem::path checkpoint;      // the best epoch's weights, when training is done
  std::filesystem::path training_state;  // after each epoch, all that is needed to go on
  std::filesystem::path training_log;    // the loss curve so far, a CSV that grows by a line an epoch; none in closed form
  std::string title;                     // for the progress bar
};

struct TrainingRecord {
  std::vector<double> train_loss, valid_loss;  // [epoch]; NaN where there was none
  std::vector<double> learning_rate;           // [epoch], of its last step; NaN where the model doesn't tell
  std::vector<double> epoch_seconds;           // [epoch], of its steps and its validation
  int64_t best_epoch = -1;
  double seconds = 0;
  uint64_t first_epoch_shown = 0;  // hash over the first epoch's batches in order
  std::string failure;             // why the model is of no use; empty where it is
  std::string note;                // "diverged in epoch 7; its best epoch before that counts", …
};

// Trains until the plan's end, or early; leaves the model with the best epoch's parameters and the checkpoint written. Goes
// on from a training state, or takes a finished checkpoint as it is, where the files are there. Bit-exact: an interrupted and
// resumed training ends like an uninterrupted one. What the model does wrong is the record's failure; an Error is the host's
// own trouble: a file that can't be written, a damaged one, the user's wish to stop.
Result<TrainingRecord> train_member(const TrainingTask& task, Progress& progress);

// Puts a finished checkpoint's weights into the model.
Result<void> load_checkpoint(HostedModel& model, const std::filesystem::path& path);

}  // namespace tutti
