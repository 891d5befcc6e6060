#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/session.h"
#include "host/plugin/hosted_model.h"
#include "host/plugin/schema.h"

namespace tutti {
namespace {

// A small problem to show a model's parameters by.
Problem example_problem(const tutti_model_type& type) {
  Problem problem;
  problem.features = problem.targets = 4;
  problem.lookback = 60;
  problem.horizon = 5;
  problem.season = 5;
  problem.target_feature = {0, 1, 2, 3};
  problem.dtype = type.dtypes & TUTTI_DTYPE_F64 ? dtype_of<double>() : dtype_of<float>();
  problem.answers = TUTTI_ANSWER_POINT;
  return problem;
}

std::string flags_text(uint32_t flags) {
  std::vector<std::string> words;
  if (flags & TUTTI_DETERMINISTIC) words.push_back("deterministic");
  if (flags & TUTTI_ROW_INDEPENDENT) words.push_back("row independent");
  if (flags & TUTTI_FREE_LOOKBACK) words.push_back("free lookback");
  if (flags & TUTTI_STRIDED_INPUT) words.push_back("strided input");
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string extensions_text(const tutti_model_type& type) {
  std::vector<std::string> words;
  for (const char* id : {TUTTI_TRAIN_ID, TUTTI_ACT_ID, TUTTI_PARAMETERS_ID, TUTTI_GRADIENT_ID, TUTTI_STREAM_ID, TUTTI_TRACE_ID})
    if (type.get_extension(id)) words.push_back(id);
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string dtypes_text(uint32_t dtypes) {
  const bool f32 = dtypes & TUTTI_DTYPE_F32, f64 = dtypes & TUTTI_DTYPE_F64;
  return f32 && f64 ? "f32, f64" : f32 ? "f32" : "f64";
}

std::string shape_of(const Tensor& tensor) {
  return name_of(tensor.dtype()) + " " + shape_text(tensor.shape().data(), static_cast<int>(tensor.shape().size()));
}

Result<std::vector<NamedTensor>> example_parameters(const Catalogue::Model& model, Session& session) {
  TUTTI_TRY(const std::string config, complete_config(model.type->config_schema, "{}"));
  const Workbench bench = session.bench();
  TUTTI_TRY(const auto made, make_in_process_model(model, {model.type->id, config, example_problem(*model.type)}, bench.executor, nullptr, {}));
  return made->parameters(ParameterSet::learned);
}

std::string as_text(const Catalogue::Model& model, Session& session) {
  const tutti_model_type& type = *model.type;
  std::string text = fmt::format("{}: {}\n{}\n\n", type.id, type.name, type.summary);
  text += fmt::format("library     {} {}  ({})\n", model.library->metadata.id, model.library->metadata.version, model.library->metadata.path.string());
  text += fmt::format("dtypes      {}\ndevices     {}\npromises    {}\nextensions  {}\n\n", dtypes_text(type.dtypes), type.devices, flags_text(type.flags),
                      extensions_text(type));
  text += "Configuration:\n";
  const std::vector<ConfigKey> keys = describe_schema(type.config_schema);
  for (const ConfigKey& key : keys)
    text += fmt::format("  {:<24} {:<8} = {:<10} {}{}{}\n", key.name, key.type, key.default_value, key.description,
                        key.range.empty() || key.description.empty() ? "" : "; ", key.range);
  if (keys.empty()) text += "  none\n";
  const Result<std::vector<NamedTensor>> parameters = example_parameters(model, session);
  if (!parameters) return text + fmt::format("\nIt can't be made for an example problem: {}\n", parameters.error().message);
  int64_t total = 0;
  for (const NamedTensor& parameter : *parameters) total += parameter.tensor.size();
  text += fmt::format("\nParameters for an example (4 features, 60 past steps, 5 future steps, 4 targets): {} numbers\n", total);
  for (const NamedTensor& parameter : *parameters) text += fmt::format("  {:<40} {}\n", parameter.name, shape_of(parameter.tensor));
  return text;
}

std::string as_json(const Catalogue::Model& model, Session& session) {
  const tutti_model_type& type = *model.type;
  nlohmann::json parameters = nlohmann::json::array();
  if (const Result<std::vector<NamedTensor>> shown = example_parameters(model, session))
    for (const NamedTensor& parameter : *shown)
      parameters.push_back({{"name", parameter.name}, {"dtype", name_of(parameter.tensor.dtype())}, {"shape", parameter.tensor.shape()}});
  return nlohmann::json{{"id", type.id},
                        {"name", type.name},
                        {"summary", type.summary},
                        {"library", model.library->metadata.id},
                        {"version", model.library->metadata.version},
                        {"path", model.library->metadata.path.string()},
                        {"dtypes", dtypes_text(type.dtypes)},
                        {"devices", type.devices},
                        {"config_schema", nlohmann::json::parse(type.config_schema)},
                        {"example_parameters", parameters}}
             .dump(2) +
         "\n";
}

// The models that a name stands for: one by its id, or all of a library's file.
Result<std::vector<Catalogue::Model>> find_models(const std::string& name, const Catalogue& catalogue) {
  const Result<Catalogue::Model> model = catalogue.find(name);
  if (model) return std::vector<Catalogue::Model>{*model};
  return model.error();
}

}  // namespace

void add_inspect_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  struct Options {
    std::string name;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "One model: what it promises, its configuration with defaults, its parameters");
  command->add_option("model", options->name, "A model's id, or the file of a plugin")->required()->type_name("ID|FILE");
  command->footer("Example:\n  tutti inspect example.last-value\n  tutti inspect ./my_model.so");
  command->callback([&, options] {
    chosen = [&, options]() -> Result<void> {
      if (!std::filesystem::is_regular_file(options->name)) {
        Session session(common);
        TUTTI_TRY(const std::vector<Catalogue::Model> models, find_models(options->name, session.catalogue()));
        for (const Catalogue::Model& model : models) print(common.json ? as_json(model, session) : as_text(model, session));
        return {};
      }
      Result<PluginMetadata> metadata = read_metadata(options->name, common.allow_bare);
      if (!metadata) return bad_input(fmt::format("{} {}", options->name, metadata.error().message));
      Result<Library> library = load_library(*metadata);
      if (!library) return bad_input(fmt::format("{} {}", options->name, library.error().message));
      Session session(common);
      for (const tutti_model_type* type : library->models) {
        const Catalogue::Model model{&*library, type};
        print(common.json ? as_json(model, session) : as_text(model, session));
      }
      return {};
    };
  });
}

}  // namespace tutti
