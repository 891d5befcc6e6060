#include "host/evaluate/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tutti;

namespace {

// Windows first … last-1 of both.
void add_part(Metrics& metrics, const Forecast& forecast, const Truth& truth, int64_t first, int64_t last) {
  const auto part = [&](const std::vector<double>& x, int64_t size) {
    return std::vector<double>(x.begin() + first * size, x.begin() + last * size);
  };
  const int64_t window = forecast.horizon * forecast.targets;
  metrics.add({last - first, forecast.horizon, forecast.targets, part(forecast.point, window), 0, {}},
              {last - first, truth.horizon, truth.targets, part(truth.value, window), part(truth.last, truth.targets)});
}

struct Drawn {
  Forecast forecast;
  Truth truth;
};

Drawn draw(int64_t windows, int64_t horizon, int64_t targets) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(1, 100);
  const auto many = [&](int64_t n) {
    std::vector<double> x(static_cast<size_t>(n));
    for (double& value : x) value = normal(random);
    return x;
  };
  const int64_t cells = windows * horizon * targets;
  return {{windows, horizon, targets, many(cells), 0, {}}, {windows, horizon, targets, many(cells), many(windows * targets)}};
}

// Two windows of two steps and one target: errors 1, -2, 0, 3.
Metrics by_hand() {
  Metrics metrics({2});
  metrics.add({2, 2, 1, {11, 10, 20, 23}, 0, {}}, {2, 2, 1, {10, 12, 20, 20}, {10, 20}});
  return metrics;
}

}  // namespace

TEST_CASE("metrics are what one works out by hand") {
  const Metrics metrics = by_hand();
  CHECK(metrics.windows() == 2);
  CHECK(metrics.value("mse") == 14.0 / 4);
  CHECK(metrics.value("mae") == 6.0 / 4);
  CHECK(metrics.value("rmse") == std::sqrt(14.0 / 4));
  CHECK(metrics.value("mase") == 6.0 / 4 / 2);
  CHECK(metrics.value("smape") == Approx(200 * (1.0 / 21 + 2.0 / 22 + 0 + 3.0 / 43) / 4).epsilon(1e-15));
  CHECK(metrics.step_error() == std::vector<double>{0.5, 2.5});
}

TEST_CASE("mase is the mean over targets, each in units of its own scale") {
  Metrics metrics({2, 8});
  metrics.add({1, 2, 2, {1, 4, 3, 4}, 0, {}}, {1, 2, 2, {0, 0, 0, 0}, {0, 0}});  // mae 2 and 4
  CHECK(metrics.value("mase") == (2.0 / 2 + 4.0 / 8) / 2);
  CHECK(metrics.excluded_targets() == 0);
}

TEST_CASE("a constant series is left out of mase and counted, and spoils nothing else") {
  Metrics metrics({2, 0});
  metrics.add({1, 1, 2, {1, 5}, 0, {}}, {1, 1, 2, {0, 4}, {0, 4}});
  CHECK(metrics.value("mase") == 0.5);
  CHECK(metrics.excluded_targets() == 1);
  CHECK(metrics.value("mae") == 1);
}

TEST_CASE("mase is NaN where every series is constant") {
  Metrics metrics({0});
  metrics.add({1, 1, 1, {1}, 0, {}}, {1, 1, 1, {1}, {1}});
  CHECK(std::isnan(metrics.value("mase")));
  CHECK(metrics.excluded_targets() == 1);
}

TEST_CASE("a direction is right when the forecast moves the way the truth does; where that doesn't move nothing counts") {
  const auto accuracy = [](std::vector<double> forecast, std::vector<double> truth, double last) {
    const auto steps = static_cast<int64_t>(forecast.size());
    Metrics metrics({1});
    metrics.add({1, steps, 1, std::move(forecast), 0, {}}, {1, steps, 1, std::move(truth), {last}});
    return metrics.value("directional-accuracy");
  };
  CHECK(accuracy({6, 4, 6, 4}, {7, 3, 3, 7}, 5) == 0.5);
  CHECK(accuracy({6, 4, 5}, {5, 5, 7}, 5) == 0);  // two don't move; a forecast that stays isn't right
  CHECK(accuracy({6, 5, 9}, {5, 5, 7}, 5) == 1);
  CHECK(std::isnan(accuracy({6, 4}, {5, 5}, 5)));
  CHECK(accuracy({-1, -3}, {-1.5, -2.5}, -2) == 1);  // moves count, not signs
}

TEST_CASE("smape counts a cell where both are 0 as right, and the worst as 200") {
  const auto smape = [](double forecast, double truth) {
    Metrics metrics({1});
    metrics.add({1, 1, 1, {forecast}, 0, {}}, {1, 1, 1, {truth}, {0}});
    return metrics.value("smape");
  };
  CHECK(smape(0, 0) == 0);
  CHECK(smape(3, 0) == 200);
  CHECK(smape(-2, 2) == 200);
  CHECK(smape(1, 3) == 100);
  CHECK(smape(-1, -3) == 100);
}

TEST_CASE("no windows give NaN, not 0") {
  const Metrics metrics({1});
  for (const MetricInfo& info : tutti::metrics()) CHECK(std::isnan(metrics.value(info.name)));
}

TEST_CASE("a forecast that isn't finite makes every metric NaN rather than being skipped") {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    Metrics metrics({1});
    metrics.add({1, 2, 1, {1, bad}, 0, {}}, {1, 2, 1, {2, 2}, {0}});
    for (const MetricInfo& info : tutti::metrics()) CHECK(std::isnan(metrics.value(info.name)));
  }
}

TEST_CASE("metrics have the same bits however windows are batched") {
  const Drawn drawn = draw(1030, 3, 2);
  Metrics all({7.5, 0.3});
  all.add(drawn.forecast, drawn.truth);
  for (const int64_t batch : {1, 7, 32, 513}) {
    Metrics parts({7.5, 0.3});
    for (int64_t first = 0; first < 1030; first += batch)
      add_part(parts, drawn.forecast, drawn.truth, first, std::min<int64_t>(1030, first + batch));
    CHECK(parts.windows() == 1030);  // none is dropped
    for (const MetricInfo& info : tutti::metrics()) CHECK(parts.value(info.name) == all.value(info.name));
    CHECK(parts.step_error() == all.step_error());
  }
}

TEST_CASE("merged folds are judged together, each in units of its own scale") {
  Metrics first({2}), second({4});
  first.add({1, 1, 1, {3}, 0, {}}, {1, 1, 1, {1}, {0}});            // error 2, scaled 1
  second.add({2, 1, 1, {1, 9}, 0, {}}, {2, 1, 1, {1, 1}, {0, 0}});  // errors 0 and 8, scaled 0 and 2
  first.merge(second);
  CHECK(first.windows() == 3);
  CHECK(first.value("mse") == (4.0 + 64.0) / 3);
  CHECK(first.value("mae") == 10.0 / 3);
  CHECK(first.value("mase") == 1);
  CHECK(first.value("directional-accuracy") == 1);
  CHECK(first.step_error() == std::vector<double>{10.0 / 3});
}

TEST_CASE("a fold in which a series is constant counts in mase for its other targets only") {
  Metrics first({0, 1}), second({2, 1});
  first.add({1, 1, 2, {1, 1}, 0, {}}, {1, 1, 2, {0, 0}, {0, 0}});
  second.add({1, 1, 2, {4, 3}, 0, {}}, {1, 1, 2, {0, 0}, {0, 0}});
  first.merge(second);
  CHECK(first.value("mase") == (4.0 / 2 + (1.0 + 3.0) / 2) / 2);
  CHECK(first.excluded_targets() == 1);
}

TEST_CASE("the scale of mase is the mean change over a season") {
  CHECK(mase_scale({1, 3, 2, 6}, 0) == (2.0 + 1 + 4) / 3);
  CHECK(mase_scale({1, 3, 2, 6}, 1) == (2.0 + 1 + 4) / 3);
  CHECK(mase_scale({1, 3, 2, 6}, 2) == (1.0 + 3) / 2);
  CHECK(mase_scale({5, 5, 5}, 1) == 0);
  CHECK(mase_scale({1, 2}, 2) == 0);
}

TEST_CASE("an unknown metric is refused with the nearest spelling") {
  CHECK(find_metric("smap").error().message ==
        "unknown metric \"smap\" (did you mean \"smape\"?); there are \"mse\", \"mae\", \"rmse\", \"mase\", \"smape\" and "
        "\"directional-accuracy\"");
  CHECK(!find_metric("directional-accuracy")->lower_is_better);
  CHECK(find_metric("mae")->lower_is_better);
}
