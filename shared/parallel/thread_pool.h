// The one thread pool of a process. The host makes it and lends it to plugins through tutti_host; threads are
// started once and joined by the destructor. A thread that has nothing to do looks out for the next loop for a few
// microseconds before it sleeps, since loops often follow each other and waking takes as long as a small one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "shared/parallel/executor.h"

namespace tutti {

class ThreadPool final : public Executor {
 public:
  // threads counts the calling thread: 1 starts none. 0 takes one for each core. Where the system gives fewer, the
  // pool goes on with those.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const override { return static_cast<int>(workers_.size()) + 1; }

  // As promised by Executor; [any thread]. While one loop has the workers, a loop from another thread runs on its own
  // thread alone, as does, always, a loop inside a body, of whatever pool.
  void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) override;

 private:
  struct Loop {
    int64_t count, grain, blocks;
    tutti_range_fn body;
    void* argument;
    std::atomic<int64_t> next{0};

    void work() noexcept;
  };

  void serve();

  std::mutex one_loop_;  // held by the thread whose loop has the workers
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Loop* loop_ = nullptr;
  std::atomic<uint64_t> generation_{0};  // of loop_
  std::atomic<int> busy_{0};             // workers inside loop_
  int asleep_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tutti
