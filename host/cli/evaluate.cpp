#include "host/evaluate/evaluate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "host/cli/run_options.h"

namespace tutti {

void add_evaluate_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  CLI::App* command = app.add_subcommand("evaluate", "Runs an experiment: trains, forecasts, combines, judges, reports");
  const auto arguments = add_run_arguments(*command);
  command->add_flag("--no-predictions", arguments->no_predictions, "Don't keep every forecast in predictions/");
  command->footer("Example:\n  tutti evaluate host/demo/treasury.toml --out runs/treasury");
  command->callback([&, arguments] {
    chosen = [&, arguments]() -> Result<void> {
      TUTTI_TRY(Experiment experiment, load_experiment(arguments->experiment));
      Session session(common);
      TUTTI_TRY(experiment, check_experiment(std::move(experiment), session.catalogue()));
      const RunOptions options = run_options(*arguments, experiment);
      TUTTI_TRY(const Results results, evaluate(experiment, options, session.bench()));
      print(common.json ? to_json(results) : to_text(results, terminal_width()));
      if (!common.json) print(fmt::format("\nreport: {}\n", (options.out / "report.html").string()));
      return {};
    };
  });
}

}  // namespace tutti
