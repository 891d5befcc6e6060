// Runs a program as a user would and keeps what it said.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/support/temp_dir.h"

namespace tutti::testing {

struct Outcome {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
};

// command is for the shell; its words are quoted by whoever writes them.
inline Outcome run(const std::string& command) {
  const TempDir folder;
  const std::string whole =
      "{ " + command + "\n} >" + (folder / "out").string() + " 2>" + (folder / "err").string() + " </dev/null";
  const int status = std::system(whole.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = text_of(folder / "out");
  outcome.err = text_of(folder / "err");
  return outcome;
}

// The tutti of this build.
inline Outcome tutti(const std::string& arguments) { return run("'" TUTTI_BINARY_DIR "/bin/tutti' " + arguments); }

}  // namespace tutti::testing
