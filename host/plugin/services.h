// The services that one model gets from the host, behind the contract's tutti_host table.
#pragma once

#include <tutti/plugin.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/parallel/executor.h"

namespace tutti {

// Gets what plugins log: level, the member's name, the line.
using LogSink = std::function<void(int32_t level, const std::string& member, const std::string& text)>;

class HostServices {
 public:
  // executor and cancelled are borrowed and outlive this; cancelled may be null.
  HostServices(std::string member, Executor& executor, const std::atomic<bool>* cancelled, LogSink log);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const tutti_host* table() const { return &table_; }

  // Frees the scratch memory of the call that has ended.
  void end_call() { scratch_.clear(); }

 private:
  static HostServices& of(const tutti_host* host) { return *static_cast<HostServices*>(host->context); }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  std::string member_;
  Executor& executor_;
  const std::atomic<bool>* cancelled_;
  LogSink log_;
  std::vector<std::unique_ptr<void, Free>> scratch_;
  tutti_host table_{};
};

}  // namespace tutti
