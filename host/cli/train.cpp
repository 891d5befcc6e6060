#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "host/cli/run_options.h"

namespace tutti {

void add_train_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  CLI::App* command = app.add_subcommand("train", "Trains an experiment's members and writes their checkpoints");
  const auto arguments = add_run_arguments(*command);
  command->footer("Example:\n  tutti train host/demo/treasury.toml\n  tutti evaluate host/demo/treasury.toml --resume");
  command->callback([&, arguments] {
    chosen = [&, arguments]() -> Result<void> {
      TUTTI_TRY(Experiment experiment, load_experiment(arguments->experiment));
      Session session(common);
      TUTTI_TRY(experiment, check_experiment(std::move(experiment), session.catalogue()));
      const RunOptions options = run_options(*arguments, experiment);
      TUTTI_CHECK(train(experiment, options, session.bench()));
      print(fmt::format("checkpoints: {}\n", (options.out / "checkpoints").string()));
      return {};
    };
  });
}

}  // namespace tutti
