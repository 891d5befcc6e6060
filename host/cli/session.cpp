#include "host/cli/session.h"

#include <fmt/format.h>

#include "host/text/plain.h"

namespace tutti {

Scan scan_for(const CommonOptions& common) {
  ScanOptions options;
  options.folders.assign(common.plugin_folders.begin(), common.plugin_folders.end());
  for (const std::filesystem::path& folder : default_plugin_folders()) options.folders.push_back(folder);
  options.allow_bare = common.allow_bare;
  return scan_plugins(options);
}

Session::Session(const CommonOptions& common)
    : catalogue_(Catalogue::load(scan_for(common))), pool_(common.threads), progress_(common.quiet, stop_requested()) {
  listen_for_stop();
}

Workbench Session::bench() {
  return {catalogue_, pool_, progress_, &stop_requested(),
          [this](int32_t level, const std::string& member, const std::string& text) {
            if (level >= TUTTI_LOG_WARNING) progress_.note(fmt::format("{}: {}", member, plain_text(text)));
          }};
}

}  // namespace tutti
