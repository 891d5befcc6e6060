// Where loops run: the thread pool of the host as a plugin sees it, or the calling thread alone. The blocks of a
// loop depend on count and grain only, so sums made per block, in the order of the blocks, have the same bits on any
// number of threads.
#pragma once

#include <tutti/plugin.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace tutti {

class Executor {
 public:
  virtual ~Executor() = default;

  virtual int thread_count() const = 0;

  // body(argument, first, last) for [0,grain), [grain,2*grain) … of 0 … count-1; returns when all are done. Bodies
  // may run at once and in any order, and may not throw. A loop inside a body runs on the body's thread.
  virtual void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) = 0;

  // The same with a callable body(first, last).
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    using Callable = std::remove_reference_t<Body>;
    run(count, grain,
        [](void* argument, int64_t first, int64_t last) { (*static_cast<Callable*>(argument))(first, last); },
        const_cast<std::remove_const_t<Callable>*>(&body));
  }
};

// Runs every block on the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  int thread_count() const override { return 1; }
  void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) override {
    grain = std::max<int64_t>(grain, 1);
    for (int64_t first = 0; first < count; first += grain) body(argument, first, std::min(first + grain, count));
  }
};

}  // namespace tutti
