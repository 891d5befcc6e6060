// The one place that writes to the terminal: results to standard output, everything else to standard error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "host/evaluate/progress.h"
#include "shared/result.h"

namespace tutti {

// Progress bars with an estimate of the time left on a terminal; elsewhere a plain line for each finished piece of work.
// Quiet: notes only.
class ConsoleProgress final : public Progress {
 public:
  ConsoleProgress(bool quiet, const std::atomic<bool>& stop);
  ~ConsoleProgress() override;

  void begin(const std::string& what, int64_t total) override;
  void update(int64_t done, const std::string& figures) override;
  void end(const std::string& summary) override;
  void note(const std::string& text) override;
  bool cancelled() const override { return stop_.load(std::memory_order_relaxed); }

 private:
  void draw(const std::string& line);
  void wipe();

  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, drawn_ = false;
  const std::atomic<bool>& stop_;
  std::string what_;
  int64_t total_ = 0, first_done_ = -1;
  Clock::time_point start_, last_draw_;
};

void print(const std::string& text);   // to standard output
bool output_was_lost();                // true where some of it could not be written
void print_error(const Error& error);  // "tutti: sentence" to standard error
int exit_code(const Error& error);     // 2 for bad input, 1 else
int terminal_width();                  // columns; 110 where there is no terminal

// Set by Ctrl-C or a termination signal; a second one ends the program at once.
const std::atomic<bool>& stop_requested();
void listen_for_stop();

}  // namespace tutti
