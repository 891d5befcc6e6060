// Judges what the folds answered, in the units that the report asks for, and gathers it into Results; keeps the forecasts in
// predictions/ where that is wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/config/experiment.h"
#include "host/evaluate/fold.h"
#include "host/evaluate/metrics.h"
#include "host/evaluate/progress.h"
#include "host/evaluate/run_folder.h"
#include "host/report/results.h"
#include "shared/result.h"

namespace tutti {

class Scoreboard {
 public:
  // All borrowed. keep: where to write every forecast; null for nowhere.
  Scoreboard(const Experiment& experiment, const Table& table, const RunFolder* keep, Progress& progress);

  // Folds in order; each with its combinations made.
  Result<void> add(const Fold& fold);

  Results results() const;

 private:
  // One member or combination, over the folds so far.
  struct Score {
    Entry entry;
    std::optional<Metrics> test, valid;
  };
  struct Truths;

  Result<void> add_member(Score& score, const Fold& fold, const FoldMember& member, const Truths& truths, Sample& sample);
  Result<void> judge(Score& score, const Fold& fold, const Truths& truths, const Forecast& test, const Forecast& valid,
                     Sample& sample);
  Sample sample_of(const Fold& fold, const Truth& truth) const;
  void note(const std::string& text);

  const Experiment& experiment_;
  const Table& table_;
  const RunFolder* keep_;
  Progress& progress_;
  std::vector<Score> scores_;  // members, then combinations
  Results found_;              // all but the entries
};

}  // namespace tutti
