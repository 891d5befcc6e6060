// How much time a Mamba-2 block and its scan take beside what they can't do without: the block's own projections through
// the same matrix product. Prints ratios of medians from one run, so that the machine's speed cancels.
//
//   mamba2_bench [rounds] [cpu]        7 rounds; cpu: processor time of all threads, for a machine that is busy
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "plugins/mamba2/linear.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

namespace tutti::mamba2 {
namespace {

bool count_processor_time = false;

double seconds() {
  if (count_processor_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The median time of each piece of work in milliseconds. They take turns, so that a disturbance meets all of them.
std::vector<double> medians(int rounds, const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> times(works.size());
  for (int round = -1; round < rounds; ++round)
    for (size_t i = 0; i < works.size(); ++i) {
      const double begin = seconds();
      works[i]();
      if (round >= 0) times[i].push_back(1e3 * (seconds() - begin));
    }
  std::vector<double> result;
  for (auto& list : times) {
    std::nth_element(list.begin(), list.begin() + list.size() / 2, list.end());
    result.push_back(list[list.size() / 2]);
  }
  return result;
}

// The block's two linear layers over the block's own arrays.
template <class T>
class Projections {
 public:
  explicit Projections(BlockCase<T>& block) : b_(block), p_(bind(block.parameters)), g_(bind(block.gradient)) {}

  void forward(Executor& executor) {
    linear_forward<T>(kernels_, executor, b_.segments, view(b_.tape.x, s().d_model), in_weight(), nullptr,
                      out_view(b_.tape.projected, s().in_proj_width()), scratch_);
    linear_forward<T>(kernels_, executor, b_.segments, view(b_.tape.mixed, s().d_inner), out_weight(), nullptr,
                      out_view(b_.y, s().d_model), scratch_);
  }
  void backward(Executor& executor) {
    auto& w = b_.workspace;
    linear_backward_input<T>(kernels_, executor, b_.segments, view(w.d_out, s().d_model), out_weight(), out_view(w.d_mixed, s().d_inner), scratch_);
    linear_backward_weight<T>(kernels_, executor, b_.segments, view(w.d_out, s().d_model), view(b_.tape.mixed, s().d_inner),
                              {g_.out_proj_weight, {s().d_model, s().d_inner}}, nullptr, scratch_);
    linear_backward_input<T>(kernels_, executor, b_.segments, view(w.d_projected, s().in_proj_width()), in_weight(),
                             out_view(b_.d_x, s().d_model), scratch_);
    linear_backward_weight<T>(kernels_, executor, b_.segments, view(w.d_projected, s().in_proj_width()), view(b_.tape.x, s().d_model),
                              {g_.in_proj_weight, {s().in_proj_width(), s().d_model}}, nullptr, scratch_);
  }

 private:
  const BlockShape& s() const { return b_.shape; }
  View<const T, 3> view(const std::vector<T>& v, int64_t width) const {
    return {v.data(), {b_.segments.rows(), b_.segments.steps(), width}};
  }
  View<T, 3> out_view(std::vector<T>& v, int64_t width) const {
    return {v.data(), {b_.segments.rows(), b_.segments.steps(), width}};
  }
  Matrix<const T> in_weight() const { return {p_.in_proj_weight, {s().in_proj_width(), s().d_model}}; }
  Matrix<const T> out_weight() const { return {p_.out_proj_weight, {s().d_model, s().d_inner}}; }

  BlockCase<T>& b_;
  const Kernels<T>& kernels_ = *find_kernels<T>("auto");
  BlockParameters<T> p_, g_;
  Scratch<T> scratch_;
};

// The block's scan alone, with columns and time steps of its own.
template <class T>
class ScanAlone {
 public:
  ScanAlone(BlockCase<T>& block, const char* kernels) : b_(block), kernels_(*find_kernels<T>(kernels)) {
    const int64_t positions = b_.segments.rows() * b_.segments.steps();
    columns_ = random_values<T>(positions * b_.shape.conv_channels(), 60);
    dt_ = random_values<T>(positions * b_.shape.heads(), 61, 0.01);
    for (T& v : dt_) v = std::abs(v);
    A_.assign(static_cast<size_t>(b_.shape.heads()), T(-1)), D_ = d_A_ = d_D_ = A_;
    d_columns_ = columns_, d_dt_ = dt_;
    y_ = random_values<T>(positions * b_.shape.d_ssm, 62), d_y_ = y_;
  }
  void forward(Executor& executor) { kernels_.scan_forward(executor, b_.segments, scan(), y_.data(), nullptr, kept(), scratch_); }
  void backward(Executor& executor) {
    T *x = d_columns_.data(), *B = x + b_.shape.d_ssm, *C = B + b_.shape.ngroups * b_.shape.d_state;
    kernels_.scan_backward(executor, b_.segments, scan(), kept(), d_y_.data(), nullptr,
                           {x, B, C, d_dt_.data(), d_A_.data(), d_D_.data(), nullptr}, scratch_);
  }

 private:
  T* kept() {
    kept_.resize(static_cast<size_t>(kernels_.scan_kept(b_.segments, scan())));
    return kept_.data();
  }
  Scan<T> scan() const {
    const BlockShape& s = b_.shape;
    const T *x = columns_.data(), *B = x + s.d_ssm, *C = B + s.ngroups * s.d_state;
    return {s.heads(), s.headdim,         s.ngroups,  s.d_state, s.chunk,   x,     B,
            C,         s.conv_channels(), dt_.data(), A_.data(), D_.data(), false, nullptr};
  }

  BlockCase<T>& b_;
  const Kernels<T>& kernels_;
  std::vector<T> columns_, d_columns_, dt_, d_dt_, A_, d_A_, D_, d_D_, y_, d_y_, kept_;
  Scratch<T> scratch_;
};

// Parameters as large as at the start of training, for in those of the fixture, decays soon leave the range of f32.
template <class T>
void start_training(BlockCase<T>& block) {
  const BlockShape& s = block.shape;
  const auto scale = [&](const char* name, int64_t size, double factor) {
    for (T *v = find(block.parameters, name), *end = v + size; v != end; ++v) *v *= static_cast<T>(factor / 0.3);
  };
  scale("in_proj.weight", s.in_proj_width() * s.d_model, 0.5 / std::sqrt(s.d_model));
  scale("out_proj.weight", s.d_model * s.d_inner, 0.5 / std::sqrt(s.d_inner));
  for (int64_t h = 0; h < s.heads(); ++h) {
    find(block.parameters, "dt_bias")[h] = T(-4.6);  // steps of 0.01
    find(block.parameters, "A_log")[h] = std::log(T(1 + h));
  }
}

template <class T>
void print_row(int rounds, int64_t state, int threads) {
  BlockShape shape;
  shape.d_model = 512, shape.d_inner = shape.d_ssm = 1024, shape.headdim = 64, shape.d_state = state;
  BlockCase<T> block(shape, Segments::whole(8, 60));
  start_training(block);
  ThreadPool pool(threads);
  const std::vector<T> d_y = random_values<T>(8 * 60 * shape.d_model, 70), d_conv(block.conv1.size()), d_ssm(block.ssm1.size());
  block.forward("auto", &pool), block.backward(d_y, d_conv, d_ssm, "auto", &pool);
  Projections<T> projections(block);
  ScanAlone<T> reference(block, "reference"), chunked(block, "auto");
  const std::vector<double> ms =
      medians(rounds, {[&] { projections.forward(pool); }, [&] { projections.forward(pool), projections.backward(pool); },
                       [&] { block.forward("auto", &pool); },
                       [&] {
                         block.forward("auto", &pool);
                         block.backward(d_y, d_conv, d_ssm, "auto", &pool);
                       },
                       [&] { reference.forward(pool); }, [&] { reference.forward(pool), reference.backward(pool); },
                       [&] { chunked.forward(pool); }, [&] { chunked.forward(pool), chunked.backward(pool); }});
  std::printf("f%d  %4d %7d | %7.2f %8.2f | %5.2f %8.2f | %9.3f %8.3f | %9.3f %8.3f\n", 8 * static_cast<int>(sizeof(T)),
              static_cast<int>(state), threads, ms[0], ms[1], ms[2] / ms[0], ms[3] / ms[1], ms[4] / ms[0], ms[5] / ms[1],
              ms[6] / ms[0], ms[7] / ms[1]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tutti::mamba2

int main(int count, char** arguments) {
  using namespace tutti::mamba2;
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 7;
  count_processor_time = count > 2 && arguments[2] == std::string("cpu");
  std::printf("batch 8, steps 60, d_model 512; all but the projections relative to them\n");
  std::printf("          |   projections ms |      block     |   scan, reference  |    scan, chunked\n");
  std::printf("T     N threads |     fwd  fwd+bwd |   fwd  fwd+bwd |       fwd  fwd+bwd |       fwd  fwd+bwd\n");
  for (int threads : {1, 2})
    for (int64_t state : {16, 128}) print_row<float>(rounds, state, threads), print_row<double>(rounds, state, threads);
}
