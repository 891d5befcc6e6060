// The host's services as C++: what a plugin may ask of the table that it was created with. Copies are cheap and
// borrow the table.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
#include <new>
#include <string>

#include "shared/parallel/executor.h"

namespace tutti {

class HostLink final : public Executor {
 public:
  explicit HostLink(const tutti_host* host) : host_(host) {}

  int thread_count() const override { return host_->thread_count(host_); }
  void run(int64_t count, int64_t grain, tutti_range_fn body, void* argument) override {
    host_->parallel_for(host_, count, grain, body, argument);
  }

  void log(int32_t level, const std::string& text) const { host_->log(host_, level, text.c_str()); }
  bool cancelled() const { return host_->cancelled(host_) != 0; }
  // How much of the current call is done, 0 … 1.
  void progress(double fraction) const { host_->progress(host_, fraction); }

  // Room for count elements for the length of the current call, aligned to 64 bytes, not cleared. Throws
  // std::bad_alloc where there is none.
  template <class T>
  T* scratch(int64_t count) const {
    uint64_t bytes = 0;
    void* memory = __builtin_mul_overflow(count, sizeof(T), &bytes) ? nullptr : host_->scratch(host_, bytes ? bytes : 1);
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

 private:
  const tutti_host* host_;
};

}  // namespace tutti
