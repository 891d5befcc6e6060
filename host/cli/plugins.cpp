#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "host/cli/session.h"

namespace tutti {
namespace {

const char* training_text(uint32_t kind) {
  switch (kind) {
    case TUTTI_TRAINING_NONE:
      return "none";
    case TUTTI_TRAINING_SUPERVISED:
      return "supervised";
    case TUTTI_TRAINING_CLOSED_FORM:
      return "closed form";
    case TUTTI_TRAINING_REPLAY:
      return "replay";
    case TUTTI_TRAINING_ROLLOUT:
      return "rollout";
    default:
      return "unknown";
  }
}

std::string as_text(const Catalogue& catalogue) {
  std::string text;
  for (const Library& library : catalogue.libraries()) {
    text += fmt::format("{} {}  ({})\n", library.metadata.id, library.metadata.version, library.metadata.path.string());
    for (const tutti_model_type* model : library.models)
      text += fmt::format("  {:<24} training: {:<12} {}\n", model->id, training_text(model->training), model->summary);
  }
  if (catalogue.libraries().empty()) text += "No plugins were found; name their folder with --plugins.\n";
  for (const RefusedFile& file : catalogue.refused()) text += fmt::format("refused: {} {}\n", file.path.string(), file.reason);
  return text;
}

std::string as_json(const Catalogue& catalogue) {
  nlohmann::json libraries = nlohmann::json::array(), refused = nlohmann::json::array();
  for (const Library& library : catalogue.libraries()) {
    nlohmann::json models = nlohmann::json::array();
    for (const tutti_model_type* model : library.models)
      models.push_back(
          {{"id", model->id}, {"name", model->name}, {"summary", model->summary}, {"training", training_text(model->training)}});
    libraries.push_back({{"id", library.metadata.id},
                         {"version", library.metadata.version},
                         {"path", library.metadata.path.string()},
                         {"models", models}});
  }
  for (const RefusedFile& file : catalogue.refused()) refused.push_back({{"path", file.path.string()}, {"reason", file.reason}});
  return nlohmann::json{{"plugins", libraries}, {"refused", refused}}.dump(2) + "\n";
}

}  // namespace

void add_plugins_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  CLI::App* command = app.add_subcommand("plugins", "What is there, what was refused and why");
  command->footer("Example:\n  tutti plugins --plugins ./my_plugins");
  command->callback([&] {
    chosen = [&]() -> Result<void> {
      const Catalogue catalogue = Catalogue::load(scan_for(common));
      print(common.json ? as_json(catalogue) : as_text(catalogue));
      return {};
    };
  });
}

}  // namespace tutti
