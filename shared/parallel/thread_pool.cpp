#include "shared/parallel/thread_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace tutti {
namespace {

thread_local bool inside_body = false;

// Marks this thread as inside a body, so that loops in it stay here.
class InsideBody {
 public:
  InsideBody() : before_(std::exchange(inside_body, true)) {}
  ~InsideBody() { inside_body = before_; }

 private:
  bool before_;
};

// True as soon as condition is; false where it wasn't for about as long as a thread takes to wake.
template <class Condition>
bool look_out_for(Condition condition) {
  constexpr auto kPatience = std::chrono::microseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() - begin < kPatience);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  workers_.reserve(static_cast<size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {  // a limit on threads: results don't depend on their number
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Loop::work() noexcept {
  for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
    const int64_t first = block * grain;
    body(argument, first, first + std::min(grain, count - first));
  }
}

void ThreadPool::run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) {
  grain = std::max<int64_t>(grain, 1);
  std::unique_lock ours(one_loop_, std::defer_lock);
  if (workers_.empty() || inside_body || count <= grain || !ours.try_lock()) {
    const InsideBody mark;
    SerialExecutor().run(count, grain, body, argument);
    return;
  }
  Loop loop{count, grain, count / grain + (count % grain != 0), body, argument};
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    loop_ = &loop;
    ++generation_;
    wake = asleep_ > 0;
  }
  if (wake) wake_.notify_all();
  {
    const InsideBody mark;
    loop.work();
  }
  std::unique_lock lock(mutex_);
  loop_ = nullptr;
  if (busy_ > 0) {
    lock.unlock();
    look_out_for([this] { return busy_ == 0; });
    lock.lock();
  }
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::serve() {
  inside_body = true;
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    lock.unlock();
    look_out_for([&] { return generation_ != seen; });
    lock.lock();
    ++asleep_;
    wake_.wait(lock, [&] { return stop_ || (loop_ && generation_ != seen); });
    --asleep_;
    if (stop_) return;
    Loop& loop = *loop_;
    seen = generation_;
    ++busy_;
    lock.unlock();
    loop.work();
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace tutti
