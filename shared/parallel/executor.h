// Where loops run: the thread pool of the host as a plugin sees it, or the calling thread alone. The blocks of a
// loop depend on count and grain only, so sums made per block, in the order of the blocks, have the same bits on any
// number of threads.
#pragma once

#include <tutti/plugin.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <type_traits>

namespace tutti {

class Executor {
 public:
  virtual ~Executor() = default;

  virtual int thread_count() const = 0;

  // body(argument, first, last) for [0,grain), [grain,2*grain) … of 0 … count-1; returns when all are done. Bodies
  // may run at once and in any order, and may not throw. A loop inside a body runs on the body's thread.
  virtual void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) = 0;

  // The same with a callable body(first, last), which may throw: every block still runs, then the exception of the
  // lowest block that threw is thrown here.
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    Attempt<std::remove_reference_t<Body>> attempt{body};
    run(count, grain, attempt.run_block, &attempt);
    if (attempt.thrown) std::rethrow_exception(attempt.thrown);
  }

 private:
  template <class Body>
  struct Attempt {
    Body& body;
    std::mutex mutex{};
    std::exception_ptr thrown{};
    int64_t thrown_at = 0;

    static void TUTTI_CALL run_block(void* argument, int64_t first, int64_t last) noexcept {
      auto& self = *static_cast<Attempt*>(argument);
      try {
        self.body(first, last);
      } catch (...) {
        const std::lock_guard lock(self.mutex);
        if (!self.thrown || first < self.thrown_at) self.thrown = std::current_exception(), self.thrown_at = first;
      }
    }
  };
};

// Runs every block on the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  int thread_count() const override { return 1; }
  void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) override {
    grain = std::clamp<int64_t>(grain, 1, std::max<int64_t>(count, 1));
    for (int64_t first = 0; first < count;) {
      const int64_t last = first + std::min(grain, count - first);
      body(argument, first, last);
      first = last;
    }
  }
};

}  // namespace tutti
