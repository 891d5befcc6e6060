#include "host/plugin/fault_report.h"

#include <unistd.h>
#include <csignal>
#include <cstring>
#include <mutex>

namespace tutti {
namespace {

const char* volatile faulting_member = nullptr;

void say(const char* text) { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text)); }

// Only async-signal-safe calls. SA_RESETHAND has put the default action back, which the returning instruction meets.
void report(int, siginfo_t* info, void*) {
  if (const char* member = faulting_member) {
    say("tutti: member \"");
    say(member);
    say(info->si_code == SEGV_ACCERR ? "\" wrote to memory that it may only read (its input?); leave it out, or mend its plugin\n"
                                     : "\" touched memory that isn't there; leave it out, or mend its plugin\n");
  }
}

void install_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = report;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
  });
}

}  // namespace

FaultReport::FaultReport(const char* member) : outer_(faulting_member) {
  install_once();
  faulting_member = member;
}

FaultReport::~FaultReport() { faulting_member = outer_; }

}  // namespace tutti
