// The main job: from an experiment to a run. Plugins are found, every member sees the same batches, is trained, forecasts;
// forecasts are combined, judged and reported.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "host/config/experiment.h"
#include "host/evaluate/progress.h"
#include "host/evaluate/run_folder.h"
#include "host/plugin/library.h"
#include "host/plugin/services.h"
#include "host/report/results.h"
#include "shared/parallel/executor.h"
#include "shared/result.h"

namespace tutti {

// What work runs with. All borrowed.
struct Workbench {
  const Catalogue& catalogue;
  Executor& executor;
  Progress& progress;
  const std::atomic<bool>* cancelled = nullptr;
  LogSink log;
};

struct RunOptions {
  std::filesystem::path out;
  IfExists if_exists = IfExists::refuse;
  bool keep_predictions = true;  // write predictions/
};

// Everything that can be wrong with an experiment before work begins: unknown plugins, configurations against schemas,
// combinations, metrics. The experiment comes back with the configurations complete.
Result<Experiment> check_experiment(Experiment experiment, const Catalogue& catalogue);

// Trains what needs training in every fold and writes checkpoints/ and manifest.json.
Result<void> train(const Experiment& experiment, const RunOptions& options, const Workbench& bench);

// Trains (or takes checkpoints from a resumed run), forecasts, combines, judges; writes the whole run folder. A member that
// fails is left out, with the reason in the results. An error where none is left.
Result<Results> evaluate(const Experiment& experiment, const RunOptions& options, const Workbench& bench);

}  // namespace tutti
