// The host's services as C++: what a plugin may ask of the table that it was created with. Copies are cheap and
// borrow the table.
#pragma once

#include <tutti/plugin.h>

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

 private:
  const tutti_host* host_;
};

}  // namespace tutti
