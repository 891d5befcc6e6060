// Is a file a whole shared library for this machine? Asked before a file may reach the dynamic loader, which dies of a
// truncated one (SIGBUS) instead of refusing it.
#pragma once

#include <filesystem>

#include "shared/result.h"

namespace tutti {

// An error says what the file is instead: "is cut off: 4,096 of 15,232 bytes", "is for another processor", …
Result<void> check_elf_library(const std::filesystem::path& path);

}  // namespace tutti
