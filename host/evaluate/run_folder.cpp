#include "host/evaluate/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace tutti {
namespace fs = std::filesystem;
namespace {

constexpr const char* kIdentityFile = "identity.json";

Error io_error(const std::string& what, const fs::path& path) {
  return failed(fmt::format("{} {}: {}", what, path.string(), std::strerror(errno)));
}

// An exclusive lock on a folder, given back when the last copy goes.
Result<std::shared_ptr<const int>> lock_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return io_error("can't open", folder);
  std::shared_ptr<const int> lock(new int(file), [](const int* held) {
    ::close(*held);
    delete held;
  });
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  return bad_input(fmt::format("another tutti is at work in {}; wait for it, or choose another --out", folder.string()));
}

Result<void> check_identity(const fs::path& folder, const std::string& identity) {
  TUTTI_TRY(const std::string before, read_file(folder / kIdentityFile));
  if (before == identity) return {};
  return bad_input(
      fmt::format("{} holds a run of another experiment or of other plugins; pass --overwrite to begin anew, or another --out",
                  folder.string()));
}

}  // namespace

Result<RunFolder> RunFolder::begin(const fs::path& out, const std::string& identity, IfExists policy) {
  RunFolder run;
  run.out_ = fs::absolute(out).lexically_normal();
  if (!run.out_.has_filename()) run.out_ = run.out_.parent_path();
  run.path_ = run.out_;
  run.path_ += ".partial";
  std::error_code error;

  const bool finished = fs::exists(run.out_, error), unfinished = fs::exists(run.path_, error);
  if (finished && !fs::exists(run.out_ / "manifest.json", error))
    return bad_input(fmt::format("{} exists and is no run's folder; choose another --out", run.out_.string()));
  if (unfinished && !fs::exists(run.path_ / kIdentityFile, error))
    return bad_input(fmt::format("{} exists and is no unfinished run; choose another --out", run.path_.string()));
  if (policy == IfExists::resume && !unfinished && finished) {
    TUTTI_CHECK(check_identity(run.out_, identity));
    fs::rename(run.out_, run.path_, error);
    if (error) return failed(fmt::format("can't rename {}: {}", run.out_.string(), error.message()));
    TUTTI_TRY(run.lock_, lock_folder(run.path_));
    return run;
  }
  if (policy == IfExists::refuse && finished)
    return bad_input(fmt::format("{} exists; pass --overwrite to replace it, or another --out", run.out_.string()));
  fs::create_directories(run.path_, error);
  if (error) return bad_input(fmt::format("can't make the run's folder {}: {}", run.path_.string(), error.message()));
  TUTTI_TRY(run.lock_, lock_folder(run.path_));
  if (policy == IfExists::resume && unfinished) {
    TUTTI_CHECK(check_identity(run.path_, identity));
    return run;
  }
  if (policy == IfExists::refuse && unfinished)
    return bad_input(fmt::format("an unfinished run stands in {}; pass --resume to go on with it, or --overwrite to begin anew",
                                 run.path_.string()));
  for (const fs::directory_entry& old : fs::directory_iterator(run.path_, error)) fs::remove_all(old.path(), error);
  TUTTI_CHECK(write_file(run.path_ / kIdentityFile, identity));
  return run;
}

fs::path RunFolder::checkpoint(int64_t fold, const std::string& member) const { return checkpoint_path(path_, fold, member); }
fs::path RunFolder::training_state(int64_t fold, const std::string& member) const {
  return path_ / "checkpoints" / fmt::format("fold-{}", fold + 1) / (file_name_for(member) + ".training.safetensors");
}
fs::path RunFolder::training_log(int64_t fold, const std::string& member) const {
  return path_ / "checkpoints" / fmt::format("fold-{}", fold + 1) / (file_name_for(member) + ".training.csv");
}
fs::path RunFolder::prediction(int64_t fold, const std::string& entry) const {
  return path_ / "predictions" / fmt::format("fold-{}", fold + 1) / (file_name_for(entry) + ".safetensors");
}

Result<void> RunFolder::add_fold(int64_t fold) const {
  for (const fs::path& file : {checkpoint(fold, ""), prediction(fold, "")}) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) return failed(fmt::format("can't make the folder {}: {}", file.parent_path().string(), error.message()));
  }
  return {};
}

Result<void> RunFolder::commit() {
  std::error_code error;
  fs::path old = out_;
  old += ".old";
  const bool replaces = fs::exists(out_, error);
  if (replaces) {
    fs::remove_all(old, error);
    fs::rename(out_, old, error);
  }
  if (!error) fs::rename(path_, out_, error);
  if (error) return failed(fmt::format("can't rename {} to {}: {}", path_.string(), out_.string(), error.message()));
  if (replaces) fs::remove_all(old, error);
  path_ = out_;
  return {};
}

fs::path checkpoint_path(const fs::path& run, int64_t fold, const std::string& member) {
  return run / "checkpoints" / fmt::format("fold-{}", fold + 1) / (file_name_for(member) + ".safetensors");
}

Result<void> write_file(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  fs::path temporary = path;
  temporary += ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return io_error("can't write", temporary);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) break;
    done += static_cast<size_t>(wrote);
  }
  const bool whole = done == text.size() && ::fsync(file) == 0;
  ::close(file);
  if (whole && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error failure = io_error("can't write", path);
  ::unlink(temporary.c_str());
  return failure;
}

Result<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) return bad_input(fmt::format("{}: there is no such file", path.string()));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string file_name_for(const std::string& name) {
  std::string result = name;
  for (char& c : result)
    if (!std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("._+-#", c)) c = '_';
  return result;
}

}  // namespace tutti
