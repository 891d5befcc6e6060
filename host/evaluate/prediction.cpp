#include "host/evaluate/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tutti {
namespace {

std::span<const Origin> part_of(const std::vector<Origin>& origins, size_t first) {
  return std::span(origins).subspan(first, std::min(origins.size() - first, static_cast<size_t>(kPredictionBatch)));
}

void append(std::vector<double>& values, const std::vector<double>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

void play(Player& player, const Batch& batch) {
  const auto start = std::chrono::steady_clock::now();
  Result<Answer> answer = player.model->predict(batch.view);
  player.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!answer) {
    player.failure = answer.error().message;
    player.model = nullptr;
    return;
  }
  append(player.forecast.point, answer->point);
  append(player.forecast.quantiles, answer->quantiles);
  player.crossings += answer->crossings;
}

}  // namespace

Result<void> predict_all(std::vector<Player>& players, Collator& collator, const std::vector<Origin>& origins,
                         const std::string& title, Progress& progress) {
  const BatchLayout& layout = collator.layout();
  progress.begin(title, static_cast<int64_t>(origins.size()));
  for (Player& player : players) {
    if (!player.model) continue;
    player.forecast = {static_cast<int64_t>(origins.size()),
                       layout.window.horizon,
                       static_cast<int64_t>(layout.targets.size()),
                       {},
                       player.model->problem().wants(TUTTI_ANSWER_QUANTILES)
                           ? static_cast<int64_t>(player.model->problem().quantiles.size())
                           : 0,
                       {}};
    player.forecast.point.reserve(static_cast<size_t>(player.forecast.size()));
    player.model->forget_shown();
  }
  for (size_t first = 0; first < origins.size(); first += kPredictionBatch) {
    if (progress.cancelled()) return Error{ErrorCode::cancelled, "stopped; go on with --resume"};
    TUTTI_TRY(const Batch batch, collator.collate(part_of(origins, first), Targets::without));
    for (Player& player : players)
      if (player.model) play(player, batch);
    progress.update(static_cast<int64_t>(std::min(origins.size(), first + kPredictionBatch)), "");
  }
  progress.end(fmt::format("{}: {} windows", title, origins.size()));
  return {};
}

Result<double> validation_loss(HostedModel& model, Collator& collator, const std::vector<Origin>& origins) {
  double squared = 0;
  int64_t cells = 0;
  for (size_t first = 0; first < origins.size(); first += kPredictionBatch) {
    TUTTI_TRY(const Batch batch, collator.collate(part_of(origins, first), Targets::with));
    tutti_batch blind = batch.view;
    blind.target = {};
    TUTTI_TRY(const Answer answer, model.predict(blind));
    const auto value = [&](size_t i) {
      return batch.view.target.dtype.bits == 32 ? static_cast<double>(static_cast<const float*>(batch.view.target.data)[i])
                                                : static_cast<const double*>(batch.view.target.data)[i];
    };
    for (size_t i = 0; i < answer.point.size(); ++i) {
      const double difference = answer.point[i] - value(i);
      squared += difference * difference;
    }
    cells += static_cast<int64_t>(answer.point.size());
  }
  return squared / static_cast<double>(cells);
}

Truth truth_of(const Table& table, const Scaler& scaler, const BatchLayout& layout, const std::vector<Origin>& origins) {
  Truth truth{static_cast<int64_t>(origins.size()), layout.window.horizon, static_cast<int64_t>(layout.targets.size()), {}, {}};
  truth.value.reserve(static_cast<size_t>(truth.windows * truth.horizon * truth.targets));
  truth.last.reserve(static_cast<size_t>(truth.windows * truth.targets));
  // Rounded as the batch was, so that a model that repeats the last value repeats it exactly.
  const auto value = [&](int64_t row, int64_t column) {
    const double scaled = scaler.apply(table.at(row, column), column);
    return layout.dtype.bits == 32 ? static_cast<double>(static_cast<float>(scaled)) : scaled;
  };
  for (const Origin origin : origins) {
    for (int64_t h = 1; h <= truth.horizon; ++h)
      for (const int64_t column : layout.targets) truth.value.push_back(value(origin + h, column));
    for (const int64_t column : layout.targets) truth.last.push_back(value(origin, column));
  }
  return truth;
}

}  // namespace tutti
