#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "host/cli/command.h"
#include "host/cli/console.h"
#include "host/evaluate/run_folder.h"
#include "host/report/results.h"

namespace tutti {

void add_report_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  auto run = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("report", "Rebuilds a run's leaderboard and report from its metrics.json");
  command->add_option("run", *run, "A finished run's folder")->required()->type_name("RUN");
  command->footer("Example:\n  tutti report runs/treasury");
  command->callback([&, run] {
    chosen = [&, run]() -> Result<void> {
      const std::filesystem::path folder = *run;
      Result<std::string> json = read_file(folder / "metrics.json");
      if (!json) return bad_input(fmt::format("{} is no finished run: it has no metrics.json", folder.string()));
      TUTTI_TRY(const Results results, results_from_json(*json, (folder / "metrics.json").string()));
      TUTTI_CHECK(write_file(folder / "leaderboard.txt", to_text(results)));
      TUTTI_CHECK(write_file(folder / "report.html", to_html(results)));
      print(common.json ? to_json(results)
                        : to_text(results, terminal_width()) + fmt::format("\nreport: {}\n", (folder / "report.html").string()));
      return {};
    };
  });
}

}  // namespace tutti
