// How long a Mamba-2 block, its scan and its streaming step take on this machine, as tables in Markdown with the machine's
// own peaks beside them. Figures of a row come from one run, in turns, and are medians by the wall clock.
//
//   mamba2_bench [--rounds N] [--kernels NAME] [--only machine|block|scan|length|step] [--times FILE.csv]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "plugins/mamba2/linear.h"
#include "shared/parallel/thread_pool.h"
#include "tests/bench/machine.h"
#include "tests/unit/plugins/mamba2/block_fixture.h"

namespace tutti::mamba2 {
namespace {

struct Settings {
  int rounds = 7;
  std::string kernels = "auto", only, times;
};
Settings settings;

// What --times writes: one line a figure, for other programs to put theirs beside.
std::vector<std::string> times;
void note(const std::string& what, int threads, double ms) {
  times.push_back(what + "," + std::to_string(threads) + "," + std::to_string(ms));
}

// The median milliseconds of each, run in turns, so that a change of the machine's speed meets all.
std::vector<double> medians(const std::vector<std::function<void()>>& works, int rounds = settings.rounds) {
  std::vector<std::vector<double>> lists(works.size());
  for (int round = -1; round < rounds; ++round)  // the first one warms up
    for (size_t i = 0; i < works.size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      works[i]();
      const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      if (round >= 0) lists[i].push_back(taken.count());
    }
  std::vector<double> result;
  for (auto& list : lists) {
    std::nth_element(list.begin(), list.begin() + list.size() / 2, list.end());
    result.push_back(list[list.size() / 2]);
  }
  return result;
}

template <class T>
const char* name_of_type() {
  return sizeof(T) == 4 ? "f32" : "f64";
}

// ---- A block without states given or wanted, as in training, and its two linear layers alone over the same arrays.

template <class T>
class BlockBench {
 public:
  BlockBench(const BlockShape& shape, int64_t rows, int64_t steps, Executor& executor)
      : c_(shape, Segments::whole(rows, steps)),
        kernels_(*find_kernels<T>(settings.kernels.c_str())),
        block_(shape, kernels_),
        executor_(executor),
        d_y_(random_values<T>(rows * steps * shape.d_model, 70)) {
    start_training();
    c_.tape.x = c_.x;  // where a layer's norm writes it
    forward(), backward();
  }

  void forward() {
    block_.forward(executor_, c_.segments, bind(c_.parameters), c_.steps(c_.tape.x), {}, c_.steps(c_.y), {}, c_.tape, c_.workspace);
  }
  void backward() {
    block_.backward(executor_, c_.segments, bind(c_.parameters), c_.tape, c_.steps(d_y_), {}, c_.steps(c_.d_x), {},
                    bind(c_.gradient), c_.workspace);
  }
  void projections_forward() {
    const BlockParameters<T> p = bind(c_.parameters);
    linear_forward<T>(kernels_, executor_, c_.segments, view(c_.tape.x, s().d_model), in(p.in_proj_weight), nullptr,
                      view(c_.tape.projected, s().in_proj_width()), c_.workspace.scratch);
    linear_forward<T>(kernels_, executor_, c_.segments, view(c_.tape.mixed, s().d_inner), out(p.out_proj_weight), nullptr,
                      view(c_.y, s().d_model), c_.workspace.scratch);
  }
  void projections_backward() {
    const BlockParameters<T> p = bind(c_.parameters), g = bind(c_.gradient);
    BlockWorkspace<T>& w = c_.workspace;
    linear_backward_input<T>(kernels_, executor_, c_.segments, view(d_y_, s().d_model), out(p.out_proj_weight),
                             view(w.d_mixed, s().d_inner), w.scratch);
    linear_backward_weight<T>(kernels_, executor_, c_.segments, view(d_y_, s().d_model), view(c_.tape.mixed, s().d_inner),
                              {g.out_proj_weight, {s().d_model, s().d_inner}}, nullptr, w.scratch);
    linear_backward_input<T>(kernels_, executor_, c_.segments, view(w.d_projected, s().in_proj_width()), in(p.in_proj_weight),
                             view(c_.d_x, s().d_model), w.scratch);
    linear_backward_weight<T>(kernels_, executor_, c_.segments, view(w.d_projected, s().in_proj_width()),
                              view(c_.tape.x, s().d_model), {g.in_proj_weight, {s().in_proj_width(), s().d_model}}, nullptr,
                              w.scratch);
  }
  // Of the linear layers, multiplications and additions.
  double projection_flops() const {
    return 2.0 * static_cast<double>(c_.segments.rows() * c_.segments.steps() * s().d_model * (s().in_proj_width() + s().d_inner));
  }

 private:
  const BlockShape& s() const { return c_.shape; }
  View<T, 3> view(std::vector<T>& v, int64_t width) { return {v.data(), {c_.segments.rows(), c_.segments.steps(), width}}; }
  Matrix<const T> in(const T* weight) const { return {weight, {s().in_proj_width(), s().d_model}}; }
  Matrix<const T> out(const T* weight) const { return {weight, {s().d_model, s().d_inner}}; }

  // Parameters as large as at the start of training, for in those of the fixture, decays soon leave the range of f32.
  void start_training() {
    const auto scale = [&](const char* name, int64_t size, double factor) {
      for (T *v = find(c_.parameters, name), *end = v + size; v != end; ++v) *v *= static_cast<T>(factor / 0.3);
    };
    scale("in_proj.weight", s().in_proj_width() * s().d_model, 0.5 / std::sqrt(s().d_model));
    scale("out_proj.weight", s().d_model * s().d_inner, 0.5 / std::sqrt(s().d_inner));
    for (int64_t h = 0; h < s().heads(); ++h) {
      find(c_.parameters, "dt_bias")[h] = T(-4.6);  // steps of 0.01
      find(c_.parameters, "A_log")[h] = std::log(T(1 + h % 16));
    }
  }

  BlockCase<T> c_;
  const Kernels<T>& kernels_;
  Block<T> block_;
  Executor& executor_;
  std::vector<T> d_y_;
};

BlockShape block_shape(int64_t d_state) {
  BlockShape shape;
  shape.d_model = 512, shape.d_inner = shape.d_ssm = 1024, shape.headdim = 64, shape.d_state = d_state;
  return shape;
}

template <class T>
void block_row(int64_t d_state, int threads) {
  ThreadPool pool(threads);
  BlockBench<T> b(block_shape(d_state), 8, 60, pool);
  const std::vector<double> ms = medians({[&] { b.projections_forward(); }, [&] { b.projections_forward(), b.projections_backward(); },
                                          [&] { b.forward(); }, [&] { b.forward(), b.backward(); }});
  std::printf("| %s | %d | %d | %.2f | %.2f | %.0f | %.2f | %.2f | %.2f | %.2f |\n", name_of_type<T>(), static_cast<int>(d_state),
              threads, ms[0], ms[1], 1e-6 * b.projection_flops() / ms[0], ms[2], ms[2] / ms[0], ms[3], ms[3] / ms[1]);
  std::fflush(stdout);
  const std::string what = std::string("block,") + name_of_type<T>() + ",8x60x512 N" + std::to_string(d_state);
  note(what + ",forward", threads, ms[2]), note(what + ",forward+backward", threads, ms[3]);
}

void block_table() {
  std::printf("\n### A block beside its own linear layers: batch 8, 60 steps, d_model 512\n\n"
              "| type | d_state | threads | linear forward, ms | and backward | GFLOP/s | block forward, ms | to linear | and backward | to linear |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (int threads : {1, 2})
    for (int64_t d_state : {16, 128}) block_row<float>(d_state, threads), block_row<double>(d_state, threads);
}

// ---- The scan alone

struct ScanShape {
  int64_t rows, steps, heads, headdim, state;

  // Multiplications and additions of the recurrence: what any way of computing it is measured by.
  double flops() const { return 5.0 * static_cast<double>(rows * steps * heads * headdim * state); }
  std::string text() const {
    return std::to_string(rows) + "x" + std::to_string(steps) + " H" + std::to_string(heads) + " P" + std::to_string(headdim) +
           " N" + std::to_string(state);
  }
};

template <class T>
class ScanBench {
 public:
  ScanBench(const ScanShape& shape, const char* kernels, Executor& executor)
      : s_(shape), kernels_(*find_kernels<T>(kernels)), executor_(executor), segments_(Segments::whole(shape.rows, shape.steps)) {
    const int64_t positions = s_.rows * s_.steps;
    columns_ = random_values<T>(positions * width(), 60);
    dt_ = random_values<T>(positions * s_.heads, 61, 0.01);
    for (T& v : dt_) v = std::abs(v);
    A_.assign(static_cast<size_t>(s_.heads), T(-1)), D_ = d_A_ = d_D_ = A_;
    d_columns_ = columns_, d_dt_ = dt_;
    d_y_ = y_ = random_values<T>(positions * s_.heads * s_.headdim, 62);
    kept_.resize(static_cast<size_t>(kernels_.scan_kept(segments_, scan())));
  }
  void forward() { kernels_.scan_forward(executor_, segments_, scan(), y_.data(), nullptr, kept_.data(), scratch_); }
  void backward() {
    T *x = d_columns_.data(), *B = x + s_.heads * s_.headdim, *C = B + s_.state;
    kernels_.scan_backward(executor_, segments_, scan(), kept_.data(), d_y_.data(), nullptr,
                           {x, B, C, d_dt_.data(), d_A_.data(), d_D_.data(), nullptr}, scratch_);
  }
  // Bytes that the scan kept for the backward pass and worked in, beside its operands.
  double memory() const { return static_cast<double>((kept_.size() + static_cast<size_t>(scratch_.size())) * sizeof(T)); }

 private:
  int64_t width() const { return s_.heads * s_.headdim + 2 * s_.state; }
  Scan<T> scan() const {
    const T *x = columns_.data(), *B = x + s_.heads * s_.headdim, *C = B + s_.state;
    return {s_.heads, s_.headdim, 1, s_.state, BlockShape().chunk, x, B, C, width(), dt_.data(), A_.data(), D_.data(), false, nullptr};
  }

  ScanShape s_;
  const Kernels<T>& kernels_;
  Executor& executor_;
  Segments segments_;
  std::vector<T> columns_, d_columns_, dt_, d_dt_, A_, d_A_, D_, d_D_, y_, d_y_, kept_;
  Scratch<T> scratch_;
};

template <class T>
void scan_row(const ScanShape& shape, int threads, double peak) {
  ThreadPool pool(threads);
  ScanBench<T> fast(shape, settings.kernels.c_str(), pool), plain(shape, "reference", pool);
  const int rounds = shape.steps > 4096 ? std::min(3, settings.rounds) : settings.rounds;
  const std::vector<double> ms = medians({[&] { fast.forward(); }, [&] { fast.forward(), fast.backward(); }}, rounds);
  const double floor = 1e-6 * shape.flops() / peak;
  std::string beside = "| | |";
  if (shape.steps <= 4096) {
    const std::vector<double> slow = medians({[&] { plain.forward(); }, [&] { plain.forward(), plain.backward(); }}, 1);
    char text[64];
    std::snprintf(text, sizeof text, "| %.0f | %.0f |", slow[0] / ms[0], slow[1] / ms[1]);
    beside = text;
  }
  std::printf("| %s | %s | %d | %.2f | %.2f | %.1f | %.2f | %.1f %s\n", name_of_type<T>(), shape.text().c_str(), threads, floor, ms[0],
              ms[0] / floor, ms[1], ms[1] / (3 * floor), beside.c_str());
  std::fflush(stdout);
  const std::string what = std::string("scan,") + name_of_type<T>() + "," + shape.text();
  note(what + ",forward", threads, ms[0]), note(what + ",forward+backward", threads, ms[1]);
}

void scan_table(const Machine& machine) {
  std::printf("\n### The scan alone\n\n"
              "Floor: 5 B T H P N operations of the recurrence at the measured peak, three times as many with the backward pass.\n\n"
              "| type | shape | threads | floor, ms | forward, ms | to floor | and backward, ms | to floor | plain recurrence (one thread) to forward | and backward |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const ScanShape shapes[] = {{8, 60, 16, 64, 16}, {8, 60, 16, 64, 128}, {1, 2048, 24, 64, 16}, {1, 2048, 24, 64, 128}, {1, 16384, 24, 64, 128}};
  for (int threads : {1, 2})
    for (const ScanShape& shape : shapes) scan_row<float>(shape, threads, machine.f32[threads - 1]);
  for (const ScanShape& shape : {shapes[0], shapes[1], shapes[3]}) scan_row<double>(shape, 2, machine.f64[1]);
}

void length_table() {
  std::printf("\n### Long sequences: the scan of one sequence, H24 P64 N128, f32, 2 threads\n\n"
              "| steps | forward, us a step | and backward, us a step | work memory and kept states, bytes a step |\n| --- | --- | --- | --- |\n");
  for (int64_t steps : {2048, 4096, 16384, 65536}) {
    ThreadPool pool(2);
    ScanBench<float> scan({1, steps, 24, 64, 128}, settings.kernels.c_str(), pool);
    const std::vector<double> ms = medians({[&] { scan.forward(); }, [&] { scan.forward(), scan.backward(); }}, std::min(5, settings.rounds));
    std::printf("| %d | %.2f | %.2f | %.0f |\n", static_cast<int>(steps), 1e3 * ms[0] / static_cast<double>(steps),
                1e3 * ms[1] / static_cast<double>(steps), scan.memory() / static_cast<double>(steps));
    std::fflush(stdout);
  }
}

// ---- One step of a stream

template <class T>
void step_row(int64_t d_state, int64_t rows, int threads) {
  const BlockShape shape = block_shape(d_state);
  ThreadPool pool(threads);
  BlockCase<T> c(shape, Segments::whole(rows, 1));
  Block<T> block(shape, *find_kernels<T>(settings.kernels.c_str()));
  const int64_t weights = shape.d_model * (shape.in_proj_width() + shape.d_inner);
  constexpr int kSteps = 50;
  std::vector<T> copy(static_cast<size_t>(weights), T(1));
  const std::vector<double> ms = medians(
      {[&] {
         for (int i = 0; i < kSteps; ++i)
           block.step(pool, rows, bind(c.parameters), c.x.data(), {c.conv0.data(), c.ssm0.data()}, c.y.data(), c.tape, c.workspace);
       },
       [&] {
         for (int i = 0; i < kSteps; ++i) read_once(pool, copy.data(), weights);
       }});
  std::printf("| %s | %d | %d | %d | %.3f | %.3f | %.2f |\n", name_of_type<T>(), static_cast<int>(d_state), static_cast<int>(rows), threads,
              ms[0] / kSteps, ms[1] / kSteps, ms[0] / ms[1]);
  std::fflush(stdout);
  note(std::string("step,") + name_of_type<T>() + "," + std::to_string(rows) + "x512 N" + std::to_string(d_state) + ",step", threads,
       ms[0] / kSteps);
}

void step_table() {
  std::printf("\n### One step of a stream: d_model 512, one block\n\n"
              "| type | d_state | streams | threads | step, ms | its weights read once, ms | ratio |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (int threads : {1, 2}) {
    step_row<float>(16, 1, threads), step_row<float>(128, 1, threads), step_row<float>(16, 8, threads);
    step_row<double>(16, 1, threads);
  }
}

int run() {
  const auto wanted = [](const char* section) { return settings.only.empty() || settings.only == section; };
  const Machine machine = measure_machine();
  std::printf("Kernels: %s. ", find_kernels<float>(settings.kernels.c_str())->name);
  machine.print();
  if (wanted("block")) block_table();
  if (wanted("scan")) scan_table(machine);
  if (wanted("length")) length_table();
  if (wanted("step")) step_table();
  if (settings.times.empty()) return 0;
  std::ofstream file(settings.times);
  file << "what,type,shape,pass,threads,ms\n";
  for (const std::string& line : times) file << line << "\n";
  if (file.flush()) return 0;
  std::fprintf(stderr, "mamba2_bench: can't write %s; choose a place that can be written\n", settings.times.c_str());
  return 2;
}

}  // namespace
}  // namespace tutti::mamba2

int main(int count, char** arguments) {
  using namespace tutti::mamba2;
  for (int i = 1; i < count; i += 2) {
    const std::string key = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    if (key == "--rounds" && std::atoi(value.c_str()) > 0)
      settings.rounds = std::atoi(value.c_str());
    else if (key == "--kernels" && find_kernels<float>(value.c_str()))
      settings.kernels = value;
    else if (key == "--only" && !value.empty())
      settings.only = value;
    else if (key == "--times" && !value.empty())
      settings.times = value;
    else {
      std::fprintf(stderr, "mamba2_bench: can't use \"%s %s\"; options are --rounds N, --only SECTION, --times FILE and --kernels with one of",
                   key.c_str(), value.c_str());
      for (const char* name : kernel_names()) std::fprintf(stderr, " %s", name);
      std::fprintf(stderr, "\n");
      return 2;
    }
  }
  return run();
}
