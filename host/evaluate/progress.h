// How long work tells of itself, and learns that it should stop. The command line draws bars; tests count calls.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

class Progress {
 public:
  virtual ~Progress() = default;

  // A piece of work of total steps begins; one at a time.
  virtual void begin(const std::string& what, int64_t total) = 0;
  // So many steps are done; figures is a short text to show beside ("loss 0.412").
  virtual void update(int64_t done, const std::string& figures) = 0;
  // It is done; summary stays on the screen.
  virtual void end(const std::string& summary) = 0;
  // A line that the user should see: a member that failed, a rank that drifts.
  virtual void note(const std::string& text) = 0;

  // True once the user has asked to stop.
  virtual bool cancelled() const { return false; }
};

// Says nothing.
class SilentProgress : public Progress {
 public:
  void begin(const std::string&, int64_t) override {}
  void update(int64_t, const std::string&) override {}
  void end(const std::string&) override {}
  void note(const std::string&) override {}
};

}  // namespace tutti
