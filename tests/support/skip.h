// A test that can't run where it is says so and why; its ctest entry is then shown as skipped, unless another test of the
// same file fails.
#pragma once

#include <iostream>
#include <string>

namespace tutti::testing {

inline bool something_was_skipped = false;

inline void skip(const std::string& reason) {
  std::cout << "SKIPPED: " << reason << "\n";
  something_was_skipped = true;
}

}  // namespace tutti::testing
