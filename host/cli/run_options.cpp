#include "host/cli/run_options.h"

#include <CLI/CLI.hpp>

namespace tutti {

std::shared_ptr<RunArguments> add_run_arguments(CLI::App& command) {
  auto arguments = std::make_shared<RunArguments>();
  command.add_option("experiment", arguments->experiment, "The experiment file")->required()->type_name("FILE.toml");
  command.add_option("--out", arguments->out, "The run's folder (runs/NAME where not given)")->type_name("DIR");
  CLI::Option* resume =
      command.add_flag("--resume", arguments->resume, "Go on with an unfinished or trained run of the same experiment");
  command.add_flag("--overwrite", arguments->overwrite, "Replace an older run, once the new one is whole")->excludes(resume);
  return arguments;
}

RunOptions run_options(const RunArguments& arguments, const Experiment& experiment) {
  RunOptions options;
  options.out = arguments.out.empty() ? std::filesystem::path("runs") / file_name_for(experiment.name)
                                      : std::filesystem::path(arguments.out);
  options.if_exists = arguments.resume ? IfExists::resume : arguments.overwrite ? IfExists::overwrite : IfExists::refuse;
  options.keep_predictions = !arguments.no_predictions;
  return options;
}

}  // namespace tutti
