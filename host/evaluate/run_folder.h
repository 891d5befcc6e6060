// The folder that a run leaves: manifest.json, checkpoints/, predictions/, metrics.json, leaderboard.txt, report.html.
// While work goes on it is called NAME.partial; it gets its name when everything is in it, so a folder called NAME is always
// a whole run, and an older one is kept until then.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "shared/result.h"

namespace tutti {

enum class IfExists {
  refuse,     // an error that says what to do
  overwrite,  // replace the older run when this one is whole
  resume,     // go on with an unfinished or trained run of the same experiment
};

class RunFolder {
 public:
  // identity: what a resumed run must have in common with the unfinished one (experiment and plugin versions).
  static Result<RunFolder> begin(const std::filesystem::path& out, const std::string& identity, IfExists policy);

  // Where to work: NAME.partial, or NAME after commit.
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint(int64_t fold, const std::string& member) const;
  std::filesystem::path training_state(int64_t fold, const std::string& member) const;
  std::filesystem::path training_log(int64_t fold, const std::string& member) const;
  std::filesystem::path prediction(int64_t fold, const std::string& entry) const;

  // Makes the folders that a fold's files go to.
  Result<void> add_fold(int64_t fold) const;

  // Everything is there: gives the folder its name.
  Result<void> commit();

 private:
  std::filesystem::path out_, path_;
  std::shared_ptr<const int> lock_;  // held while this lives: one program at a time works in a folder
};

// Where a run keeps a member's checkpoint.
std::filesystem::path checkpoint_path(const std::filesystem::path& run, int64_t fold, const std::string& member);

// Writes text to a temporary file beside path, syncs it and renames it.
Result<void> write_file(const std::filesystem::path& path, const std::string& text);
Result<std::string> read_file(const std::filesystem::path& path);

// name with everything that file systems may dislike replaced by "_".
std::string file_name_for(const std::string& name);

}  // namespace tutti
