#include "plugins/baselines/ridge.h"

#include <cmath>
#include <limits>

#include "shared/random/philox.h"
#include "tests/unit/plugins/baselines/member.h"

namespace tutti::baselines {
namespace {

const tutti_model_type* const kType = border::Adapter<Ridge>::type();

std::string config_of(const std::string& form, const std::string& ridge, int64_t lookback = 0) {
  return R"({"form":")" + form + R"(","lookback":)" + std::to_string(lookback) + R"(,"ridge":)" + ridge + "}";
}

template <class T = double>
Tensor random_tensor(std::vector<int64_t> shape, uint64_t stream) {
  Tensor tensor = Tensor::of<T>(std::move(shape));
  const Philox random(1, stream);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.data<T>()[i] = static_cast<T>(random.normal(static_cast<uint64_t>(i)));
  return tensor;
}

template <class T = double>
Windows random_windows(int64_t rows, const Problem& p, uint64_t stream = 0) {
  return {random_tensor<T>({rows, p.lookback, p.features}, stream),
          random_tensor<T>({rows, p.horizon, p.targets}, stream + 1),
          {},
          {}};
}

// Rows first … last-1.
Tensor rows_of(const Tensor& tensor, int64_t first, int64_t last) {
  std::vector<int64_t> shape = tensor.shape();
  const int64_t bytes = tensor.bytes() / shape[0];
  shape[0] = last - first;
  Tensor part(tensor.dtype(), shape);
  std::memcpy(part.data(), static_cast<const char*>(tensor.data()) + first * bytes, static_cast<size_t>(part.bytes()));
  return part;
}

Windows rows_of(const Windows& windows, int64_t first, int64_t last) {
  return {rows_of(windows.past, first, last), rows_of(windows.target, first, last), {}, {}};
}

// Windows of one target whose future goes on as x_t = 0.5 x_{t-1} - 0.3 x_{t-2} + 2.
Windows autoregressive_windows(int64_t rows, int64_t lookback, int64_t horizon) {
  Windows windows{random_tensor({rows, lookback, 1}, 7), Tensor::of<double>({rows, horizon, 1}), {}, {}};
  for (int64_t b = 0; b < rows; ++b) {
    double before = windows.past.view<double, 3>()(b, lookback - 2, 0), last = windows.past.view<double, 3>()(b, lookback - 1, 0);
    for (int64_t h = 0; h < horizon; ++h) {
      const double next = 0.5 * last - 0.3 * before + 2;
      windows.target.view<double, 3>()(b, h, 0) = next;
      before = last, last = next;
    }
  }
  return windows;
}

// Solves a x = b for every column of b by Gauss's elimination with pivots.
std::vector<std::vector<double>> eliminate(std::vector<std::vector<double>> a, std::vector<std::vector<double>> b) {
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i; r < n; ++r) pivot = std::abs(a[r][i]) > std::abs(a[pivot][i]) ? r : pivot;
    std::swap(a[i], a[pivot]), std::swap(b[i], b[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (size_t c = i; c < n; ++c) a[r][c] -= factor * a[i][c];
      for (size_t c = 0; c < b[r].size(); ++c) b[r][c] -= factor * b[i][c];
    }
  }
  for (size_t i = 0; i < n; ++i)
    for (double& value : b[i]) value /= a[i][i];
  return b;
}

TEST_CASE("ridge recovers a planted autoregression") {
  Member member(kType, problem_of(4, 2), config_of("linear", "0"));
  const Windows windows = autoregressive_windows(200, 4, 2);
  member.train({&windows});
  const std::vector<double> weight = member.parameter_values(0), bias = member.parameter_values(1);
  // Two steps on: 0.5 (0.5 x - 0.3 z + 2) - 0.3 x + 2 = -0.05 x - 0.15 z + 3.
  const double expected[] = {0, 0, -0.3, 0.5, 0, 0, -0.15, -0.05};
  for (size_t i = 0; i < 8; ++i) CHECK(weight[i] == Approx(expected[i]).margin(1e-13));
  CHECK(bias[0] == Approx(2).margin(1e-13));
  CHECK(bias[1] == Approx(3).margin(1e-13));

  const std::vector<double> point = member.forecast({tensor_of<double>({1, 4, 1}, {5, 5, 1, 2}), {}, {}, {}});
  CHECK(point[0] == Approx(2.7).margin(1e-12));
  CHECK(point[1] == Approx(2.75).margin(1e-12));
}

TEST_CASE("nlinear is a map of what is left without the last value") {
  Member member(kType, problem_of(2, 1), config_of("nlinear", "0"));
  // y - x_2 = 2 (x_1 - x_2) + 1
  const Windows windows{tensor_of<double>({3, 2, 1}, {1, 0, 5, 7, 2, 2}), tensor_of<double>({3, 1, 1}, {3, 4, 3}), {}, {}};
  member.train({&windows});
  CHECK(member.parameter(0).tensor.shape[1] == 1);
  CHECK(member.parameter_values(0)[0] == Approx(2));
  CHECK(member.parameter_values(1)[0] == Approx(1));
  CHECK(member.forecast({tensor_of<double>({1, 2, 1}, {11, 10}), {}, {}, {}})[0] == Approx(13));
}

TEST_CASE("nlinear over a single step is the last value and a bias") {
  Member member(kType, problem_of(1, 1), config_of("nlinear", "1e-6"));
  const Windows windows{tensor_of<double>({2, 1, 1}, {1, 5}), tensor_of<double>({2, 1, 1}, {2, 8}), {}, {}};
  member.train({&windows});
  CHECK(member.forecast({tensor_of<double>({1, 1, 1}, {10}), {}, {}, {}})[0] == Approx(12));
}

TEST_CASE("ridge solves the normal equations of all targets together") {
  const Problem problem = problem_of(5, 3, {2, 0}, 3);
  const Windows windows = random_windows(40, problem);
  Member member(kType, problem, config_of("linear", "0.01"));
  member.train({&windows});

  std::vector gram(6, std::vector<double>(6)), products(6, std::vector<double>(3));
  const auto past = windows.past.view<double, 3>(), target = windows.target.view<double, 3>();
  for (int64_t b = 0; b < 40; ++b)
    for (int64_t k = 0; k < 2; ++k) {
      const auto x = [&](int64_t i) { return i < 5 ? past(b, i, problem.target_feature[static_cast<size_t>(k)]) : 1.0; };
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 6; ++j) gram[i][j] += x(i) * x(j);
        for (int64_t h = 0; h < 3; ++h) products[i][h] += x(i) * target(b, h, k);
      }
    }
  for (size_t i = 0; i < 5; ++i) gram[i][i] += 0.01 * 80;
  const auto expected = eliminate(gram, products);

  const std::vector<double> weight = member.parameter_values(0), bias = member.parameter_values(1);
  for (size_t h = 0; h < 3; ++h) {
    for (size_t i = 0; i < 5; ++i) CHECK(weight[h * 5 + i] == Approx(expected[i][h]).margin(1e-13));
    CHECK(bias[h] == Approx(expected[5][h]).margin(1e-13));
  }
}

TEST_CASE("ridge has the same bits on any number of threads") {
  const Problem problem = problem_of(150, 70, {0, 1}, 2);  // three blocks of sums
  const Windows windows = random_windows(700, problem);    // two blocks of rows
  std::vector<std::vector<double>> weights, points;
  for (int threads : {1, 2, 5}) {
    Member member(kType, problem, config_of("linear", "1e-3"), threads);
    member.train({&windows});
    weights.push_back(member.parameter_values(0));
    points.push_back(member.forecast(windows));
  }
  CHECK(weights[0] == weights[1]);
  CHECK(weights[0] == weights[2]);
  CHECK(points[0] == points[1]);
  CHECK(points[0] == points[2]);
}

TEST_CASE("how rows are batched in training makes no difference but rounding") {
  const Problem problem = problem_of(6, 3);
  const Windows all = random_windows(100, problem);
  const Windows parts[] = {rows_of(all, 0, 1), rows_of(all, 1, 38), rows_of(all, 38, 100)};
  Member whole(kType, problem, config_of("linear", "1e-3")), split(kType, problem, config_of("linear", "1e-3"));
  whole.train({&all});
  split.train({&parts[0], &parts[1], &parts[2]});
  const std::vector<double> expected = whole.parameter_values(0), found = split.parameter_values(0);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-12));
}

TEMPLATE_TEST_CASE("a row's answer has the same bits in any batch", "", float, double) {
  const Problem problem = problem_of<TestType>(37, 13, {0, 1, 2}, 3);
  const Windows all = random_windows<TestType>(50, problem);
  Member member(kType, problem, config_of(GENERATE("linear", "nlinear"), "1e-3"));
  member.train({&all});
  const std::vector<TestType> together = member.forecast<TestType>(all);
  std::vector<TestType> apart;
  for (int64_t b = 0, count = 1; b < 50; b += count, count = std::min(count + 1, 50 - b))
    for (TestType value : member.forecast<TestType>(rows_of(all, b, b + count))) apart.push_back(value);
  CHECK(together == apart);
}

TEST_CASE("a weight counts as so many rows, and 0 as none") {
  const Problem problem = problem_of(3, 2);
  const Windows windows = random_windows(10, problem);
  Windows weighted = rows_of(windows, 0, 10);
  weighted.weight = tensor_of<double>({10}, {3, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  const Windows first = rows_of(windows, 0, 1), rest = rows_of(windows, 2, 10);
  Member by_weight(kType, problem, config_of("linear", "0.01")), by_rows(kType, problem, config_of("linear", "0.01"));
  by_weight.train({&weighted});
  by_rows.train({&first, &first, &first, &rest});
  const std::vector<double> expected = by_rows.parameter_values(0), found = by_weight.parameter_values(0);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-13));
}

TEST_CASE("a weight that is negative or not finite is refused and nothing is learned from its batch") {
  Member member(kType, problem_of(3, 2), config_of("linear", "0.01"));
  Windows windows = random_windows(2, problem_of(3, 2));
  for (double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    windows.weight = tensor_of<double>({2}, {1, wrong});
    member.step(windows);
    CHECK(member.status() == TUTTI_BAD_ARGUMENT);
    CHECK(member.message() == "weight of row 1 is negative or not finite");
  }
  CHECK(member.notify(TUTTI_EVENT_EPOCH_END) == TUTTI_BAD_STATE);
}

TEST_CASE("a shorter lookback uses the newest steps of the same windows") {
  const Windows windows = random_windows(30, problem_of(6, 2));
  Windows newest{Tensor::of<double>({30, 4, 1}), windows.target.clone(), {}, {}};
  for (int64_t b = 0; b < 30; ++b)
    for (int64_t t = 0; t < 4; ++t) newest.past.view<double, 3>()(b, t, 0) = windows.past.view<double, 3>()(b, t + 2, 0);
  const std::string form = GENERATE("linear", "nlinear");
  Member cut(kType, problem_of(6, 2), config_of(form, "0.01", 4)), made_short(kType, problem_of(4, 2), config_of(form, "0.01"));
  cut.train({&windows});
  made_short.train({&newest});
  CHECK(cut.parameter_values(0) == made_short.parameter_values(0));
  CHECK(cut.forecast(windows) == made_short.forecast(newest));
  CHECK(cut.forecast(newest) == made_short.forecast(newest));
}

TEST_CASE("a missing lag adds nothing, whether the window is padded or short") {
  const std::string form = GENERATE("linear", "nlinear");
  Member member(kType, problem_of(3, 1), config_of(form, "0.01"));
  const Windows windows = random_windows(20, problem_of(3, 1));
  member.train({&windows});
  const double padding = form == "linear" ? 0 : 2;  // after the centre is off: 0
  const std::vector<double> expected = member.forecast({tensor_of<double>({1, 3, 1}, {padding, 1, 2}), {}, {}, {}});
  CHECK(member.forecast({tensor_of<double>({1, 3, 1}, {99, 1, 2}), {}, tensor_of<int64_t>({1}, {2}), {}}) == expected);
  CHECK(member.forecast({tensor_of<double>({1, 2, 1}, {1, 2}), {}, {}, {}}) == expected);
}

TEST_CASE("in 32-bit floats ridge still sums in 64") {
  const Problem problem = problem_of<float>(8, 2);
  const Windows narrow = random_windows<float>(500, problem);
  Windows wide{Tensor::of<double>({500, 8, 1}), Tensor::of<double>({500, 2, 1}), {}, {}};
  std::copy_n(narrow.past.data<float>(), narrow.past.size(), wide.past.data<double>());
  std::copy_n(narrow.target.data<float>(), narrow.target.size(), wide.target.data<double>());
  Member in_f32(kType, problem, config_of("linear", "1e-6")), in_f64(kType, problem_of(8, 2), config_of("linear", "1e-6"));
  in_f32.train({&narrow});
  in_f64.train({&wide});
  const std::vector<float> found = in_f32.parameter_values<float>(0);
  const std::vector<double> exact = in_f64.parameter_values(0);
  for (size_t i = 0; i < exact.size(); ++i) CHECK(found[i] == static_cast<float>(exact[i]));
}

TEST_CASE("before it has learned, ridge says so and lives on") {
  Member member(kType, problem_of(2, 1), config_of("linear", "0.01"));
  const Windows windows = random_windows(4, problem_of(2, 1));
  member.predict(windows);
  CHECK(member.status() == TUTTI_BAD_STATE);
  CHECK(member.message() == "the model has not learned yet; train it or load its parameters");
  CHECK(member.notify(TUTTI_EVENT_EPOCH_END) == TUTTI_BAD_STATE);
  member.train({&windows});
  CHECK(member.forecast(windows).size() == 4);
  CHECK(member.reset() == TUTTI_OK);
  member.predict(windows);
  CHECK(member.status() == TUTTI_BAD_STATE);
}

TEST_CASE("a second training starts anew, and a second epoch changes nothing but rounding") {
  const Problem problem = problem_of(3, 2);
  const Windows first = random_windows(20, problem, 10), second = random_windows(20, problem, 20);
  Member member(kType, problem, config_of("linear", "0.1")), fresh(kType, problem, config_of("linear", "0.1"));
  member.train({&first});
  member.train({&second});
  fresh.train({&second});
  CHECK(member.parameter_values(0) == fresh.parameter_values(0));

  const std::vector<double> once = member.parameter_values(0);
  member.step(second);
  REQUIRE(member.notify(TUTTI_EVENT_EPOCH_END) == TUTTI_OK);
  const std::vector<double> twice = member.parameter_values(0);
  for (size_t i = 0; i < once.size(); ++i) CHECK(twice[i] == Approx(once[i]).margin(1e-13));
}

TEST_CASE("a step without a batch asks for data") {
  Member member(kType, problem_of(3, 2), config_of("linear", "0.1"));
  const tutti_train_out out = member.step(nullptr);
  CHECK(member.status() == TUTTI_OK);
  CHECK(out.state == TUTTI_TRAIN_NEEDS_DATA);
  CHECK(std::isnan(out.loss));
}

TEST_CASE("the parameters are weight and bias, and what training needs to go on") {
  Member member(kType, problem_of<float>(4, 3), config_of("linear", "0.1", 2));
  REQUIRE(member.parameter_count() == 4);
  const tutti_parameter weight = member.parameter(0), bias = member.parameter(1), solved = member.parameter(2),
                        sums = member.parameter(3);
  CHECK(std::string(weight.name) == "weight");
  CHECK(weight.role == TUTTI_ROLE_WEIGHT);
  CHECK(same_dtype(weight.tensor.dtype, dtype_of<float>()));
  CHECK(shape_text(weight.tensor.shape, weight.tensor.ndim) == "[3,2]");
  CHECK(std::string(bias.name) == "bias");
  CHECK(bias.role == TUTTI_ROLE_WEIGHT);
  CHECK(shape_text(bias.tensor.shape, bias.tensor.ndim) == "[3]");
  CHECK(solved.role == TUTTI_ROLE_BUFFER);
  CHECK(sums.role == TUTTI_ROLE_OPTIMIZER);
}

TEST_CASE("restored parameters give the same bits, in answers and in further training") {
  const Problem problem = problem_of(5, 2);
  const Windows first = random_windows(20, problem, 10), second = random_windows(20, problem, 20);
  Member original(kType, problem, config_of("nlinear", "0.1")), restored(kType, problem, config_of("nlinear", "0.1"));

  original.step(first);  // in the middle of an epoch
  restored.copy_parameters_from(original);
  restored.predict(first);
  CHECK(restored.status() == TUTTI_BAD_STATE);
  for (Member* member : {&original, &restored}) {
    member->step(second);
    REQUIRE(member->notify(TUTTI_EVENT_EPOCH_END) == TUTTI_OK);
  }
  CHECK(restored.parameter_values(0) == original.parameter_values(0));

  Member answering(kType, problem, config_of("nlinear", "0.1"));
  answering.copy_parameters_from(original);
  CHECK(answering.forecast(first) == original.forecast(first));
}

TEST_CASE("the error in training is told when the epoch ends") {
  Member member(kType, problem_of(1, 1), config_of("nlinear", "0"));
  const Windows windows{tensor_of<double>({2, 1, 1}, {1, 5}), tensor_of<double>({2, 1, 1}, {2, 8}), {}, {}};
  member.train({&windows});  // y - x is 1 and 3, their mean 2
  REQUIRE(member.host().log().size() == 1);
  CHECK(member.host().log()[0].text == "tutti.ridge: mean squared error 1.000000 in training");
}

TEST_CASE("windows that determine no map ask for a higher ridge, and leave the model alive") {
  Member member(kType, problem_of(3, 1), config_of("linear", "0"));
  const Windows windows{tensor_of<double>({1, 3, 1}, {1, 2, 3}), tensor_of<double>({1, 1, 1}, {4}), {}, {}};
  member.step(windows);
  CHECK(member.notify(TUTTI_EVENT_EPOCH_END) == TUTTI_BAD_ARGUMENT);
  CHECK(member.message() == "the training rows determine no linear map; raise ridge, and see that the data are finite");
  CHECK(member.reset() == TUTTI_OK);
}

TEST_CASE("ridge refuses a configuration outside of its ranges") {
  const Problem problem = problem_of(3, 1);
  CHECK(Member(kType, problem, config_of("cubic", "1")).message() == R"(form is "cubic"; it must be "linear" or "nlinear")");
  CHECK(Member(kType, problem, config_of("linear", "-1")).message() == "ridge must be at least 0");
  CHECK(Member(kType, problem, config_of("linear", "1", 4)).message() ==
        "lookback is 4; it must be within 0 and the problem's 3");
}

}  // namespace
}  // namespace tutti::baselines
