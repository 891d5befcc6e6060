// The commands of the program: each adds itself to the command line, and runs when it was chosen.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shared/result.h"

namespace CLI {
class App;
}

namespace tutti {

// Options that all commands share.
struct CommonOptions {
  std::vector<std::string> plugin_folders;  // before the default ones
  bool allow_bare = false;
  bool quiet = false;
  bool json = false;
  int threads = 0;  // 0: one for each core
};

using Action = std::function<Result<void>()>;

// Adds the command to app; where the user chose it, chosen is set to what to do.
void add_plugins_command(CLI::App& app, CommonOptions& common, Action& chosen);
void add_inspect_command(CLI::App& app, CommonOptions& common, Action& chosen);
void add_train_command(CLI::App& app, CommonOptions& common, Action& chosen);
void add_evaluate_command(CLI::App& app, CommonOptions& common, Action& chosen);
void add_predict_command(CLI::App& app, CommonOptions& common, Action& chosen);
void add_report_command(CLI::App& app, CommonOptions& common, Action& chosen);

// Parses the arguments and runs the chosen command. Gives the exit code: 0 ok, 1 the work failed, 2 bad usage or bad input.
int run_program(int argc, char** argv);

}  // namespace tutti
