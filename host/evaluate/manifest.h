// manifest.json: what a run was made from and how, enough to check it, repeat it and use its models: versions, hashes of
// data and plugins, the experiment as understood, and for each fold its scaler, its weights and what every member was shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "host/config/experiment.h"
#include "host/data/scaler.h"
#include "host/plugin/library.h"
#include "shared/result.h"

namespace tutti {

// Hashes over the batches that one member was shown, in order, 16 hexadecimal digits each; "" where there were none.
struct ShownBatches {
  std::string train_first_epoch, valid, test;
  friend bool operator==(const ShownBatches&, const ShownBatches&) = default;
};

struct FoldRecord {
  Scaler scaler;
  int64_t train_windows = 0, valid_windows = 0, test_windows = 0;
  std::map<std::string, ShownBatches> shown;           // member -> hashes
  std::vector<std::string> members;                    // those that lived to be combined, in order
  std::map<std::string, std::vector<double>> weights;  // combination -> one a member of members; empty: has none
  std::map<std::string, std::string> failures;         // member -> reason
};

struct UsedPlugin {
  std::string id, version, file_hash;
};

struct Manifest {
  std::string stage;  // "trained" or "evaluated"
  std::string tutti_version, gemm_library;
  std::string data_hash;  // XXH3-64 of the data file
  int64_t data_rows = 0;
  std::vector<UsedPlugin> plugins;
  std::string experiment_json;
  std::vector<FoldRecord> folds;
};

std::string to_json(const Manifest& manifest);
Result<Manifest> read_manifest(const std::filesystem::path& run);

// XXH3-64 of a file's bytes, in hexadecimal.
Result<std::string> hash_file(const std::filesystem::path& path);
std::string hex(uint64_t value);

// The plugins that the experiment's members come from, each once.
Result<std::vector<UsedPlugin>> used_plugins(const Experiment& experiment, const Catalogue& catalogue);

}  // namespace tutti
