// Faults that users of other implementations met, each held here by a test that fails where we have it too. Above each
// stands where it was reported.
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/counted_memory.h"
#include "tests/support/program.h"
#include "tests/unit/plugins/mamba2/contract_fixture.h"
#include "tests/unit/plugins/mamba2/differences.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

BlockShape small_shape() {
  BlockShape s;
  s.d_model = 6, s.d_inner = s.d_ssm = 12, s.headdim = 4, s.d_state = 5, s.chunk = 4;
  return s;
}

// A of -16 and a time step of about 20 in every head: a chunk of 32 steps forgets by exp(-10240).
template <class T>
void make_fast(BlockCase<T>& c) {
  const auto p = bind(c.parameters);
  std::fill_n(p.dt_bias, c.shape.heads(), T(20));
  std::fill_n(p.A_log, c.shape.heads(), static_cast<T>(std::log(16.0)));
}

template <class T>
std::vector<T> some_d_y(const BlockCase<T>& c) {
  return random_values<T>(static_cast<int64_t>(c.y.size()), 90);
}

// Everything that forward and backward leave, by name.
template <class T>
Named<T> results_of(const BlockCase<T>& c) {
  Named<T> all = c.gradient;
  all.insert(all.end(), {{"y", c.y}, {"conv1", c.conv1}, {"ssm1", c.ssm1}, {"d_x", c.d_x}});
  all.insert(all.end(), {{"d_conv0", c.d_conv0}, {"d_ssm0", c.d_ssm0}});
  return all;
}

// Within the tolerance of each tensor's largest value, and below it within the smallest normal number: what decays by
// exp(-320) is a number in f64 and nothing in f32.
template <class T, class Exact>
void require_near(const Named<T>& got, const Named<Exact>& exact, double tolerance) {
  for (size_t i = 0; i < got.size(); ++i) {
    INFO(got[i].first);
    REQUIRE(got[i].second.size() == exact[i].second.size());
    REQUIRE(all_finite(got[i].second));
    double largest = 0, difference = 0;
    for (size_t k = 0; k < got[i].second.size(); ++k) {
      largest = std::max(largest, std::abs(double{exact[i].second[k]}));
      difference = std::max(difference, std::abs(got[i].second[k] - double{exact[i].second[k]}));
    }
    REQUIRE(difference <= tolerance * largest + double{std::numeric_limits<T>::min()});
  }
}

// forward and backward of both, and their results within the tolerance.
template <class T>
void require_like_reference(BlockCase<T> c, const std::string& kernels, BlockCase<double>& reference, double tolerance) {
  INFO(kernels << " in " << sizeof(T) * 8 << " bits");
  c.forward(kernels);
  c.backward(some_d_y(c), c.conv0, c.ssm0, kernels);
  require_near(results_of(c), results_of(reference), tolerance);
}

// c in f32 and in f64 on every table, against the recurrence in f64.
void require_all_like_reference(const BlockCase<float>& narrow, double tolerance32, double tolerance64) {
  const BlockCase<double> wide = widened(narrow);
  BlockCase<double> reference = wide, same_gradient = wide;
  const std::vector<float> d_y = some_d_y(narrow);
  reference.forward("reference");
  for (const std::string& kernels : kernel_tables()) {
    reference.backward(some_d_y(reference), reference.conv0, reference.ssm0, "reference");
    require_like_reference(wide, kernels, reference, tolerance64);
    reference.backward({d_y.begin(), d_y.end()}, reference.conv0, reference.ssm0, "reference");
    require_like_reference(narrow, kernels, reference, tolerance32);
  }
}

// A tensor of the contract over memory of any strides.
struct StridedTensor {
  std::vector<double> memory;
  std::vector<int64_t> shape, strides;

  tutti_tensor borrow() {
    return {
        memory.data(), {TUTTI_CPU, 0}, static_cast<int32_t>(shape.size()), dtype_of<double>(), shape.data(), strides.data(), 0};
  }
};

nlohmann::json stream_config() {
  auto config = small_config();
  config["revin"] = false;
  return config;
}

// A model's stream of some rows, and frames for it.
class TestStream {
 public:
  TestStream(TestModel& model, int64_t rows) : model_(model), rows_(rows) {
    REQUIRE(table()->create(model.get(), rows, &state, &error) == TUTTI_OK);
  }
  TestStream(TestModel& model, int64_t rows, const std::string& bytes) : model_(model), rows_(rows) {
    REQUIRE(table()->load(model.get(), bytes.data(), bytes.size(), &state, &error) == TUTTI_OK);
  }
  ~TestStream() { table()->destroy(model_.get(), state); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  static const tutti_stream* table() { return TestModel::extension<tutti_stream>(TUTTI_STREAM_ID); }

  // The answer to the frame of that number.
  std::vector<double> step(uint64_t number) {
    TestBatch<double> frame(small_problem(), rows_, 1, number);
    const View<double, 2> values(frame.past.data<double>(), {rows_, small_problem().features});
    const tutti_tensor tensor = as_tensor(values);
    const tutti_output out = frame.output();
    REQUIRE(table()->step(model_.get(), state, &tensor, nullptr, &out, &error) == TUTTI_OK);
    return frame.points();
  }

  std::string save() {
    uint64_t size = 0;
    REQUIRE(table()->save(model_.get(), state, nullptr, &size, &error) == TUTTI_OK);
    std::string bytes(size, '\0');
    REQUIRE(table()->save(model_.get(), state, bytes.data(), &size, &error) == TUTTI_OK);
    return bytes;
  }

  tutti_stream_state* state = nullptr;
  tutti_error error{};

 private:
  TestModel& model_;
  int64_t rows_;
};

}  // namespace

// 1e-11: sums over 257 steps of values whose rounding differs; f32: 2^29 times that rounding, and 1e-3 at most, since
// time steps of 20 make states of 1e3 that cancel in the outputs.
// state-spaces #352, #353; fixed by bb3a82a
TEST_CASE("sequences of any length and decays of any speed give finite outputs and gradients, those of the recurrence") {
  constexpr int64_t Q = 32;
  for (const int64_t steps : {int64_t{1}, int64_t{2}, int64_t{3}, Q - 1, Q, Q + 1, int64_t{255}, int64_t{256}, int64_t{257}}) {
    BlockShape shape = small_shape();
    shape.chunk = Q;
    BlockCase<float> c(shape, Segments::whole(1, steps));
    make_fast(c);
    INFO(steps << " steps");
    require_all_like_reference(c, 1e-3, 1e-11);
  }
}

// state-spaces #713; fixed by 2e16fc3
TEST_CASE("exponentials of decay differences never overflow, not even for the longest time steps") {
  for (const std::string& kernels : kernel_tables())
    for (const int64_t chunk : {64, 256}) {
      BlockShape shape = small_shape();
      shape.chunk = chunk;
      BlockCase<float> c(shape, Segments::whole(2, 300));
      make_fast(c);
      for (size_t i = 0; i < c.x.size(); i += 3) c.x[i] *= 20;  // time steps from 0 to 100 beside each other
      std::feclearexcept(FE_ALL_EXCEPT);
      c.forward(kernels);
      c.backward(some_d_y(c), c.conv0, c.ssm0, kernels);
      INFO(kernels << ", chunk " << chunk);
      CHECK_FALSE(std::fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO));
      for (const auto& [name, values] : results_of(c)) {
        INFO(name);
        CHECK(all_finite(values));
      }
    }
}

// state-spaces #537; fixed by 442fab4
TEST_CASE("strided inputs and gradients give the bits of dense ones, with chunks of every size and many heads and rows") {
  for (const std::string& kernels : kernel_tables())
    for (const int64_t chunk : {1, 3, 8, 32}) {
      BlockShape shape = small_shape();
      shape.d_inner = shape.d_ssm = 24, shape.chunk = chunk;
      const int64_t B = 5, T = 20, D = shape.d_model;
      BlockCase<double> dense(shape, Segments::whole(B, T)), strided = dense;
      const auto d_y = some_d_y(dense);
      dense.forward(kernels);
      dense.backward(d_y, dense.conv0, dense.ssm0, kernels);

      // axes turned round: [d_model, steps, rows]; results with gaps between the steps and more between the rows
      const auto turned = [&](const std::vector<double>& values) {
        std::vector<double> result(values.size());
        for (int64_t at = 0; at < B * T * D; ++at)
          result[static_cast<size_t>(at % D * T * B + at / D % T * B + at / D / T)] = values[static_cast<size_t>(at)];
        return result;
      };
      const std::vector<double> x = turned(dense.x), d_out = turned(d_y);
      const std::array<int64_t, 3> sizes{B, T, D}, backwards{1, B, T * B}, gaps{T * (D + 3) + 7, D + 3, 1};
      std::vector<double> y(static_cast<size_t>(B * gaps[0]), 7), d_x = y;
      const Block<double> block(shape, *find_kernels<double>(kernels.c_str()));
      SerialExecutor executor;
      block.forward(executor, strided.segments, bind(strided.parameters), {x.data(), sizes, backwards},
                    {strided.conv0.data(), strided.ssm0.data()}, {y.data(), sizes, gaps},
                    {strided.conv1.data(), strided.ssm1.data()}, strided.tape, strided.workspace);
      block.backward(executor, strided.segments, bind(strided.parameters), strided.tape, {d_out.data(), sizes, backwards},
                     {strided.conv0.data(), strided.ssm0.data()}, {d_x.data(), sizes, gaps},
                     {strided.d_conv0.data(), strided.d_ssm0.data()}, bind(strided.gradient), strided.workspace);
      for (int64_t at = 0; at < B * T * D; ++at) {
        const auto from = static_cast<size_t>(at / D / T * gaps[0] + at / D % T * gaps[1] + at % D);
        strided.y[static_cast<size_t>(at)] = y[from], strided.d_x[static_cast<size_t>(at)] = d_x[from];
      }
      INFO(kernels << ", chunk " << chunk);
      CHECK(results_of(strided) == results_of(dense));
      CHECK(y[static_cast<size_t>(D)] == 7);  // the gaps are nobody's
    }
}

// state-spaces #547 and #401, #522, #529; fixed by 3b0dde5
TEST_CASE("gradients through the gated norm are those of its groups, with two groups, four, and one for each head") {
  for (const std::string& kernels : kernel_tables())
    for (const int64_t groups : {2, 4, 8})
      for (const bool norm_before_gate : {false, true}) {
        BlockShape shape = small_shape();
        shape.d_model = 5, shape.d_inner = shape.d_ssm = 16, shape.headdim = 2, shape.d_state = 2;
        shape.ngroups = groups, shape.norm_before_gate = norm_before_gate;
        for (const auto& [name, error] : gradient_errors({shape, Segments::whole(1, 5)}, kernels)) {
          INFO(kernels << ", " << groups << " groups, " << name);
          CHECK(error < 1e-8);  // of the differences, as in differences.h
        }
      }
}

// state-spaces #910, #908, #951; llama.cpp PR 15507; vmlx-swift #188
TEST_CASE("the gated norm divides by the root mean square of each group, not of the whole width") {
  const std::vector<double> y{3, -4, 1, 2}, z{0.5, -1, 2, 0.25}, weight{1, 2, -1, 0.5};
  const auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  for (const std::string& kernels : kernel_tables())
    for (const bool norm_before_gate : {false, true}) {
      std::vector<double> expected(4), out(4), rstd(2);
      for (size_t first : {0, 2}) {
        const auto v = [&](size_t i) { return norm_before_gate ? y[i] : y[i] * silu(z[i]); };
        const double root = std::sqrt((v(first) * v(first) + v(first + 1) * v(first + 1)) / 2 + 1e-5);
        for (size_t i : {first, first + 1}) expected[i] = v(i) / root * weight[i] * (norm_before_gate ? silu(z[i]) : 1);
      }
      SerialExecutor executor;
      find_kernels<double>(kernels.c_str())
          ->norm_forward(executor, Segments::whole(1, 1), {4, 2, y.data(), z.data(), 4, weight.data(), norm_before_gate, 1e-5},
                         out.data(), 4, rstd.data());
      INFO(kernels);
      CHECK(relative_difference(out, expected) < 1e-15);
      if (norm_before_gate) CHECK(out[0] == Approx(3 / std::sqrt(12.5 + 1e-5) * silu(0.5)).epsilon(1e-15));
    }
}

// state-spaces #641, #739, #500; candle's forward_prefill
TEST_CASE("a sequence split anywhere, also inside the convolution's window, gives outputs and states of the whole") {
  for (const std::string& kernels : kernel_tables())
    for (const BlockShape& shape : interesting_shapes()) {
      BlockCase<double> whole(shape, Segments::whole(2, 11));
      whole.forward(kernels);
      for (int64_t split = 1; split < 11; ++split) {
        const BlockCase<double> first = part_of(whole, 0, split, whole.conv0, whole.ssm0, kernels);
        const BlockCase<double> second = part_of(whole, split, 11, first.conv1, first.ssm1, kernels);
        INFO(kernels << ", split " << split);  // 1e-13: rounding of eleven steps, in other orders
        CHECK(relative_difference(first.y, steps_of(whole, whole.y, 0, split)) < 1e-13);
        CHECK(relative_difference(second.y, steps_of(whole, whole.y, split, 11)) < 1e-13);
        CHECK(relative_difference(second.conv1, whole.conv1) < 1e-13);
        CHECK(relative_difference(second.ssm1, whole.ssm1) < 1e-13);
      }
    }
}

// state-spaces #887, #888, PR #893; dt_limit and ngroups in its step()
TEST_CASE("step after step a block gives what forward gives, with every option") {
  std::vector<BlockShape> shapes = interesting_shapes();
  shapes.push_back(small_shape());
  shapes.back().dt_limit_min = 0.01, shapes.back().dt_limit_max = 0.05;
  shapes.push_back(shapes.back());
  shapes.back().ngroups = 3, shapes.back().d_has_hdim = true, shapes.back().bias = true;
  for (const std::string& kernels : kernel_tables())
    for (const BlockShape& shape : shapes) {
      BlockCase<double> c(shape, Segments::whole(3, 9));
      c.forward(kernels);
      const Block<double> block(shape, *find_kernels<double>(kernels.c_str()));
      SerialExecutor executor;
      std::vector<double> conv = c.conv0, ssm = c.ssm0, y(static_cast<size_t>(3 * shape.d_model));
      BlockTape<double> tape;
      BlockWorkspace<double> workspace;
      INFO(kernels);  // 1e-13: rounding of nine steps, in another order
      for (int64_t t = 0; t < 9; ++t) {
        const std::vector<double> frame = steps_of(c, c.x, t, t + 1);
        block.step(executor, 3, bind(c.parameters), frame.data(), {conv.data(), ssm.data()}, y.data(), tape, workspace);
        CHECK(relative_difference(y, steps_of(c, c.y, t, t + 1)) < 1e-13);
      }
      CHECK(relative_difference(conv, c.conv1) < 1e-13);
      CHECK(relative_difference(ssm, c.ssm1) < 1e-13);
    }
}

// state-spaces #1013, #101, #146, #175, #258, #441, #460
TEST_CASE("gradients reach both initial states and come from both final ones, and a detached hand-over carries none") {
  for (const std::string& kernels : kernel_tables())
    for (const int64_t steps : {2, 6}) {  // shorter than the convolution's window, and longer
      for (const auto& [name, error] : gradient_errors({small_shape(), Segments::whole(2, steps)}, kernels)) {
        INFO(kernels << ", " << steps << " steps, " << name);
        CHECK(error < 1e-8);  // of the differences, as in differences.h
      }
      BlockCase<double> first(small_shape(), Segments::whole(2, steps));
      first.forward(kernels);
      BlockCase<double> alone = first, second = part_of(first, 0, steps, first.conv1, first.ssm1, kernels), attached = second;
      const auto d_y = some_d_y(first);
      const std::vector<double> none_conv(first.conv0.size()), none_ssm(first.ssm0.size());
      attached.backward(d_y, none_conv, none_ssm, kernels);
      CHECK(std::any_of(attached.d_ssm0.begin(), attached.d_ssm0.end(), [](double d) { return d != 0; }));
      CHECK(std::any_of(attached.d_conv0.begin(), attached.d_conv0.end(), [](double d) { return d != 0; }));

      // detached: no gradient of the initial states is asked for, none of the final ones given
      const Block<double> block(first.shape, *find_kernels<double>(kernels.c_str()));
      SerialExecutor executor;
      const auto detached = [&](BlockCase<double>& c) {
        std::vector<double> d = d_y;
        block.backward(executor, c.segments, bind(c.parameters), c.tape, c.steps(d), {}, c.steps(c.d_x), {}, bind(c.gradient),
                       c.workspace);
      };
      detached(second), detached(first);
      CHECK(second.gradient == attached.gradient);
      CHECK(second.d_x == attached.d_x);
      alone.backward(d_y, none_conv, none_ssm, kernels);
      CHECK(first.gradient == alone.gradient);
      CHECK(first.d_x == alone.d_x);
    }
}

// state-spaces #66, #783, #236, #180, #383; transformers #31540, #48256
TEST_CASE("rows of different lengths, padded left or right with anything, give outputs, states and gradients of each alone") {
  constexpr int64_t T = 8;
  const std::vector<int64_t> lengths{8, 3, 1, 5};
  const auto B = static_cast<int64_t>(lengths.size());
  std::vector<int32_t> filled(static_cast<size_t>(B * T), -1);
  for (int64_t row = 0; row < B; ++row) std::fill_n(filled.begin() + row * T, lengths[static_cast<size_t>(row)], 0);
  for (const std::string& kernels : kernel_tables())
    for (const BlockShape& shape : interesting_shapes())
      for (const bool left : {true, false}) {
        const int64_t D = shape.d_model;
        BlockCase<double> padded(shape, left ? Segments::left_padded(T, lengths) : Segments::packed(B, T, filled.data()));
        auto d_y = some_d_y(padded);
        const auto begin_of = [&](int64_t row) { return left ? T - lengths[static_cast<size_t>(row)] : 0; };
        for (int64_t at = 0; at < B * T; ++at) {
          const int64_t step = at % T - begin_of(at / T);
          if (step >= 0 && step < lengths[static_cast<size_t>(at / T)]) continue;
          std::fill_n(padded.x.begin() + at * D, D, NAN), std::fill_n(d_y.begin() + at * D, D, NAN);
        }
        BlockCase<double> before(shape, Segments::whole(B, T));  // leaves NaN wherever a call keeps memory for the next
        std::fill(before.x.begin(), before.x.end(), NAN);
        before.forward(kernels);
        before.backward(d_y, before.conv0, before.ssm0, kernels);
        padded.tape = before.tape, padded.workspace = before.workspace;
        padded.forward(kernels);
        padded.backward(d_y, padded.conv0, padded.ssm0, kernels);
        Named<double> sum = padded.gradient;
        for (auto& [name, values] : sum) std::fill(values.begin(), values.end(), 0.0);
        for (int64_t row = 0; row < B; ++row) {
          const int64_t first = begin_of(row), last = first + lengths[static_cast<size_t>(row)];
          BlockCase<double> alone = row_alone(padded, row, first, last);
          alone.forward(kernels);
          const auto part = [&](const std::vector<double>& values) {  // of this row's steps
            return std::vector<double>(values.begin() + (row * T + first) * D, values.begin() + (row * T + last) * D);
          };
          const auto row_of = [&](const std::vector<double>& values) {
            const auto size = static_cast<int64_t>(values.size()) / B;
            return std::vector<double>(values.begin() + row * size, values.begin() + (row + 1) * size);
          };
          alone.backward(part(d_y), alone.conv0, alone.ssm0, kernels);
          INFO(kernels << (left ? ", left" : ", right") << ", row " << row);
          CHECK(part(padded.y) == alone.y);
          CHECK(part(padded.d_x) == alone.d_x);
          CHECK(row_of(padded.conv1) == alone.conv1);
          CHECK(row_of(padded.ssm1) == alone.ssm1);
          CHECK(row_of(padded.d_conv0) == alone.d_conv0);
          CHECK(row_of(padded.d_ssm0) == alone.d_ssm0);
          for (size_t i = 0; i < sum.size(); ++i)
            for (size_t k = 0; k < sum[i].second.size(); ++k) sum[i].second[k] += alone.gradient[i].second[k];
        }
        require_near(padded.gradient, sum, 1e-12);  // sums over rows, in other orders
        CHECK(all_finite(padded.y));
        CHECK(all_finite(padded.d_x));
      }
}

// state-spaces #667, #593, #699, #89; vLLM PR 39157, 47641
TEST_CASE("the plugin needs no library of a GPU or of a window system, and computes everything on the CPU") {
  const std::string plugin = TUTTI_BINARY_DIR "/plugins/mamba2.so";
  REQUIRE(std::filesystem::exists(plugin));
  const testing::Outcome needed = testing::run("readelf --dynamic '" + plugin + "' && ldd '" + plugin + "'");
  REQUIRE(needed.exit_code == 0);
  CHECK_THAT(needed.out, Catch::Contains("NEEDED"));
  for (const char* name : {"cuda", "cublas", "nvrtc", "triton", "libQt", "python", "torch"})
    CHECK_THAT(needed.out, !Catch::Contains(name, Catch::CaseSensitive::No));
  const TestHost host;
  for (const std::string& kernels : kernel_tables()) {
    auto config = stream_config();
    config["kernels"] = kernels;
    TestModel model(host, small_problem(), config);
    const TestBatch<double> batch(small_problem(), 2, 12);
    CHECK(all_finite(model.predict(batch)));
    CHECK(model.gradient(batch).first > 0);
    CHECK(model.train(batch).state == TUTTI_TRAIN_DONE);
    CHECK(all_finite(TestStream(model, 2).step(0)));
  }
}

// state-spaces #351, #360, #422, #643, #345, #774; fla #519
TEST_CASE("odd numbers of heads, odd widths, heads of one channel and strided windows are all accepted") {
  for (const auto& [d_model, heads, headdim] :
       std::vector<std::array<int64_t, 3>>{{7, 1, 14}, {9, 3, 6}, {5, 5, 2}, {3, 6, 1}, {1, 1, 1}}) {
    BlockShape shape = small_shape();
    shape.d_model = d_model, shape.d_inner = shape.d_ssm = heads * headdim, shape.headdim = headdim;
    INFO(d_model << " wide, " << heads << " heads of " << headdim);
    require_all_like_reference({shape, Segments::whole(2, 10)}, 2e-4, 1e-12);  // rounding of ten steps and small norms
  }

  const TestHost host;
  TestModel model(host, small_problem());
  const TestBatch<double> dense(small_problem(), 3, 12);
  const std::vector<double> answers = model.predict(dense);
  StridedTensor past{std::vector<double>(3 * 12 * 3 * 2, NAN), {3, 12, 3}, {2, 6, 2 * 3 * 12}};  // axes turned, every second
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t t = 0; t < 12; ++t)
      for (int64_t f = 0; f < 3; ++f)
        past.memory[static_cast<size_t>(2 * b + 6 * t + 72 * f)] = dense.past.data<double>()[(b * 12 + t) * 3 + f];
  tutti_batch batch = dense.borrow();
  batch.past = past.borrow();
  tutti_output out = dense.output();
  tutti_error error{};
  REQUIRE(model_type()->predict(model.get(), &batch, &out, &error) == TUTTI_OK);
  CHECK(dense.points() == answers);

  StridedTensor point{std::vector<double>(3 * 2 * 2 * 2), {3, 2, 2}, {8, 4, 2}};
  out.point = point.borrow();
  CHECK(model_type()->predict(model.get(), &batch, &out, &error) == TUTTI_UNSUPPORTED);
  CHECK(std::string(error.message) == "point is not dense; pass a contiguous copy");
}

// state-spaces #923, #645, #972; mlx-lm #1028; transformers #33409
TEST_CASE("f32 stays near f64 as the sequence grows, and memory of one precision is refused by a model of the other") {
  for (const std::string& kernels : kernel_tables()) {
    const auto error = [&](int64_t steps) {
      BlockCase<float> narrow(small_shape(), Segments::whole(1, steps));
      BlockCase<double> wide = widened(narrow);
      narrow.forward(kernels), wide.forward(kernels);
      return std::max(relative_difference(narrow.y, wide.y), relative_difference(narrow.ssm1, wide.ssm1));
    };
    const double brief = error(64), lengthy = error(4096);
    INFO(kernels << " " << brief << " " << lengthy);
    CHECK(brief < 1e-5);
    CHECK(lengthy < 1e-5);  // decays forget old rounding; 64 times the steps don't add up
  }
  const TestHost host;
  TestModel wide(host, small_problem(), stream_config()), narrow(host, small_problem(dtype_of<float>()), stream_config());
  auto config = stream_config();
  config["d_state"] = 5;
  TestModel larger(host, small_problem(), config);
  TestStream stream(wide, 1);
  stream.step(0);
  for (TestModel* other : {&narrow, &larger}) {
    const auto* table = TestStream::table();
    tutti_stream_state* copy = nullptr;
    tutti_error error{};
    uint64_t size = 0;
    CHECK(table->copy(other->get(), stream.state, &copy, &error) == TUTTI_BAD_ARGUMENT);
    CHECK(std::string(error.message) ==
          "the stream's memory is of a model of another shape or precision; use the model that made it");
    CHECK(table->save(other->get(), stream.state, nullptr, &size, &error) == TUTTI_BAD_ARGUMENT);
    CHECK(table->reset(other->get(), stream.state, nullptr, &error) == TUTTI_BAD_ARGUMENT);
    const std::string bytes = stream.save();
    CHECK(table->load(other->get(), bytes.data(), bytes.size(), &copy, &error) == TUTTI_BAD_ARGUMENT);
    CHECK(copy == nullptr);
  }
  CHECK(all_finite(stream.step(1)));
}

// state-spaces' softplus in Triton 3; candle's log(exp(dt) + 1)
TEST_CASE("softplus of very negative and very large time steps is positive, finite and right") {
  const std::vector<double> arguments{-100, -20, -17, 0, 20, 88, 89, 1e4};
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> raw(arguments.begin(), arguments.end());
    for (const std::string& kernels : kernel_tables()) {
      std::vector<T> dt(raw.size());
      SerialExecutor executor;
      find_kernels<T>(kernels.c_str())
          ->time_step_forward(executor, Segments::whole(1, static_cast<int64_t>(raw.size())),
                              {1, raw.data(), 1, &zero, T(0), std::numeric_limits<T>::max()}, dt.data());
      for (size_t i = 0; i < raw.size(); ++i) {
        const long double v = raw[i], exact = v > 1000 ? v : std::log1p(std::exp(v));
        INFO(kernels << " of " << arguments[i] << " is " << dt[i]);
        CHECK(dt[i] > 0);                 // exp(-100) = 4e-44 too, which is a subnormal number in f32
        CHECK(std::abs(dt[i] - exact) <=  // three steps between numbers, as elementwise_test.cpp holds it to
              3 * std::max<long double>(std::numeric_limits<T>::epsilon() * exact, std::numeric_limits<T>::denorm_min()));
      }
    }
  };
  check(0.0f), check(0.0);
}

// state-spaces #137, #493, #573, #698, PR #827
TEST_CASE("outputs, states and gradients have the same bits run after run, at one thread and at two") {
  ThreadPool one(1), two(2);
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    for (const std::string& kernels : kernel_tables())
      for (const BlockShape& shape : interesting_shapes()) {
        BlockCase<T> serial(shape, Segments::left_padded(40, {40, 33, 1, 17, 40})), parallel = serial, again = serial;
        serial.forward(kernels, &one), parallel.forward(kernels, &two), again.forward(kernels, &two);
        serial.backward(serial.x, serial.conv0, serial.ssm0, kernels, &one);
        for (BlockCase<T>* c : {&parallel, &again}) {
          c->backward(c->x, c->conv0, c->ssm0, kernels, &two);
          CHECK(results_of(*c) == results_of(serial));
        }
      }
  };
  check(0.0f), check(0.0);
}

// state-spaces #389, #510, #556, #657
TEST_CASE("a window of one, two or three steps is right at the first call, which leaves nothing for the second to correct") {
  for (const std::string& kernels : kernel_tables())
    for (const int64_t steps : {1, 2, 3}) {
      BlockShape shape = small_shape();
      shape.chunk = 256;
      BlockCase<double> c(shape, Segments::whole(1, steps)), reference = c;
      reference.forward("reference");
      reference.backward(some_d_y(reference), reference.conv0, reference.ssm0, "reference");
      c.forward(kernels);
      c.backward(some_d_y(c), c.conv0, c.ssm0, kernels);
      const Named<double> first = results_of(c);
      INFO(kernels << ", " << steps << " steps");
      require_near(first, results_of(reference), 1e-12);  // rounding of three steps
      c.forward(kernels);
      c.backward(some_d_y(c), c.conv0, c.ssm0, kernels);
      CHECK(results_of(c) == first);
    }
}

// state-spaces #441; the masks [batch, chunk, steps, steps, heads, state] of transformers and candle
TEST_CASE("memory grows in proportion to the sequence, and a gradient through parts handed over is that of the whole") {
  for (const std::string& kernels : kernel_tables()) {
    std::vector<double> bytes;
    for (const int64_t steps : {4096, 8192, 16384}) {
      BlockShape shape = small_shape();
      shape.chunk = 32;
      BlockCase<float> c(shape, Segments::whole(1, steps));
      testing::restart_peak();
      const int64_t before = testing::live_bytes();
      c.forward(kernels);
      c.backward(c.x, c.conv0, c.ssm0, kernels);
      bytes.push_back(static_cast<double>(testing::peak_bytes() - before));
    }
    INFO(kernels << ": " << bytes[0] << ", " << bytes[1] << " and " << bytes[2] << " bytes");
    // Twice the steps more take twice the bytes more. 2%: vectors that grow in whole pages
    CHECK((bytes[2] - bytes[1]) / (bytes[1] - bytes[0]) == Approx(2).epsilon(0.02));
    CHECK(bytes[0] < 4096 * 2 * (bytes[2] - bytes[1]) / 8192);  // what doesn't depend on the steps is less than that
  }

  const TestHost host;
  TestModel model(host, small_problem(), stream_config());
  TestStream stream(model, 1);
  const size_t at_first = stream.save().size();
  for (uint64_t t = 0; t < 50; ++t) stream.step(t);
  CHECK(stream.save().size() == at_first);

  for (const std::string& kernels : kernel_tables())
    for (const BlockShape& shape : interesting_shapes())
      for (const int64_t length : {1, 2, 3, 6}) {
        BlockCase<double> whole(shape, Segments::whole(2, 11));
        const auto d_y = some_d_y(whole);
        whole.forward(kernels);
        std::vector<double> d_conv(whole.conv0.size()), d_ssm(whole.ssm0.size());
        whole.backward(d_y, d_conv, d_ssm, kernels);
        std::vector<BlockCase<double>> parts;
        for (int64_t t = 0; t < 11; t += length)
          parts.push_back(part_of(whole, t, std::min<int64_t>(t + length, 11), t ? parts.back().conv1 : whole.conv0,
                                  t ? parts.back().ssm1 : whole.ssm0, kernels));
        Named<double> sum = whole.gradient;
        for (auto& [name, values] : sum) std::fill(values.begin(), values.end(), 0.0);
        int64_t end = 11;
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
          const int64_t first = end - part->segments.steps();
          part->backward(steps_of(whole, d_y, first, end), d_conv, d_ssm, kernels);
          d_conv = part->d_conv0, d_ssm = part->d_ssm0, end = first;
          for (size_t i = 0; i < sum.size(); ++i)
            for (size_t k = 0; k < sum[i].second.size(); ++k) sum[i].second[k] += part->gradient[i].second[k];
        }
        INFO(kernels << ", parts of " << length);  // 1e-12: sums over eleven steps, in other orders
        CHECK(relative_difference(d_conv, whole.d_conv0) < 1e-12);
        CHECK(relative_difference(d_ssm, whole.d_ssm0) < 1e-12);
        require_near(sum, whole.gradient, 1e-12);
      }
}

// state-spaces' _get_states_from_cache, which reuses a state for another batch
TEST_CASE("a stream made for two rows refuses a frame of another number with a sentence, and goes on unharmed") {
  const TestHost host;
  TestModel model(host, small_problem(), stream_config());
  TestStream stream(model, 2), undisturbed(model, 2);
  stream.step(0), undisturbed.step(0);
  for (const int64_t rows : {1, 3, 200}) {
    TestBatch<double> other(small_problem(), rows, 1);
    const View<double, 2> values(other.past.data<double>(), {rows, 3});
    const tutti_tensor frame = as_tensor(values);
    const tutti_output out = other.output();
    CHECK(TestStream::table()->step(model.get(), stream.state, &frame, nullptr, &out, &stream.error) == TUTTI_BAD_ARGUMENT);
    CHECK(std::string(stream.error.message) == "the frame has " + std::to_string(rows) + " rows; the memory holds 2 streams");
  }
  CHECK(stream.step(1) == undisturbed.step(1));
}

// ggml PR 14602, 28717
TEST_CASE("every size of state from 1 to 256 runs on the table that was asked for, and no other takes its place") {
  for (const std::string& kernels : kernel_tables()) {
    REQUIRE(find_kernels<float>(kernels.c_str())->name == kernels);
    REQUIRE(find_kernels<double>(kernels.c_str())->name == kernels);
  }
  CHECK(find_kernels<float>("") == nullptr);
  CHECK(find_kernels<float>("cuda") == nullptr);
  CHECK(find_kernels<double>("Reference") == nullptr);
  for (const int64_t state : {1, 2, 3, 5, 8, 15, 16, 17, 20, 31, 64, 96, 100, 128, 255, 256}) {
    BlockShape shape = small_shape();
    shape.d_state = state, shape.chunk = 8;
    INFO("a state of " << state);
    require_all_like_reference({shape, Segments::whole(1, 19)}, 1e-3, 1e-12);  // rounding of 19 steps and 256 products
  }
}

// llama.cpp #667; state-spaces #622
TEST_CASE("a saved stream goes on in a new process with the same bits") {
  constexpr const char* kVariable = "TUTTI_TEST_STREAM_FOLDER";
  const TestHost host;
  TestModel model(host, small_problem(), stream_config());
  const auto write = [](const std::filesystem::path& path, const void* bytes, size_t size) {
    std::ofstream(path, std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  };
  const auto go_on = [](TestStream& stream) {
    std::vector<double> answers;
    for (uint64_t t = 5; t < 12; ++t) {
      const auto more = stream.step(t);
      answers.insert(answers.end(), more.begin(), more.end());
    }
    return answers;
  };
  if (const char* folder = std::getenv(kVariable)) {  // the new process
    TestStream stream(model, 2, testing::text_of(std::filesystem::path(folder) / "stream"));
    const std::vector<double> answers = go_on(stream);
    write(std::filesystem::path(folder) / "answers", answers.data(), answers.size() * sizeof(double));
    return;
  }
  const testing::TempDir folder;
  TestStream stream(model, 2);
  for (uint64_t t = 0; t < 5; ++t) stream.step(t);
  const std::string saved = stream.save();
  write(folder / "stream", saved.data(), saved.size());
  const std::vector<double> answers = go_on(stream);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const testing::Outcome outcome = testing::run(std::string(kVariable) + "='" + folder.path().string() + "' '" + program +
                                                "' 'a saved stream goes on in a new process with the same bits'");
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const std::string continued = testing::text_of(folder / "answers");
  REQUIRE(continued.size() == answers.size() * sizeof(double));
  CHECK(std::memcmp(continued.data(), answers.data(), continued.size()) == 0);
}
