// A small evaluation for tests: two members that work, one that failed, two combinations, two folds.
#pragma once

#include <cmath>
#include <limits>

#include "host/report/results.h"

namespace tutti {

inline Entry made_entry(Entry::Kind kind, const std::string& name, double mae, double accuracy) {
  Entry entry;
  entry.kind = kind;
  entry.name = name;
  entry.plugin = kind == Entry::Kind::member ? "tutti." + name : "";
  entry.overall = {{"mae", mae}, {"directional-accuracy", accuracy}};
  entry.folds = {{{"mae", mae - 0.01}, {"directional-accuracy", accuracy}},
                 {{"mae", mae + 0.01}, {"directional-accuracy", accuracy}}};
  entry.valid = {{"mae", mae * 1.1}};
  entry.step_error = {mae * 0.8, mae, mae * 1.2};
  return entry;
}

inline Results made_results() {
  Results results;
  results.name = "treasury";
  results.data = "tcmd.csv, 9574 rows, 4 columns";
  results.units = "original";
  results.targets = {"tcm5y", "tcm10y"};
  results.lookback = 60, results.horizon = 3;
  results.metric_names = {"mae", "directional-accuracy"};
  results.metric_meanings = {{"mae", {"mean of |p - y|", true}}, {"directional-accuracy", {"share of right directions", false}}};
  results.member_names = {"ridge", "mamba2"};
  results.folds = {{"1962 to 1990 (6702 rows)", "1990 to 1994 (900 rows)", "1994 to 1996 (500 rows)"},
                   {"1962 to 1992 (7202 rows)", "1992 to 1996 (900 rows)", "1996 to 1998 (500 rows)"}};
  results.entries = {made_entry(Entry::Kind::member, "ridge", 0.125, 0.51),
                     made_entry(Entry::Kind::member, "mamba2", 0.0831, 0.5325), made_entry(Entry::Kind::member, "tlob", 0, 0),
                     made_entry(Entry::Kind::combination, "mean", 0.0905, 0.53),
                     made_entry(Entry::Kind::combination, "stack", 0.0812, 0.5298)};
  results.entries[0].parameters = 1234, results.entries[0].train_seconds = 0.25, results.entries[0].predict_seconds = 0.01;
  results.entries[1].parameters = 1250000, results.entries[1].train_seconds = 95.5, results.entries[1].predict_seconds = 1.5;
  results.entries[2].overall.clear(), results.entries[2].folds.clear(), results.entries[2].step_error.clear();
  results.entries[2].failure = "gave no answer to batch 3 within 60 s; its process was ended";
  results.entries[3].weights = {{0.5, 0.5}, {0.5, 0.5}};
  results.entries[4].weights = {{0.125, 0.875}, {0, 1}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  results.curves = {{"mamba2", 0, {nan, 0.9, 0.5}, {1.1, 0.8, 0.85}, 1}, {"mamba2", 1, {nan, 0.8, 0.6}, {1, 0.7, 0.6}, 2}};
  results.samples = {{"tcm10y, 3 steps from row 9000",
                      {6.1, 6.2, 6.15},
                      {6.2, 6.3, 6.25},
                      {{"stack", {6.16, 6.2, 6.2}}, {"ridge", {6.1, 6.1, 6}}}}};
  results.notes = {"tlob failed and is in no combination"};
  results.experiment_text = "{\"name\": \"treasury\"}";
  results.tutti_version = "0.1.0";
  return results;
}

}  // namespace tutti
