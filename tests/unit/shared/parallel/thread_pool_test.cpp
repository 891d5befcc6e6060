#include "shared/parallel/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "shared/random/philox.h"

using namespace tutti;

namespace {

using Blocks = std::vector<std::pair<int64_t, int64_t>>;

// The blocks that a loop ran, sorted.
Blocks blocks_of(Executor& executor, int64_t count, int64_t grain) {
  std::mutex mutex;
  Blocks blocks;
  executor.parallel_for(count, grain, [&](int64_t first, int64_t last) {
    const std::lock_guard lock(mutex);
    blocks.emplace_back(first, last);
  });
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

double sum(Executor& executor, const std::vector<double>& numbers, int64_t grain) {
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<double> parts(static_cast<size_t>((count + grain - 1) / grain));
  executor.parallel_for(count, grain, [&](int64_t first, int64_t last) {
    double part = 0;
    for (int64_t i = first; i < last; ++i) part += numbers[static_cast<size_t>(i)];
    parts[static_cast<size_t>(first / grain)] = part;
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

std::vector<std::unique_ptr<Executor>> executors() {
  std::vector<std::unique_ptr<Executor>> all;
  all.push_back(std::make_unique<SerialExecutor>());
  for (const int threads : {1, 2, 3, 8}) all.push_back(std::make_unique<ThreadPool>(threads));
  return all;
}

}  // namespace

TEST_CASE("the blocks of a loop depend on count and grain only") {
  for (const auto& executor : executors()) {
    CHECK(blocks_of(*executor, 10, 4) == Blocks{{0, 4}, {4, 8}, {8, 10}});
    CHECK(blocks_of(*executor, 8, 4) == Blocks{{0, 4}, {4, 8}});
    CHECK(blocks_of(*executor, 3, 1) == Blocks{{0, 1}, {1, 2}, {2, 3}});
    CHECK(blocks_of(*executor, 3, 100) == Blocks{{0, 3}});
    CHECK(blocks_of(*executor, 3, INT64_MAX) == Blocks{{0, 3}});
  }
}

TEST_CASE("a loop over nothing runs no body, and a grain below one is one") {
  for (const auto& executor : executors()) {
    CHECK(blocks_of(*executor, 0, 4).empty());
    CHECK(blocks_of(*executor, -5, 4).empty());
    CHECK(blocks_of(*executor, 2, 0) == Blocks{{0, 1}, {1, 2}});
    CHECK(blocks_of(*executor, 2, -7) == Blocks{{0, 1}, {1, 2}});
  }
}

TEST_CASE("a loop over nearly 2^63 items overflows nothing") {
  for (const auto& executor : executors())
    CHECK(blocks_of(*executor, INT64_MAX, INT64_MAX / 2) ==
          Blocks{{0, INT64_MAX / 2}, {INT64_MAX / 2, INT64_MAX - 1}, {INT64_MAX - 1, INT64_MAX}});
}

TEST_CASE("a sum made by block has the same bits on any number of threads") {
  std::vector<double> numbers(10'007);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = Philox(1).normal(i) * std::exp(10 * Philox(2).normal(i));
  SerialExecutor serial;
  const double expected = sum(serial, numbers, 100);
  CHECK(sum(serial, numbers, 50) != expected);  // the numbers are such that order matters
  for (const auto& executor : executors())
    for (int repeat = 0; repeat < 20; ++repeat) {
      const double total = sum(*executor, numbers, 100);
      REQUIRE(std::memcmp(&total, &expected, sizeof total) == 0);
    }
}

TEST_CASE("a pool has the threads that it was asked for, the calling one included") {
  CHECK(ThreadPool(1).thread_count() == 1);
  CHECK(ThreadPool(3).thread_count() == 3);
  CHECK(ThreadPool(0).thread_count() >= 1);
  CHECK(ThreadPool(-2).thread_count() >= 1);
}

TEST_CASE("blocks run on several threads at once") {
  ThreadPool pool(2);
  std::atomic<int> present = 0;
  std::atomic<bool> met = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.parallel_for(2, 1, [&](int64_t, int64_t) {  // each waits for the other
    ++present;
    while (present < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (present == 2) met = true;
  });
  CHECK(met);
}

TEST_CASE("a loop inside a body runs on the body's thread, in order, of whatever pool") {
  ThreadPool outer(3), inner(2);
  std::atomic<int> wrong = 0, blocks = 0;
  const auto inner_loop = [&](Executor& executor) {
    const auto here = std::this_thread::get_id();
    int64_t next = 0;
    executor.parallel_for(50, 7, [&](int64_t first, int64_t last) {
      if (std::this_thread::get_id() != here || first != next) ++wrong;
      next = last;
      ++blocks;
    });
  };
  outer.parallel_for(20, 1, [&](int64_t, int64_t) { inner_loop(outer), inner_loop(inner); });
  CHECK(wrong == 0);
  CHECK(blocks == 20 * 2 * 8);
}

TEST_CASE("after a nested loop the next loop is spread over threads again") {
  ThreadPool pool(2);
  pool.parallel_for(1, 1, [&](int64_t, int64_t) { pool.parallel_for(4, 1, [](int64_t, int64_t) {}); });
  std::atomic<int> present = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.parallel_for(2, 1, [&](int64_t, int64_t) {
    ++present;
    while (present < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  CHECK(std::chrono::steady_clock::now() < deadline);
}

TEST_CASE("threads may run loops in one pool at once") {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> items = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat)
        pool.parallel_for(100, 9, [&](int64_t first, int64_t last) { items += last - first; });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(items == 4 * 200 * 100);
}

TEST_CASE("many small loops see every item once and are done when they return") {
  ThreadPool pool(3);
  std::vector<int> touched(64);
  for (int repeat = 1; repeat <= 5000; ++repeat) {
    pool.parallel_for(64, 1, [&](int64_t first, int64_t) { ++touched[static_cast<size_t>(first)]; });
    REQUIRE(std::count(touched.begin(), touched.end(), repeat) == 64);
  }
}

TEST_CASE("the exception of the lowest block comes out after every block has run") {
  for (const auto& executor : executors()) {
    std::atomic<int> ran = 0;
    const auto loop = [&] {
      executor->parallel_for(40, 1, [&](int64_t first, int64_t) {
        ++ran;
        if (first % 10 == 7) throw std::runtime_error(std::to_string(first));
      });
    };
    CHECK_THROWS_WITH(loop(), "7");
    CHECK(ran == 40);
    CHECK(blocks_of(*executor, 2, 1).size() == 2);
  }
}

TEST_CASE("pools come and go without work") {
  for (int repeat = 0; repeat < 50; ++repeat) {
    ThreadPool pool(3);
    if (repeat % 2) pool.parallel_for(3, 1, [](int64_t, int64_t) {});
  }
}
