// While one of these lives, a memory fault on its thread is reported with the member's name before the process ends: the
// batch lies in pages that can only be read, so a plugin that writes to its input faults here.
#pragma once

namespace tutti {

class FaultReport {
 public:
  explicit FaultReport(const char* member);
  ~FaultReport();
  FaultReport(const FaultReport&) = delete;
  FaultReport& operator=(const FaultReport&) = delete;

 private:
  const char* outer_;
};

}  // namespace tutti
