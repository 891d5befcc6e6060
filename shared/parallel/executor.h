// Where loops run: the thread pool of the host as a plugin sees it, or the calling thread alone. The blocks of a
// loop depend on count and grain only, so sums made per block, in the order of the blocks, have the same bits on any
// number of threads.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <type_traits>

namespace tutti {

class Executor {
 public:
  virtual ~Executor();

  virtual int thread_count() const = 0;

  // body(argument, first, last) for [0,grain), [grain,2*grain) … of 0 … count-1; returns when all are done. Bodies
  // may run at once and in any order, and may not throw. A loop inside a body runs on the body's thread.
  virtual void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) = 0;

  // The same with a callable body(first, last), which may throw: every block still runs, then the exception of the
  // lowest block that threw is thrown here.
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    Attempt<std::remove_reference_t<Body>> attempt{body, {}};
    run(count, grain, attempt.run_block, &attempt);
    attempt.failure.rethrow();
  }

 private:
  // The exception of the lowest block that threw.
  class Failure {
   public:
    void note(int64_t block) noexcept;  // the exception being handled; [any thread]
    void rethrow();

   private:
    std::mutex mutex_;
    std::exception_ptr thrown_;
    int64_t thrown_at_ = 0;
  };

  template <class Body>
  struct Attempt {
    Body& body;
    Failure failure;

    static void TUTTI_CALL run_block(void* argument, int64_t first, int64_t last) noexcept {
      auto& self = *static_cast<Attempt*>(argument);
      try {
        self.body(first, last);
      } catch (...) {
        self.failure.note(first);
      }
    }
  };
};

// Runs every block on the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  int thread_count() const override;
  void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) override;
};

}  // namespace tutti
