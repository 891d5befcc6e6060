// What train and evaluate have in common: an experiment, a folder for the run, what to do where that exists.
#pragma once

#include <memory>
#include <string>

#include "host/cli/session.h"

namespace tutti {

struct RunArguments {
  std::string experiment, out;
  bool resume = false, overwrite = false, no_predictions = false;
};

// Adds the arguments to a command.
std::shared_ptr<RunArguments> add_run_arguments(CLI::App& command);

// runs/NAME beside the working directory where --out isn't given.
RunOptions run_options(const RunArguments& arguments, const Experiment& experiment);

}  // namespace tutti
