#include "host/evaluate/manifest.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "host/evaluate/run_folder.h"
#include "shared/linalg/gemm.h"

namespace tutti {
namespace {

using nlohmann::json;

json to_json(const ShownBatches& shown) {
  return {{"train_first_epoch", shown.train_first_epoch}, {"valid", shown.valid}, {"test", shown.test}};
}

bool all_agree(const std::map<std::string, ShownBatches>& shown) {
  const ShownBatches* first = nullptr;
  for (const auto& [member, hashes] : shown) {
    if (!first) first = &hashes;
    if (hashes.valid != first->valid || hashes.test != first->test) return false;
  }
  std::set<std::string> trained;
  for (const auto& [member, hashes] : shown)
    if (!hashes.train_first_epoch.empty()) trained.insert(hashes.train_first_epoch);
  return trained.size() <= 1;
}

json to_json(const FoldRecord& fold) {
  json shown = json::object();
  for (const auto& [member, hashes] : fold.shown) shown[member] = to_json(hashes);
  return {{"scaler", {{"centre", fold.scaler.centre}, {"scale", fold.scaler.scale}}},
          {"windows", {{"train", fold.train_windows}, {"valid", fold.valid_windows}, {"test", fold.test_windows}}},
          {"members", fold.members},
          {"weights", fold.weights},
          {"failures", fold.failures},
          {"batches_shown", shown},
          {"batches_agree", all_agree(fold.shown)}};
}

FoldRecord fold_from(const json& j) {
  FoldRecord fold;
  fold.scaler = {j.at("scaler").at("centre"), j.at("scaler").at("scale")};
  fold.train_windows = j.at("windows").at("train");
  fold.valid_windows = j.at("windows").at("valid");
  fold.test_windows = j.at("windows").at("test");
  fold.members = j.at("members").get<std::vector<std::string>>();
  fold.weights = j.at("weights").get<std::map<std::string, std::vector<double>>>();
  fold.failures = j.at("failures").get<std::map<std::string, std::string>>();
  for (const auto& [member, hashes] : j.at("batches_shown").items())
    fold.shown[member] = {hashes.at("train_first_epoch"), hashes.at("valid"), hashes.at("test")};
  return fold;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  json plugins = json::array();
  for (const UsedPlugin& plugin : manifest.plugins)
    plugins.push_back({{"id", plugin.id}, {"version", plugin.version}, {"file_xxh3", plugin.file_hash}});
  json folds = json::array();
  for (const FoldRecord& fold : manifest.folds) folds.push_back(to_json(fold));
  const json j{{"stage", manifest.stage},
               {"tutti", {{"version", manifest.tutti_version}, {"gemm", manifest.gemm_library}}},
               {"data", {{"xxh3", manifest.data_hash}, {"rows", manifest.data_rows}}},
               {"plugins", plugins},
               {"experiment", json::parse(manifest.experiment_json)},
               {"folds", folds}};
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Manifest> read_manifest(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "manifest.json";
  Result<std::string> text = read_file(path);
  if (!text) return bad_input(fmt::format("{} is no run's folder: it has no manifest.json", run.string()));
  try {
    const json j = json::parse(*text);
    Manifest manifest{j.at("stage"),
                      j.at("tutti").at("version"),
                      j.at("tutti").at("gemm"),
                      j.at("data").at("xxh3"),
                      j.at("data").at("rows"),
                      {},
                      j.at("experiment").dump(),
                      {}};
    for (const json& plugin : j.at("plugins"))
      manifest.plugins.push_back({plugin.at("id"), plugin.at("version"), plugin.at("file_xxh3")});
    for (const json& fold : j.at("folds")) manifest.folds.push_back(fold_from(fold));
    for (const FoldRecord& fold : manifest.folds) {
      const std::vector<double>&centre = fold.scaler.centre, &scale = fold.scaler.scale;
      const bool positive = std::all_of(scale.begin(), scale.end(), [](double s) { return s > 0 && std::isfinite(s); });
      if (centre.empty() || centre.size() != scale.size() || !positive || fold.members.empty())
        return bad_input(fmt::format("{}: is damaged: a fold has no members or no scaler", path.string()));
    }
    if (manifest.folds.empty()) return bad_input(fmt::format("{}: is damaged: it has no folds", path.string()));
    return manifest;
  } catch (const json::exception& damage) {
    return bad_input(fmt::format("{}: is damaged: {}", path.string(), damage.what()));
  }
}

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

Result<std::string> hash_file(const std::filesystem::path& path) {
  TUTTI_TRY(const std::string bytes, read_file(path));
  return hex(XXH3_64bits(bytes.data(), bytes.size()));
}

Result<std::vector<UsedPlugin>> used_plugins(const Experiment& experiment, const Catalogue& catalogue) {
  std::vector<UsedPlugin> used;
  std::set<std::string> seen;
  for (const MemberPlan& member : experiment.members) {
    TUTTI_TRY(const Catalogue::Model model, catalogue.find(member.plugin));
    const PluginMetadata& metadata = model.library->metadata;
    if (!seen.insert(metadata.id).second) continue;
    TUTTI_TRY(std::string hash, hash_file(metadata.path));
    used.push_back({metadata.id, metadata.version, std::move(hash)});
  }
  return used;
}

}  // namespace tutti
