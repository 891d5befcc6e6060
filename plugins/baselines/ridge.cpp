#include "plugins/baselines/ridge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "shared/linalg/gemm.h"

namespace tutti::baselines {
namespace {

constexpr int64_t kRowsAtOnce = 1024;  // training rows in f64 at a time: some megabytes

// Answers are made for so many rows at a time, missing ones being 0: products of one shape have the same bits for the
// same row, whatever the batch.
constexpr int64_t kTile = 16;

// What is taken off past and future.
template <class T>
T centre_of(const Series<const T>& past, const RidgeConfig& config) {
  return config.subtracts_last() ? past(past.size() - 1) : T(0);
}

// The lags of a past, oldest first, less the centre. Those older than the past are left as they are.
template <class T, class Lag>
void write_lags(const Series<const T>& past, const RidgeConfig& config, Series<Lag> lags) {
  const Lag centre = centre_of(past, config);
  const int64_t end = past.size() - (config.lookback - config.lags());
  const int64_t used = std::min(lags.size(), end);
  for (int64_t i = 1; i <= used; ++i) lags(lags.size() - i) = Lag(past(end - i)) - centre;
}

// The roots of the rows' weights, 1 where the batch has none.
template <class T>
Result<std::vector<double>> root_weights(const tutti_batch& batch) {
  std::vector<double> roots(static_cast<size_t>(batch.size), 1.0);
  if (batch.weight.ndim == 0) return roots;
  TUTTI_TRY(const auto weight, (view_of<const T, 1>(batch.weight, "weight")));
  for (int64_t b = 0; b < batch.size; ++b) {
    if (!(weight(b) >= 0 && std::isfinite(weight(b))))
      return bad_input("weight of row " + std::to_string(b) + " is negative or not finite");
    roots[static_cast<size_t>(b)] = std::sqrt(double{weight(b)});
  }
  return roots;
}

}  // namespace

Result<RidgeConfig> RidgeConfig::from(const Options& options, const Problem& problem) {
  const std::string form = options.text("form");
  const int64_t lookback = options.integer("lookback");
  const double ridge = options.number("ridge");
  if (form != "linear" && form != "nlinear") return bad_input("form is \"" + form + "\"; it must be \"linear\" or \"nlinear\"");
  if (lookback < 0 || lookback > problem.lookback)
    return bad_input("lookback is " + std::to_string(lookback) + "; it must be within 0 and the problem's " +
                     std::to_string(problem.lookback));
  if (!(ridge >= 0 && std::isfinite(ridge))) return bad_input("ridge must be at least 0");
  return RidgeConfig{form == "linear" ? Form::linear : Form::nlinear, lookback != 0 ? lookback : problem.lookback, ridge};
}

ModelDescription Ridge::description() {
  return {.training = TUTTI_TRAINING_CLOSED_FORM,
          .id = "tutti.ridge",
          .name = "Ridge autoregression",
          .summary = "One linear map from the past of each target to its future, by least squares in closed form.",
          .config_schema = R"({
  "type": "object",
  "properties": {
    "form": {"type": "string", "enum": ["linear", "nlinear"], "default": "linear",
             "description": "nlinear takes the last value off past and future"},
    "lookback": {"type": "integer", "minimum": 0, "default": 0,
                 "description": "Newest steps of the window to use; 0 takes all"},
    "ridge": {"type": "number", "minimum": 0, "default": 1e-6,
              "description": "Penalty on the squared weights, by training row"}
  },
  "additionalProperties": false
})",
          .inputs = TUTTI_INPUT_PAST | TUTTI_INPUT_LENGTH,
          .flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT | TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT};
}

Result<std::unique_ptr<Ridge>> Ridge::create(const HostLink& host, const Problem& problem, const Options& options) {
  TUTTI_CHECK(require_histories(problem));
  TUTTI_TRY(const RidgeConfig config, RidgeConfig::from(options, problem));
  return std::make_unique<Ridge>(host, problem, config);
}

Ridge::Ridge(const HostLink& host, const Problem& problem, const RidgeConfig& config)
    : host_(host),
      problem_(problem),
      config_(config),
      weight_(problem.dtype, {problem.horizon, config.lags()}),
      bias_(problem.dtype, {problem.horizon}),
      solved_(Tensor::of<uint8_t>({1})),
      equations_(config.lags(), problem.horizon),
      parameters_{{"weight", TUTTI_ROLE_WEIGHT, weight_.borrow()},
                  {"bias", TUTTI_ROLE_WEIGHT, bias_.borrow()},
                  {"solved", TUTTI_ROLE_BUFFER, solved_.borrow()},
                  {"sums", TUTTI_ROLE_OPTIMIZER, equations_.sums().borrow()}} {}

Result<void> Ridge::predict(const tutti_batch& batch, const tutti_output& output) {
  if (*solved_.data<uint8_t>() == 0) return bad_state("the model has not learned yet; train it or load its parameters");
  return same_dtype(problem_.dtype, dtype_of<float>()) ? answer<float>(batch, output) : answer<double>(batch, output);
}

template <class T>
Result<void> Ridge::answer(const tutti_batch& batch, const tutti_output& output) {
  TUTTI_TRY(const auto history, Histories<T>::of(batch, problem_));
  TUTTI_TRY(const auto point, (view_of<T, 3>(output.point, "point")));  // [batch, horizon, targets]
  const Matrix<const T> weight = weight_.view<T, 2>();
  const Series<const T> bias = bias_.view<T, 1>();
  const int64_t K = problem_.targets;

  host_.parallel_for(batch.size * K, kTile, [&](int64_t first, int64_t last) {
    Tensor lags = Tensor::of<T>({kTile, config_.lags()}), future = Tensor::of<T>({kTile, problem_.horizon});
    const Matrix<T> x = lags.view<T, 2>(), y = future.view<T, 2>();
    for (int64_t row = first; row < last; ++row) write_lags(history(row / K, row % K), config_, x[row - first]);
    gemm<T>(1, x, weight.transposed(), 0, y);
    for (int64_t row = first; row < last; ++row) {
      const T centre = centre_of(history(row / K, row % K), config_);
      for (int64_t h = 0; h < problem_.horizon; ++h) point(row / K, h, row % K) = y(row - first, h) + bias(h) + centre;
    }
  });
  return {};
}

Result<void> Ridge::reset() {
  for (Tensor* tensor : {&weight_, &bias_, &solved_}) std::memset(tensor->data(), 0, static_cast<size_t>(tensor->bytes()));
  equations_.clear();
  return {};
}

Result<void> Ridge::step(const tutti_train_in& in, tutti_train_out& out) {
  out.loss = std::numeric_limits<double>::quiet_NaN();
  out.gradient_steps = 0, out.scalar_count = 0;
  out.state = in.batch ? TUTTI_TRAIN_DONE : TUTTI_TRAIN_NEEDS_DATA;
  if (!in.batch) return {};
  return same_dtype(problem_.dtype, dtype_of<float>()) ? learn<float>(*in.batch) : learn<double>(*in.batch);
}

template <class T>
Result<void> Ridge::learn(const tutti_batch& batch) {
  TUTTI_TRY(const auto history, Histories<T>::of(batch, problem_));
  TUTTI_TRY(const auto target, (view_of<const T, 3>(batch.target, "target")));  // [batch, horizon, targets]
  TUTTI_TRY(const auto roots, root_weights<T>(batch));
  const int64_t K = problem_.targets, lags = config_.lags();

  const auto write_row = [&](int64_t b, int64_t k, Series<double> row) {
    const double root = roots[static_cast<size_t>(b)], centre = centre_of(history(b, k), config_);
    write_lags(history(b, k), config_, row.slice(0, 0, lags));
    row(lags) = 1;
    for (int64_t h = 0; h < problem_.horizon; ++h) row(lags + 1 + h) = target(b, h, k) - centre;
    for (int64_t j = 0; j < row.size(); ++j) row(j) *= root;
  };

  const int64_t count = batch.size * K;
  for (int64_t first = 0; first < count; first += kRowsAtOnce) {
    Tensor block = Tensor::of<double>({std::min(kRowsAtOnce, count - first), equations_.width()});
    const Matrix<double> rows = block.view<double, 2>();
    host_.parallel_for(rows.shape[0], kTile, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) write_row((first + n) / K, (first + n) % K, rows[n]);
    });
    equations_.add(rows, host_);
  }
  return {};
}

Result<void> Ridge::notify(uint32_t event, double) {
  if (event == TUTTI_EVENT_TRAIN_BEGIN) equations_.clear();
  if (event == TUTTI_EVENT_EPOCH_END) return solve();
  return {};
}

Result<void> Ridge::solve() {
  TUTTI_TRY(const auto solution, equations_.solve(config_.ridge));
  same_dtype(problem_.dtype, dtype_of<float>()) ? keep<float>(solution.map) : keep<double>(solution.map);
  *solved_.data<uint8_t>() = 1;
  host_.log(TUTTI_LOG_INFO, "tutti.ridge: mean squared error " + std::to_string(solution.mean_squared_error) + " in training");
  return {};
}

template <class T>
void Ridge::keep(const Tensor& map) {
  const Matrix<const double> solution = map.view<double, 2>();  // [lags + 1, horizon]
  const Matrix<T> weight = weight_.view<T, 2>();
  const Series<T> bias = bias_.view<T, 1>();
  const int64_t lags = config_.lags();
  for (int64_t h = 0; h < problem_.horizon; ++h) {
    for (int64_t i = 0; i < lags; ++i) weight(h, i) = static_cast<T>(solution(i, h));
    bias(h) = static_cast<T>(solution(lags, h));
  }
}

}  // namespace tutti::baselines
