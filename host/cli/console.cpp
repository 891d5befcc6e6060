#include "host/cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace tutti {
namespace {

std::atomic<bool> stop{false};

void on_signal(int signal) {
  if (stop.exchange(true)) _exit(128 + signal);
}

std::string time_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(share * width);
  return std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(width - full), '.');
}

// A terminal or log that takes no more text must not end the work.
template <class... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int columns_of(int file) {
  winsize size{};
  return ::isatty(file) && ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 110;
}

}  // namespace

ConsoleProgress::ConsoleProgress(bool quiet, const std::atomic<bool>& stop_flag)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0), stop_(stop_flag) {}

ConsoleProgress::~ConsoleProgress() { wipe(); }

void ConsoleProgress::begin(const std::string& what, int64_t total) {
  what_ = what;
  total_ = total;
  first_done_ = -1;
  start_ = last_draw_ = Clock::now();
}

void ConsoleProgress::update(int64_t done, const std::string& figures) {
  const auto now = Clock::now();
  if (first_done_ < 0) first_done_ = done - 1;
  if (quiet_ || !terminal_ || total_ <= 0 || now - last_draw_ < std::chrono::milliseconds(100)) return;
  last_draw_ = now;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left =
      elapsed * static_cast<double>(total_ - done) / static_cast<double>(std::max<int64_t>(done - first_done_, 1));
  draw(fmt::format("{} [{}] {:3.0f} %  {} left  {}", what_, bar(share, 24), 100 * share, time_text(left), figures));
}

void ConsoleProgress::end(const std::string& summary) {
  wipe();
  if (!quiet_) say("{}\n", summary);
}

void ConsoleProgress::note(const std::string& text) {
  wipe();
  say("note: {}\n", text);
}

void ConsoleProgress::draw(const std::string& line) {
  const size_t width = static_cast<size_t>(std::max(columns_of(STDERR_FILENO) - 1, 20));
  say("\r\033[K{}", line.substr(0, width));
  std::fflush(stderr);
  drawn_ = true;
}

void ConsoleProgress::wipe() {
  if (drawn_) say("\r\033[K");
  drawn_ = false;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool output_was_lost() { return std::fflush(stdout) != 0 || std::ferror(stdout) != 0; }

void print_error(const Error& error) { say("tutti: {}\n", error.message); }

int exit_code(const Error& error) { return error.code == ErrorCode::bad_input || error.code == ErrorCode::unsupported ? 2 : 1; }

int terminal_width() { return columns_of(STDOUT_FILENO); }

const std::atomic<bool>& stop_requested() { return stop; }

void listen_for_stop() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace tutti
