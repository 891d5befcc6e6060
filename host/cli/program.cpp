#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <algorithm>
#include <clocale>

#include "host/cli/command.h"
#include "host/cli/console.h"
#include "host/text/spelling.h"

namespace tutti {
namespace {

void add_common_options(CLI::App& app, CommonOptions& common) {
  app.add_option("--plugins", common.plugin_folders, "A folder to look for plugins in, before the usual ones; may be given again")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->check(CLI::ExistingDirectory);
  app.add_flag("--allow-bare", common.allow_bare, "Take libraries without a plugin note too");
  app.add_flag("--quiet", common.quiet, "No progress, only results and notes");
  app.add_flag("--json", common.json, "Results as JSON, for machines");
  app.add_option("--threads", common.threads, "Threads to use; 0 takes one for each core. Results don't depend on it")
      ->check(CLI::Range(0, 4096));
}

// A first word that is no command is told with the nearest one.
Result<void> check_command(CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return {};
  return bad_input("there is no command \"" + std::string(argv[1]) + "\"" + did_you_mean(argv[1], names) + "; there are " +
                   list_of(names) + "; see tutti --help");
}

int usage_error(CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  print_error(bad_input(std::string(error.what()) + "; see tutti --help"));
  return 2;
}

}  // namespace

int run_program(int argc, char** argv) {
  QCoreApplication qt(argc, argv);
  std::setlocale(LC_NUMERIC, "C");  // Qt has set the user's; numbers are read and written with a point

  CLI::App app{"Tutti: plays many forecasting models on the same data, combines and judges them.", "tutti"};
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("Example:\n  tutti evaluate host/demo/treasury.toml --out runs/treasury");
  CommonOptions common;
  add_common_options(app, common);
  Action chosen;
  add_plugins_command(app, common, chosen);
  add_inspect_command(app, common, chosen);
  add_train_command(app, common, chosen);
  add_evaluate_command(app, common, chosen);
  add_predict_command(app, common, chosen);
  add_report_command(app, common, chosen);
  if (const Result<void> known = check_command(app, argc, argv); !known) {
    print_error(known.error());
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  try {
    const Result<void> result = chosen();
    if (result && !output_was_lost()) return 0;
    if (result) return print_error(failed("standard output takes no more text; what was to be printed is lost")), 1;
    print_error(result.error());
    return exit_code(result.error());
  } catch (const std::exception& error) {
    print_error(failed(error.what()));
    return 1;
  }
}

}  // namespace tutti
