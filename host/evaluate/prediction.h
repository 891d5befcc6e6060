// Shows windows to models, batch by batch: each batch is collated once and then goes to every model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/data/collate.h"
#include "host/ensemble/forecast.h"
#include "host/evaluate/progress.h"
#include "host/plugin/hosted_model.h"
#include "shared/result.h"

namespace tutti {

// Windows in one batch of prediction.
constexpr int64_t kPredictionBatch = 128;

// A member in a round of prediction. A failure costs that member only: it is skipped from then on.
struct Player {
  HostedModel* model = nullptr;  // null: failed before
  Forecast forecast;
  double seconds = 0;
  int64_t crossings = 0;
  std::string failure;
};

// Fills each player's forecast for all origins, in order. An error only where the batches can't be made, or on cancel.
Result<void> predict_all(std::vector<Player>& players, Collator& collator, const std::vector<Origin>& origins,
                         const std::string& title, Progress& progress);

// Mean squared error of one model's point forecasts over all origins, in scaled units.
Result<double> validation_loss(HostedModel& model, Collator& collator, const std::vector<Origin>& origins);

// What came true after each origin, in scaled units.
Truth truth_of(const Table& table, const Scaler& scaler, const BatchLayout& layout, const std::vector<Origin>& origins);

}  // namespace tutti
