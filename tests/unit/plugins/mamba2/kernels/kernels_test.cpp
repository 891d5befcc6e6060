#include "plugins/mamba2/kernels/kernels.h"

#include <catch2/catch.hpp>

#include "plugins/mamba2/kernels/activation.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

// A scan of one head, its arrays owned: x [steps,P], B and C [steps,N] in one array of columns.
template <class T>
struct ScanCase {
  int64_t steps, P, N, chunk;
  std::vector<T> columns, dt, A, D, y, h, kept;
  Segments segments;

  ScanCase(int64_t steps, int64_t P, int64_t N, int64_t chunk)
      : steps(steps),
        P(P),
        N(N),
        chunk(chunk),
        columns(random_values<T>(steps * (P + 2 * N), 1)),
        dt(static_cast<size_t>(steps), T(0.1)),
        A{T(-1)},
        D{T(0.5)},
        y(static_cast<size_t>(steps * P)),
        h(static_cast<size_t>(P * N)),
        segments(Segments::whole(1, steps)) {}

  Scan<T> scan() const {
    return {1,         P,         1,        N,        chunk, columns.data(), columns.data() + P, columns.data() + P + N,
            P + 2 * N, dt.data(), A.data(), D.data(), false, nullptr};
  }
  void run(const char* kernels) {
    SerialExecutor executor;
    Scratch<T> scratch;
    const Kernels<T>& table = *find_kernels<T>(kernels);
    kept.resize(static_cast<size_t>(table.scan_kept(segments, scan())));
    table.scan_forward(executor, segments, scan(), y.data(), h.data(), kept.data(), scratch);
  }
  // Gradients of a sum of y and h, all in one list.
  std::vector<T> gradients(const char* kernels) {
    SerialExecutor executor;
    Scratch<T> scratch;
    const std::vector<T> d_y(y.size(), T(1)), d_h(h.size(), T(1));
    std::vector<T> d_columns(columns.size()), d_dt(dt.size()), d_A(1), d_D(1), d_initial(h.size());
    find_kernels<T>(kernels)->scan_backward(
        executor, segments, scan(), kept.data(), d_y.data(), d_h.data(),
        {d_columns.data(), d_columns.data() + P, d_columns.data() + P + N, d_dt.data(), d_A.data(), d_D.data(), d_initial.data()},
        scratch);
    for (const auto* more : {&d_dt, &d_A, &d_D, &d_initial}) d_columns.insert(d_columns.end(), more->begin(), more->end());
    return d_columns;
  }
};

}  // namespace

TEST_CASE("a scan of two steps is what one works out by hand") {
  // A = -ln 2, so dt = 1 halves the state and dt = 2 quarters it.
  // step 1, dt 1: h = 1*3*[1,2] = [3,6];            y = 1*3 + 1*6 + 0.5*3 = 10.5
  // step 2, dt 2: h = [3,6]/4 + 2*5*[0,1] = [0.75,11.5]; y = 2*0.75 - 11.5 + 0.5*5 = -7.5
  for (const char* kernels : {"reference", "auto"})
    for (int64_t chunk : {1, 2}) {
      ScanCase<double> c(2, 1, 2, chunk);
      c.columns = {3, 1, 2, 1, 1, 5, 0, 1, 2, -1};
      c.dt = {1, 2}, c.A = {-std::log(2.0)};
      c.run(kernels);
      CHECK(c.y[0] == Approx(10.5).epsilon(1e-15));
      CHECK(c.y[1] == Approx(-7.5).epsilon(1e-15));
      CHECK(c.h[0] == Approx(0.75).epsilon(1e-15));
      CHECK(c.h[1] == Approx(11.5).epsilon(1e-15));
    }
}

TEST_CASE("a convolution of width two is what one works out by hand") {
  // silu(bias + w0 x[t-1] + w1 x[t]) with x = 1, 2, 4, an initial input of 10, w = (0.5, 2), bias -1: sums 6, 3.5, 8.
  const std::vector<double> x{1, 2, 4}, weight{0.5, 2}, bias{-1}, initial{10};
  for (const char* kernels : {"reference", "auto"}) {
    std::vector<double> y(3), final_state(1);
    SerialExecutor executor;
    find_kernels<double>(kernels)->conv_forward(executor, Segments::whole(1, 3),
                                                {1, 2, x.data(), 1, weight.data(), bias.data(), initial.data()}, y.data(),
                                                final_state.data());
    for (const auto& [value, sum] : {std::pair(y[0], 6.0), std::pair(y[1], 3.5), std::pair(y[2], 8.0)})
      CHECK(value == Approx(sum / (1 + std::exp(-sum))).epsilon(1e-15));
    CHECK(final_state[0] == 4);
  }
}

TEST_CASE("softplus is right from very negative to very large arguments") {
  for (double v : {-100.0, -40.0, -20.0, -17.0, -1.0, 0.0, 1.0, 19.0, 20.0, 21.0, 88.0, 89.0, 710.0, 1e4}) {
    const long double exact = v > 1000 ? static_cast<long double>(v) : std::log1p(std::exp(static_cast<long double>(v)));
    CHECK(std::abs(softplus(v) - exact) <= 4e-16L * exact);  // two roundings
    if (v > -80) CHECK(std::abs(softplus(static_cast<float>(v)) - exact) <= 3e-7L * exact);
    CHECK(softplus(static_cast<float>(v)) >= 0);
    CHECK(std::isfinite(softplus(static_cast<float>(v))));
  }
}

TEST_CASE("time steps stay inside their limits and pass no gradient outside") {
  const std::vector<double> raw{-100, -20, -3, 0, 20, 89, 1e4}, bias{0.0};
  for (const char* kernels : {"reference", "auto"}) {
    const auto* table = find_kernels<double>(kernels);
    std::vector<double> dt(7), d_raw(7), d_bias(1);
    SerialExecutor executor;
    const TimeStep<double> time_step{1, raw.data(), 1, bias.data(), 0.01, 25};
    table->time_step_forward(executor, Segments::whole(1, 7), time_step, dt.data());
    CHECK(dt[0] == 0.01);
    CHECK(dt[1] == 0.01);
    CHECK(dt[2] == Approx(std::log1p(std::exp(-3.0))));
    CHECK(dt[5] == 25);
    table->time_step_backward(executor, Segments::whole(1, 7), time_step, std::vector<double>(7, 1.0).data(), d_raw.data(),
                              d_bias.data());
    CHECK(d_raw[1] == 0);
    CHECK(d_raw[3] == Approx(0.5));
    CHECK(d_raw[6] == 0);
    CHECK(d_bias[0] == Approx(d_raw[2] + d_raw[3] + d_raw[4]));
  }
}

TEMPLATE_TEST_CASE("the longest time steps and the fastest decays leave everything finite and right", "", float, double) {
  using T = TestType;
  // 1e-5 and 1e-13: the rounding of some hundred steps, of either precision
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (int64_t steps : {1, 2, 3, 63, 64, 65, 255, 256, 257})
    for (double decay : {1e-3, 16.0, 1e4})
      for (double largest : {1e-6, 1.0, 1e4}) {
        ScanCase<T> reference(steps, 3, 4, 64);
        reference.A = {static_cast<T>(-decay)};
        for (size_t t = 0; t < reference.dt.size(); ++t)
          reference.dt[t] = static_cast<T>(t % 3 == 0 ? largest : t % 3 == 1 ? 0.0 : 0.01);
        ScanCase<T> chunked = reference;
        reference.run("reference"), chunked.run("auto");
        INFO(steps << " steps, A " << -decay << ", dt " << largest);
        REQUIRE(all_finite(chunked.y));
        REQUIRE(relative_difference(chunked.y, reference.y) < tolerance);
        const auto gradients = chunked.gradients("auto"), expected = reference.gradients("reference");
        REQUIRE(all_finite(gradients));
        REQUIRE(relative_difference(gradients, expected) < 10 * tolerance);
      }
}

TEST_CASE("a long step before does not blur the short ones after it") {
  // One step with dt A = -1e5 and then steps of -0.01: differences of cumulative sums would lose 1e5 * 6e-8 = 0.006 in f32.
  ScanCase<float> narrow(40, 2, 3, 40);
  ScanCase<double> wide(40, 2, 3, 40);
  narrow.dt.assign(40, 0.01f), narrow.dt[3] = 1e5f;
  for (size_t i = 0; i < narrow.columns.size(); ++i) wide.columns[i] = narrow.columns[i];
  for (size_t i = 0; i < narrow.dt.size(); ++i) wide.dt[i] = narrow.dt[i];
  narrow.run("auto"), wide.run("reference");
  const std::vector<float> after(narrow.y.begin() + 8, narrow.y.end());
  const std::vector<double> expected(wide.y.begin() + 8, wide.y.end());
  CHECK(relative_difference(after, expected) < 1e-5);
}

TEST_CASE("f32 drifts from f64 only slowly over sixteen thousand steps") {
  ScanCase<float> narrow(16384, 2, 4, 64);
  ScanCase<double> wide(16384, 2, 4, 64);
  for (size_t i = 0; i < narrow.columns.size(); ++i) wide.columns[i] = narrow.columns[i];
  for (size_t t = 0; t < narrow.dt.size(); ++t) wide.dt[t] = narrow.dt[t] = 1e-3f;
  narrow.run("auto"), wide.run("auto");
  CHECK(relative_difference(narrow.y, wide.y) < 1e-5);
}

TEST_CASE("kernels are found by name and only by a true one") {
  CHECK(kernel_names().front() == std::string("reference"));
  for (const char* name : kernel_names()) {
    CHECK(find_kernels<float>(name)->name == std::string(name));
    CHECK(find_kernels<double>(name)->name == std::string(name));
  }
  CHECK(find_kernels<double>("auto")->name == std::string(kernel_names().back()));
  CHECK(find_kernels<float>("") == nullptr);
  CHECK(find_kernels<float>("fast") == nullptr);
}
