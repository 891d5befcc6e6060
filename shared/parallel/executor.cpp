#include "shared/parallel/executor.h"

#include <algorithm>

namespace tutti {

Executor::~Executor() = default;

void Executor::Failure::note(int64_t block) noexcept {
  const std::lock_guard lock(mutex_);
  if (!thrown_ || block < thrown_at_) thrown_ = std::current_exception(), thrown_at_ = block;
}

void Executor::Failure::rethrow() {
  if (thrown_) std::rethrow_exception(thrown_);
}

int SerialExecutor::thread_count() const { return 1; }

void SerialExecutor::run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) {
  grain = std::clamp<int64_t>(grain, 1, std::max<int64_t>(count, 1));
  for (int64_t first = 0; first < count;) {
    const int64_t last = first + std::min(grain, count - first);
    body(argument, first, last);
    first = last;
  }
}

}  // namespace tutti
