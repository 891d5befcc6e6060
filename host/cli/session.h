// What a command that runs models works with: the plugins that were found, the thread pool, the console.
#pragma once

#include <memory>

#include "host/cli/command.h"
#include "host/cli/console.h"
#include "host/evaluate/evaluate.h"
#include "host/plugin/library.h"
#include "shared/parallel/thread_pool.h"

namespace tutti {

// Scans the folders of --plugins, then the default ones, without running any plugin's code.
Scan scan_for(const CommonOptions& common);

class Session {
 public:
  explicit Session(const CommonOptions& common);

  const Catalogue& catalogue() const { return catalogue_; }
  Progress& progress() { return progress_; }
  Workbench bench();

 private:
  Catalogue catalogue_;
  ThreadPool pool_;
  ConsoleProgress progress_;
};

}  // namespace tutti
