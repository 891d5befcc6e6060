// Counts what is allocated, by all threads, in executables that link tutti_counted_memory.
#pragma once

#include <cstdint>

namespace tutti::testing {

int64_t allocations();  // calls of malloc, and so of operator new, since the start; with sanitizers of operator new alone
int64_t live_bytes();   // given out by operator new and not given back
int64_t peak_bytes();   // the largest live_bytes since restart_peak
void restart_peak();

}  // namespace tutti::testing
