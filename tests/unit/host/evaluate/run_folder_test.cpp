#include "host/evaluate/run_folder.h"

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

namespace tutti {

TEST_CASE("a run's folder gets its name when it is whole, and an older one is kept until then") {
  const testing::TempDir work;
  const auto out = work / "run";
  auto run = RunFolder::begin(out, "one", IfExists::refuse);
  REQUIRE(run);
  CHECK_FALSE(std::filesystem::exists(out));
  REQUIRE(write_file(run->path() / "manifest.json", "first"));
  REQUIRE(run->commit());
  CHECK(testing::text_of(out / "manifest.json") == "first");

  CHECK(RunFolder::begin(out, "one", IfExists::refuse).error().code == ErrorCode::bad_input);
  auto next = RunFolder::begin(out, "two", IfExists::overwrite);
  REQUIRE(next);
  CHECK(testing::text_of(out / "manifest.json") == "first");
  REQUIRE(write_file(next->path() / "manifest.json", "second"));
  REQUIRE(next->commit());
  CHECK(testing::text_of(out / "manifest.json") == "second");
  CHECK(std::distance(std::filesystem::directory_iterator(work.path()), {}) == 1);
}

TEST_CASE("only a run of the same experiment is gone on with") {
  const testing::TempDir work;
  REQUIRE(RunFolder::begin(work / "run", "one", IfExists::refuse));
  CHECK(RunFolder::begin(work / "run", "one", IfExists::refuse).error().message.find("--resume") != std::string::npos);
  CHECK(RunFolder::begin(work / "run", "other", IfExists::resume).error().code == ErrorCode::bad_input);
  CHECK(RunFolder::begin(work / "run", "one", IfExists::resume));
}

TEST_CASE("a folder that is no run is never replaced") {
  const testing::TempDir work;
  std::filesystem::create_directory(work / "photos");
  CHECK(RunFolder::begin(work / "photos", "one", IfExists::overwrite).error().message.find("is no run's folder") !=
        std::string::npos);
}

TEST_CASE("a file that can't be written leaves the old one and nothing beside it") {
  const testing::TempDir work;
  CHECK_FALSE(write_file(work / "missing" / "", "text"));
  work.write("file", "old");
  std::filesystem::create_directory(work / "file.tmp");
  CHECK_FALSE(write_file(work / "file", "new"));
  CHECK(testing::text_of(work / "file") == "old");
}

TEST_CASE("a name becomes a file name that any system takes") {
  CHECK(file_name_for("mamba2#1") == "mamba2#1");
  CHECK(file_name_for("a b/../c:d") == "a_b_.._c_d");
}

}  // namespace tutti
