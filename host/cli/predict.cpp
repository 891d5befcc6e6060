#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "host/cli/session.h"
#include "host/evaluate/forecast_new.h"
#include "host/evaluate/run_folder.h"

namespace tutti {

void add_predict_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  struct Options {
    std::string run, data, out;
    int64_t windows = 1;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("predict", "Forecasts what comes after new data, with a finished run's models and weights");
  command->add_option("run", options->run, "A finished run's folder")->required()->type_name("RUN");
  command->add_option("--data", options->data, "A CSV file with the experiment's columns; its last rows are the past")
      ->required()
      ->type_name("FILE.csv");
  command->add_option("--out", options->out, "Where to write the forecasts as CSV (standard output where not given)")
      ->type_name("FILE.csv");
  command->add_option("--windows", options->windows, "Forecast after each of the last N rows")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->footer("Example:\n  tutti predict runs/treasury --data host/demo/treasury.csv");
  command->callback([&, options] {
    chosen = [&, options]() -> Result<void> {
      Session session(common);
      TUTTI_TRY(const NewForecast forecast, forecast_new(options->run, options->data, options->windows, session.bench()));
      if (!options->out.empty()) return write_file(options->out, to_csv(forecast));
      print(to_csv(forecast));
      return {};
    };
  });
}

}  // namespace tutti
