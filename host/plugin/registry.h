// Finds plugins: reads the metadata of every library in the given folders, without running any of their code, and says
// of each why it is taken or refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shared/result.h"

namespace tutti {

// What a library's metadata note says.
struct PluginMetadata {
  std::filesystem::path path;  // canonical
  std::string id, version;
  int abi_major = 0, abi_minor = 0;
  bool bare = false;  // without a note; only id (the file's name) is known
};

struct RefusedFile {
  std::filesystem::path path;
  std::string reason;  // a sentence's end: "is cut off: …"
};

struct ScanOptions {
  std::vector<std::filesystem::path> folders;  // the first to hold an id wins
  bool allow_bare = false;                     // take libraries without a note too
};

struct Scan {
  std::vector<PluginMetadata> found;
  std::vector<RefusedFile> refused;
};

// Looks at every *.so in the folders, in the order of folders and names. A folder that doesn't exist is passed over.
Scan scan_plugins(const ScanOptions& options);

// Metadata of one file.
Result<PluginMetadata> read_metadata(const std::filesystem::path& path, bool allow_bare);

// $TUTTI_PLUGIN_PATH, the folder of the build beside the program, and the installed one.
std::vector<std::filesystem::path> default_plugin_folders();

}  // namespace tutti
