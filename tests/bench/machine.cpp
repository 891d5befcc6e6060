#include "tests/bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "shared/parallel/thread_pool.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TUTTI_WIDEST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define TUTTI_WIDEST
#endif

namespace tutti {
namespace {

constexpr int kRepeats = 1000000;

// Twelve independent chains of 64 bytes, enough to fill every unit.
template <class T>
struct Chains {
  typedef T Vector __attribute__((vector_size(64)));
  Vector chain[12];
};

TUTTI_WIDEST float multiply_add(Chains<float>& c) {
  for (int i = 0; i < kRepeats; ++i)
    for (auto& chain : c.chain) chain = chain * 0.999F + 0.001F;
  return c.chain[0][0];
}
TUTTI_WIDEST double multiply_add(Chains<double>& c) {
  for (int i = 0; i < kRepeats; ++i)
    for (auto& chain : c.chain) chain = chain * 0.999 + 0.001;
  return c.chain[0][0];
}

template <class T>
TUTTI_WIDEST T sum(const T* data, int64_t count) {
  T sums[128]{};
  int64_t i = 0;
  for (; i + 128 <= count; i += 128)
    for (int lane = 0; lane < 128; ++lane) sums[lane] += data[i + lane];
  for (; i < count; ++i) sums[0] += data[i];
  return *std::max_element(sums, sums + 128);
}

template <class T>
void read(Executor& executor, const T* data, int64_t count) {
  const int64_t part = (count + executor.thread_count() - 1) / executor.thread_count();
  executor.parallel_for(count, part, [&](int64_t first, int64_t last) {
    [[maybe_unused]] volatile T kept = sum(data + first, last - first);
  });
}

// The least seconds of some rounds: a peak is what can be had.
template <class Work>
double least_seconds(int rounds, Work work) {
  double least = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

template <class T>
double peak(Executor& executor) {
  const int64_t threads = executor.thread_count();
  const double seconds = least_seconds(10, [&] {
    executor.parallel_for(threads, 1, [&](int64_t, int64_t) {
      Chains<T> chains{};
      [[maybe_unused]] volatile T kept = multiply_add(chains);
    });
  });
  return 1e-9 * 2 * 12 * (64 / sizeof(T)) * kRepeats * static_cast<double>(threads) / seconds;
}

}  // namespace

void read_once(Executor& executor, const float* data, int64_t count) { read(executor, data, count); }
void read_once(Executor& executor, const double* data, int64_t count) { read(executor, data, count); }

Machine measure_machine() {
  Machine machine{};
  const std::vector<double> memory(int64_t{256} << 17, 1.0);  // 256 MiB
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    machine.f32[threads - 1] = peak<float>(pool), machine.f64[threads - 1] = peak<double>(pool);
    machine.read[threads - 1] =
        1e-9 * 8 * static_cast<double>(memory.size()) /
        least_seconds(3, [&] { read(pool, memory.data(), static_cast<int64_t>(memory.size())); });
  }
  return machine;
}

void Machine::print() const {
  std::printf("Peaks of this machine, on one thread and on two: %.0f and %.0f GFLOP/s in f32, %.0f and %.0f in f64, %.1f and %.1f GB/s read.\n",
              f32[0], f32[1], f64[0], f64[1], read[0], read[1]);
}

}  // namespace tutti
