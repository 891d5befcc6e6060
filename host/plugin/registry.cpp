#include "host/plugin/registry.h"

#include <fmt/format.h>
#include <tutti/plugin.h>

#include <QCoreApplication>
#include <QJsonObject>
#include <QPluginLoader>
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "host/plugin/elf_check.h"

namespace tutti {
namespace fs = std::filesystem;
namespace {

// Exactly this failure of Qt's means: a library, but not one that carries a note.
bool has_no_note(const QPluginLoader& loader) {
  return loader.metaData().isEmpty() && loader.errorString().contains("metadata not found");
}

Result<PluginMetadata> from_note(const fs::path& path, const QJsonObject& note) {
  const std::string iid = note.value("IID").toString().toStdString();
  if (iid != TUTTI_IID) return bad_input(fmt::format("has the interface \"{}\"; this host wants \"{}\"", iid, TUTTI_IID));
  const QJsonObject own = note.value("MetaData").toObject();
  PluginMetadata metadata{path, own.value("id").toString().toStdString(), own.value("version").toString().toStdString(),
                          own.value("abi_major").toInt(-1), own.value("abi_minor").toInt(-1)};
  if (metadata.id.empty() || metadata.abi_minor < 0) return bad_input("has metadata without id or ABI version");
  if (metadata.abi_major != TUTTI_ABI_MAJOR)
    return bad_input(fmt::format("was built for version {} of the contract; this host speaks version {}", metadata.abi_major,
                                 TUTTI_ABI_MAJOR));
  return metadata;
}

std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<PluginMetadata> read_metadata(const fs::path& path, bool allow_bare) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) return bad_input("is not a file");
  TUTTI_CHECK(check_elf_library(file));
  const QPluginLoader loader(QString::fromStdString(file.string()));
  if (!loader.metaData().isEmpty()) return from_note(file, loader.metaData());
  if (!has_no_note(loader)) return bad_input(fmt::format("is refused by Qt: {}", loader.errorString().toStdString()));
  if (allow_bare) return PluginMetadata{file, file.stem().string(), "", TUTTI_ABI_MAJOR, 0, true};
  return bad_input("carries no plugin note; put TUTTI_METADATA in its source, or pass --allow-bare");
}

Scan scan_plugins(const ScanOptions& options) {
  Scan scan;
  for (const fs::path& folder : options.folders) {
    for (const fs::path& file : libraries_in(folder)) {
      Result<PluginMetadata> metadata = read_metadata(file, options.allow_bare);
      if (!metadata) {
        scan.refused.push_back({file, metadata.error().message});
        continue;
      }
      const auto same =
          std::find_if(scan.found.begin(), scan.found.end(), [&](const auto& other) { return other.id == metadata->id; });
      if (same == scan.found.end()) {
        scan.found.push_back(*metadata);
      } else if (same->path != metadata->path) {
        scan.refused.push_back(
            {file, fmt::format("has the id \"{}\" of {}, which was found first", metadata->id, same->path.string())});
      }
    }
  }
  return scan;
}

std::vector<fs::path> default_plugin_folders() {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv("TUTTI_PLUGIN_PATH")) {
    std::stringstream stream(list);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty()) folders.emplace_back(folder);
  }
  if (QCoreApplication::instance()) {
    const fs::path program = QCoreApplication::applicationDirPath().toStdString();
    folders.push_back(program.parent_path() / "plugins");
    folders.push_back(program.parent_path() / TUTTI_PLUGIN_INSTALL_DIR);
  }
  return folders;
}

}  // namespace tutti
