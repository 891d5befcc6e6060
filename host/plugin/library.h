// A loaded plugin library: its table, checked, and its model types. Libraries stay loaded until the process ends, since
// unloading code that may still run somewhere is a crash.
#pragma once

#include <tutti/plugin.h>

#include <memory>
#include <string>
#include <vector>

#include "host/plugin/registry.h"
#include "shared/result.h"

namespace tutti {

struct Library {
  PluginMetadata metadata;
  const tutti_plugin* table = nullptr;
  std::vector<const tutti_model_type*> models;
};

// Loads the library with all symbols resolved, checks that the code came from the very file whose metadata was read, and
// that the table keeps the contract. Runs the plugin's code.
Result<Library> load_library(const PluginMetadata& metadata);

// What is wrong with a model type's table, as a sentence's end; an error-free type can be used without further null checks.
Result<void> check_model_type(const tutti_model_type* type);

// All libraries that were found and could be loaded, and what models they offer.
class Catalogue {
 public:
  // Loads everything found. What fails is added to refused, with the reason.
  static Catalogue load(Scan scan);

  const std::vector<Library>& libraries() const { return libraries_; }
  const std::vector<RefusedFile>& refused() const { return refused_; }

  struct Model {
    const Library* library;
    const tutti_model_type* type;
  };
  // By model id. An unknown one is an error that offers the nearest spelling, or says why its file was refused.
  Result<Model> find(const std::string& id) const;
  std::vector<Model> models() const;

 private:
  std::vector<Library> libraries_;
  std::vector<RefusedFile> refused_;
};

}  // namespace tutti
