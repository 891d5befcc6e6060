#include "host/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <QLibrary>
#include <QPluginLoader>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/plugin/elf_check.h"
#include "host/text/spelling.h"

namespace tutti {
namespace fs = std::filesystem;
namespace {

using EntryPoint = const tutti_plugin*(TUTTI_CALL*)(uint32_t, uint32_t);

// QLibrary may only be made after load(): it shares QPluginLoader's private object and would reset the hints.
Result<EntryPoint> resolve_entry(const PluginMetadata& metadata) {
  const QString file = QString::fromStdString(metadata.path.string());
  QLibrary::LoadHints hints = QLibrary::ResolveAllSymbolsHint | QLibrary::PreventUnloadHint;
  QLibrary library;
  if (metadata.bare) {
    library.setFileName(file);
    library.setLoadHints(hints);
    if (!library.load()) return bad_input(fmt::format("can't be loaded: {}", library.errorString().toStdString()));
  } else {
    QPluginLoader loader(file);
    loader.setLoadHints(hints);
    if (!loader.load()) return bad_input(fmt::format("can't be loaded: {}", loader.errorString().toStdString()));
    library.setFileName(loader.fileName());
  }
  const auto entry = reinterpret_cast<EntryPoint>(library.resolve("tutti_get_plugin"));
  if (!entry) return bad_input("doesn't export tutti_get_plugin");
  return entry;
}

// Qt and glibc may load another file than the one asked for (m.so.avx2, haswell/m.so).
Result<void> check_origin(const PluginMetadata& metadata, EntryPoint entry) {
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(entry), &info) && info.dli_fname &&
      fs::equivalent(info.dli_fname, metadata.path, error))
    return {};
  return bad_input(fmt::format("would run code from {} in its place", info.dli_fname ? info.dli_fname : "another file"));
}

Result<void> check_table(const PluginMetadata& metadata, const tutti_plugin* table) {
  if (!table) return bad_input("can't serve a host of this version");
  if (table->struct_size < sizeof(tutti_plugin)) return bad_input("has a table that is too short");
  if (table->abi_major != TUTTI_ABI_MAJOR) return bad_input("has a table of another version than its metadata");
  if (!table->id || !table->version || !table->get_model) return bad_input("has a table with empty places");
  if (!metadata.bare && (table->id != metadata.id || table->version != metadata.version))
    return bad_input(
        fmt::format("says it is {} {} but its metadata says {} {}", table->id, table->version, metadata.id, metadata.version));
  if (table->model_count < 1) return bad_input("offers no models");
  return {};
}

bool is_model_id(const std::string& id) {
  return !id.empty() && id.find('.') != std::string::npos && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

}  // namespace

Result<void> check_model_type(const tutti_model_type* type) {
  if (!type || type->struct_size < sizeof(tutti_model_type))
    return bad_input("has a model type whose table is missing or too short");
  if (!type->id || !is_model_id(type->id)) return bad_input("has a model type without an id like \"vendor.name\"");
  const auto wrong = [&](const char* what) { return bad_input(fmt::format("has the model \"{}\" {}", type->id, what)); };
  if (!type->name || !type->summary || !type->devices) return wrong("without name, summary or devices");
  if (!type->create || !type->destroy || !type->predict || !type->reset || !type->get_extension)
    return wrong("without a function that is not optional");
  if (!type->config_schema || !nlohmann::json::parse(type->config_schema, nullptr, false).is_object())
    return wrong("whose configuration schema is not a JSON object");
  if (type->answers == 0 || (type->dtypes & (TUTTI_DTYPE_F32 | TUTTI_DTYPE_F64)) == 0)
    return wrong("that names no answers or no dtypes");
  const bool learns = type->training != TUTTI_TRAINING_NONE;
  const auto* train = static_cast<const tutti_train*>(type->get_extension(TUTTI_TRAIN_ID));
  if (learns && (!TUTTI_HAS(train, tutti_train, step) || !TUTTI_HAS(train, tutti_train, notify)))
    return wrong("that is to be trained but lacks tutti.train/1");
  const auto* parameters = static_cast<const tutti_parameters*>(type->get_extension(TUTTI_PARAMETERS_ID));
  if (parameters && (!TUTTI_HAS(parameters, tutti_parameters, count) || !TUTTI_HAS(parameters, tutti_parameters, get) ||
                     !TUTTI_HAS(parameters, tutti_parameters, changed)))
    return wrong("whose tutti.parameters/1 has empty places");
  return {};
}

Result<Library> load_library(const PluginMetadata& metadata) {
  TUTTI_CHECK(check_elf_library(metadata.path));
  TUTTI_TRY(const EntryPoint entry, resolve_entry(metadata));
  TUTTI_CHECK(check_origin(metadata, entry));
  Library library{metadata, entry(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR), {}};
  TUTTI_CHECK(check_table(metadata, library.table));
  for (int32_t i = 0; i < library.table->model_count; ++i) {
    const tutti_model_type* type = library.table->get_model(i);
    TUTTI_CHECK(check_model_type(type));
    library.models.push_back(type);
  }
  return library;
}

Catalogue Catalogue::load(Scan scan) {
  Catalogue catalogue;
  catalogue.refused_ = std::move(scan.refused);
  std::set<std::string> ids;
  for (const PluginMetadata& metadata : scan.found) {
    Result<Library> library = load_library(metadata);
    std::string reason = library ? "" : library.error().message;
    if (library)
      for (const tutti_model_type* type : library->models)
        if (!ids.insert(type->id).second)
          reason = fmt::format("offers the model \"{}\", which another library offers too", type->id);
    if (reason.empty())
      catalogue.libraries_.push_back(*std::move(library));
    else
      catalogue.refused_.push_back({metadata.path, reason});
  }
  return catalogue;
}

std::vector<Catalogue::Model> Catalogue::models() const {
  std::vector<Model> all;
  for (const Library& library : libraries_)
    for (const tutti_model_type* type : library.models) all.push_back({&library, type});
  return all;
}

Result<Catalogue::Model> Catalogue::find(const std::string& id) const {
  std::vector<std::string> known;
  for (const Model& model : models()) {
    if (id == model.type->id) return model;
    known.emplace_back(model.type->id);
  }
  if (known.empty())
    return bad_input(fmt::format("no plugin offers \"{}\": no plugins were found; name their folder with --plugins", id));
  const std::string near = did_you_mean(id, known);
  const std::string hint = refused_.empty() ? ""
                                            : fmt::format("; {} file{} refused, see tutti plugins", refused_.size(),
                                                          refused_.size() == 1 ? " was" : "s were");
  return bad_input(fmt::format("no plugin offers \"{}\"{}; there are {}{}", id, near, list_of(known), hint));
}

}  // namespace tutti
