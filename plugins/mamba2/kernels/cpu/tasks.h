// Independent tasks on all threads, each with a piece of memory that it shares with no other task at the same time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "shared/parallel/executor.h"

namespace tutti::mamba2::TUTTI_KERNELS {

// How many pieces of memory for_each_task needs.
inline int64_t count_workers(const Executor& executor, int64_t tasks) {
  return std::max<int64_t>(1, std::min<int64_t>(tasks, executor.thread_count()));
}

// body(task, worker) for 0 … tasks-1, each once, in any order. worker is below count_workers, and tasks of one worker
// don't run at once. What a task computes may not depend on its worker. A worker takes some neighbouring tasks at a time:
// their results often share a cache line, over which two would quarrel.
template <class Body>
void for_each_task(Executor& executor, int64_t tasks, Body body) {
  const int64_t workers = count_workers(executor, tasks), at_once = std::max<int64_t>(1, tasks / (8 * workers));
  std::atomic<int64_t> next{0};
  executor.parallel_for(workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t worker = first; worker < last; ++worker)
      for (int64_t begin; (begin = next.fetch_add(at_once, std::memory_order_relaxed)) < tasks;)
        for (int64_t task = begin; task < std::min(begin + at_once, tasks); ++task) body(task, worker);
  });
}

}  // namespace tutti::mamba2::TUTTI_KERNELS
