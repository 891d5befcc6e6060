// Uses a finished run on new data: its models, its scaler and its weights, all from the last fold.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/evaluate/evaluate.h"
#include "shared/result.h"

namespace tutti {

struct NewForecast {
  std::vector<std::string> targets;
  std::vector<std::string> entries;  // members, then combinations
  int64_t horizon = 0;
  std::vector<std::string> origins;  // [windows]: time or row of the last past value
  // [entries][windows * horizon * targets], in original units
  std::vector<std::vector<double>> values;
  std::vector<std::string> notes;  // members that couldn't answer
};

// Forecasts after each of the last windows origins of the table at data; the newest origin is its last row, so nothing of
// the future is needed. windows: at least 1.
Result<NewForecast> forecast_new(const std::filesystem::path& run, const std::filesystem::path& data, int64_t windows,
                                 const Workbench& bench);

// A CSV with the columns origin, step, target and one for each entry.
std::string to_csv(const NewForecast& forecast);

}  // namespace tutti
