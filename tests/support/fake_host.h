// A host for tests that drive a plugin through its C table: lends an Executor and scratch memory, keeps what is
// logged, and can be told to cancel.
//
//     FakeHost host(3);
//     tutti_model* model = nullptr;
//     tutti_error error{};
//     REQUIRE(type->create(host.table(), &problem, "{}", &model, &error) == TUTTI_OK);
//     CHECK(type->predict(model, &batch, &output, &error) == TUTTI_OK);
//     host.end_call();
//     type->destroy(model);
#pragma once

#include <tutti/plugin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared/parallel/thread_pool.h"

namespace tutti {

class FakeHost {
 public:
  struct Line {
    int32_t level;
    std::string text;
  };

  // Lends a pool of so many threads.
  explicit FakeHost(int threads = 1) : pool_(std::make_unique<ThreadPool>(threads)), executor_(*pool_) { fill_in(); }
  // Lends an executor that outlives this host.
  explicit FakeHost(Executor& executor) : executor_(executor) { fill_in(); }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const tutti_host* table() const { return &table_; }

  // What a host does after each call of a plugin: scratch memory dies, so that a sanitizer sees late use of it.
  void end_call() { scratch_.clear(); }

  // From now on, cancelled() says so.
  void cancel(bool wanted = true) { cancelled_ = wanted; }
  // From now on, scratch gives null.
  void exhaust_scratch(bool exhausted = true) { exhausted_ = exhausted; }

  std::vector<Line> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  // The last fraction that was told, or -1.
  double progress() const { return progress_; }
  // Pieces of scratch given since the last end_call.
  size_t scratch_pieces() const { return scratch_.size(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  static FakeHost& self(const tutti_host* host) { return *static_cast<FakeHost*>(host->context); }

  void fill_in() {
    table_.struct_size = sizeof table_;
    table_.abi_major = TUTTI_ABI_MAJOR, table_.abi_minor = TUTTI_ABI_MINOR;
    table_.context = this;
    table_.name = "fake host", table_.version = "1.0.0";
    table_.log = [](const tutti_host* host, int32_t level, const char* text) {
      const std::lock_guard lock(self(host).mutex_);
      self(host).log_.push_back({level, text});
    };
    table_.parallel_for = [](const tutti_host* host, int64_t count, int64_t grain, tutti_range_fn body, void* argument) {
      self(host).executor_.run(count, grain, body, argument);
    };
    table_.thread_count = [](const tutti_host* host) -> int32_t { return self(host).executor_.thread_count(); };
    table_.cancelled = [](const tutti_host* host) -> int32_t { return self(host).cancelled_; };
    table_.progress = [](const tutti_host* host, double fraction) { self(host).progress_ = fraction; };
    table_.scratch = [](const tutti_host* host, uint64_t bytes) { return self(host).scratch(bytes); };
    table_.get_extension = [](const tutti_host*, const char*) -> const void* { return nullptr; };
  }

  // Filled with 0xff, which is a NaN in every float, so that nobody comes to rely on zeros.
  void* scratch(uint64_t bytes) {
    if (exhausted_ || bytes > SIZE_MAX - 64) return nullptr;
    const size_t rounded = bytes ? (bytes + 63) / 64 * 64 : 64;
    void* memory = std::aligned_alloc(64, rounded);
    if (!memory) return nullptr;
    scratch_.emplace_back(memory);
    std::fill_n(static_cast<unsigned char*>(memory), rounded, static_cast<unsigned char>(0xff));
    return memory;
  }

  std::unique_ptr<ThreadPool> pool_;
  Executor& executor_;
  tutti_host table_{};
  mutable std::mutex mutex_;  // of log_
  std::vector<Line> log_;
  std::vector<std::unique_ptr<void, Free>> scratch_;
  std::atomic<bool> cancelled_{false}, exhausted_{false};
  std::atomic<double> progress_{-1};
};

}  // namespace tutti
