#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/session.h"
#include "host/data/collate.h"
#include "host/plugin/hosted_model.h"
#include "host/plugin/schema.h"
#include "shared/random/philox.h"

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

Result<std::unique_ptr<HostedModel>> example_model(const Catalogue::Model& model, Session& session) {
  TUTTI_TRY(const std::string config, complete_config(model.type->config_schema, "{}"));
  const Workbench bench = session.bench();
  return make_in_process_model(model, {model.type->id, config, example_problem(*model.type)}, bench.executor, nullptr, {});
}

Result<std::vector<NamedTensor>> example_parameters(const Catalogue::Model& model, Session& session) {
  TUTTI_TRY(const auto made, example_model(model, session));
  return made->parameters(ParameterSet::learned);
}

// A random walk in each feature, long enough for two windows.
Table example_table(const Problem& problem) {
  Table table;
  table.source = "example";
  const Philox noise(1);
  for (int64_t f = 0; f < problem.features; ++f) table.columns.push_back("x" + std::to_string(f));
  std::vector<double> level(static_cast<size_t>(problem.features));
  for (int64_t row = 0; row <= problem.lookback; ++row) {
    table.time.push_back(row);
    for (size_t f = 0; f < level.size(); ++f) table.values.push_back(level[f] += noise.normal(table.values.size()));
  }
  return table;
}

// What lies between input and answer for a batch of two windows.
Result<std::vector<NamedTensor>> example_trace(const Catalogue::Model& model, Session& session) {
  TUTTI_TRY(const auto made, example_model(model, session));
  const Problem& problem = made->problem();
  const Table table = example_table(problem);
  const Scaler scaler = fit_scaler(table, TrainRows{{0, table.rows()}}, Scaling::standard);
  const BatchLayout layout{{0, 1, 2, 3}, {0, 1, 2, 3}, {problem.lookback, problem.horizon, 1}, problem.dtype};
  TUTTI_TRY(Collator collator, Collator::create(table, scaler, layout, 2));
  const std::vector<Origin> origins{problem.lookback - 1, problem.lookback};
  TUTTI_TRY(const Batch batch, collator.collate(origins, Targets::without));
  return made->trace(batch.view);
}

std::string trace_text(const std::vector<NamedTensor>& trace) {
  std::string text = "\nIntermediate values of a batch of 2 windows, in the order of computing:\n";
  for (const NamedTensor& value : trace) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int64_t i = 0; i < value.tensor.size(); ++i) {
      const double x = value.tensor.dtype().bits == 32 ? value.tensor.data<float>()[i] : value.tensor.data<double>()[i];
      low = std::min(low, x), high = std::max(high, x);
    }
    text += fmt::format("  {:<32} {:<24} {:>12.5g} … {:.5g}\n", value.name, shape_of(value.tensor), low, high);
  }
  return text;
}

std::string as_text(const Catalogue::Model& model, Session& session) {
  const tutti_model_type& type = *model.type;
  std::string text = fmt::format("{}: {}\n{}\n\n", type.id, type.name, type.summary);
  text += fmt::format("library     {} {}  ({})\n", model.library->metadata.id, model.library->metadata.version,
                      model.library->metadata.path.string());
  text += fmt::format("dtypes      {}\ndevices     {}\npromises    {}\nextensions  {}\n\n", dtypes_text(type.dtypes),
                      type.devices, flags_text(type.flags), extensions_text(type));
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
  for (const NamedTensor& parameter : *parameters)
    text += fmt::format("  {:<40} {}\n", parameter.name, shape_of(parameter.tensor));
  return text;
}

std::string as_json(const Catalogue::Model& model, Session& session) {
  const tutti_model_type& type = *model.type;
  nlohmann::json parameters = nlohmann::json::array();
  if (const Result<std::vector<NamedTensor>> shown = example_parameters(model, session))
    for (const NamedTensor& parameter : *shown)
      parameters.push_back(
          {{"name", parameter.name}, {"dtype", name_of(parameter.tensor.dtype())}, {"shape", parameter.tensor.shape()}});
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

Result<void> show(const Catalogue::Model& model, Session& session, bool json, bool trace) {
  print(json ? as_json(model, session) : as_text(model, session));
  if (!trace) return {};
  TUTTI_TRY(const std::vector<NamedTensor> values, example_trace(model, session));
  print(trace_text(values));
  return {};
}

}  // namespace

void add_inspect_command(CLI::App& app, CommonOptions& common, Action& chosen) {
  struct Options {
    std::string name;
    bool trace = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "One model: what it promises, its configuration with defaults, its parameters");
  command->add_option("model", options->name, "A model's id, or the file of a plugin")->required()->type_name("ID|FILE");
  command->add_flag("--trace", options->trace,
                    "Also show name, shape and range of every intermediate value for an example batch");
  command->footer("Example:\n  tutti inspect example.last-value\n  tutti inspect ./my_model.so");
  command->callback([&, options] {
    chosen = [&, options]() -> Result<void> {
      if (!std::filesystem::is_regular_file(options->name)) {
        Session session(common);
        TUTTI_TRY(const Catalogue::Model model, session.catalogue().find(options->name));
        return show(model, session, common.json, options->trace);
      }
      Result<PluginMetadata> metadata = read_metadata(options->name, common.allow_bare);
      if (!metadata) return bad_input(fmt::format("{} {}", options->name, metadata.error().message));
      Result<Library> library = load_library(*metadata);
      if (!library) return bad_input(fmt::format("{} {}", options->name, library.error().message));
      Session session(common);
      for (const tutti_model_type* type : library->models)
        TUTTI_CHECK(show({&*library, type}, session, common.json, options->trace));
      return {};
    };
  });
}

}  // namespace tutti
