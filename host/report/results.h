// What an evaluation found: plain values, all that reports are made from and all that metrics.json holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/result.h"

namespace tutti {

// One line of the leaderboard: a member or a combination.
struct Entry {
  enum class Kind { member, combination } kind = Kind::member;
  std::string name;                        // unique
  std::string plugin;                      // model id; empty for a combination
  std::string failure;                     // why there are no figures; empty where there are
  std::map<std::string, double> overall;   // metric -> value over all folds
  std::vector<std::map<std::string, double>> folds;  // [fold]
  std::map<std::string, double> valid;     // metric -> value on the validation windows, over all folds
  std::vector<std::vector<double>> weights;          // combination: [fold][member], empty where it has none
  int64_t parameters = -1;                 // learned numbers; -1 where the model doesn't say
  double train_seconds = 0, predict_seconds = 0;
  std::vector<double> step_error;          // [horizon]: mean absolute error at each step ahead, all folds
};

// Validation loss by epoch of one member in one fold.
struct LossCurve {
  std::string member;
  int64_t fold = 0;
  std::vector<double> train, valid;  // [epoch]; NaN where there was none
  int64_t best_epoch = -1;
};

struct FoldSummary {
  std::string train, valid, test;  // "1962-01-02 … 1990-03-01 (6702 rows, 6638 windows)"
};

// A stretch of the test rows to look at: the truth and some forecasts of one target at one window.
struct Sample {
  std::string title;                                  // "tcm10yd, 5 steps from row 9568"
  std::vector<double> past, truth;                    // original units
  std::map<std::string, std::vector<double>> forecast;  // entry name -> [horizon]
};

// What a reader must know of a metric to read its figures.
struct MetricMeaning {
  std::string definition;
  bool lower_is_better = true;
};

struct Results {
  std::string name;                   // of the experiment
  std::string data;                   // file, rows, columns in one line
  std::string units;                  // "scaled" or "original"
  std::vector<std::string> targets;
  int64_t lookback = 0, horizon = 0;
  std::vector<std::string> metric_names;  // in the order asked for; the first one ranks
  std::map<std::string, MetricMeaning> metric_meanings;  // of metric_names; of one without, less is better
  std::vector<std::string> member_names;  // order of weights
  std::vector<FoldSummary> folds;
  std::vector<Entry> entries;         // members in the experiment's order, then combinations
  std::vector<LossCurve> curves;
  std::vector<Sample> samples;
  std::vector<std::string> notes;     // what a reader should know: left-out targets, failed members, …
  std::string experiment_text;        // the experiment as understood, for the report's appendix
  std::string tutti_version;
};

// Entries by the first metric, best first; then those where it is NaN, and failed ones last. Ties keep their order.
std::vector<const Entry*> ranked(const Results& results);

// NaN where the entry has no such figure.
double overall(const Entry& entry, const std::string& metric);

// The best figure of the entries that didn't fail; NaN where there is none.
double best_overall(const Results& results, const std::string& metric);

// A combination's weights, mean over folds: [member], empty where it has none.
std::vector<double> mean_weights(const Entry& entry);

// metrics.json: everything above. results_from_json reads what to_json wrote, bit for bit, so that reports can be
// rebuilt; NaN is null, infinity "inf" or "-inf". source begins the sentences of errors.
std::string to_json(const Results& results);
Result<Results> results_from_json(const std::string& json, const std::string& source);

// The leaderboard for a terminal, at most width columns (at least 40); plain ASCII but for names. "+" marks combinations,
// "*" the best figure of a metric. Metrics that find no room are named below.
std::string to_text(const Results& results, int width = 110);

// One file that opens offline and asks for nothing: leaderboard, metrics per fold, weights, loss curves, error by step
// ahead, samples, appendix. Every text in results is escaped.
std::string to_html(const Results& results);

}  // namespace tutti
