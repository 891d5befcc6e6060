#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/support/skip.h"

// ctest's SKIP_RETURN_CODE in tests/CMakeLists.txt.
constexpr int kSkipped = 77;

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  return failed == 0 && tutti::testing::something_was_skipped ? kSkipped : failed;
}
