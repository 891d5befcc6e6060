#include "host/plugin/services.h"

#include <cstdlib>

namespace tutti {

HostServices::HostServices(std::string member, Executor& executor, const std::atomic<bool>* cancelled, LogSink log)
    : member_(std::move(member)), executor_(executor), cancelled_(cancelled), log_(std::move(log)) {
  table_.struct_size = sizeof table_;
  table_.abi_major = TUTTI_ABI_MAJOR;
  table_.abi_minor = TUTTI_ABI_MINOR;
  table_.context = this;
  table_.name = "tutti";
  table_.version = TUTTI_VERSION;
  table_.log = [](const tutti_host* host, int32_t level, const char* text) {
    const HostServices& self = of(host);
    if (self.log_ && text) self.log_(level, self.member_, text);
  };
  table_.parallel_for = [](const tutti_host* host, int64_t count, int64_t grain, tutti_range_fn body, void* argument) {
    of(host).executor_.run(count, grain, body, argument);
  };
  table_.thread_count = [](const tutti_host* host) -> int32_t { return of(host).executor_.thread_count(); };
  table_.cancelled = [](const tutti_host* host) -> int32_t {
    const HostServices& self = of(host);
    return self.cancelled_ && self.cancelled_->load(std::memory_order_relaxed);
  };
  table_.progress = [](const tutti_host*, double) {};
  table_.scratch = [](const tutti_host* host, uint64_t bytes) -> void* {
    const uint64_t rounded = (bytes + 63) / 64 * 64;
    void* memory = rounded >= bytes ? std::aligned_alloc(64, rounded ? rounded : 64) : nullptr;
    if (memory) of(host).scratch_.emplace_back(memory);
    return memory;
  };
  table_.get_extension = [](const tutti_host*, const char*) -> const void* { return nullptr; };
}

}  // namespace tutti
