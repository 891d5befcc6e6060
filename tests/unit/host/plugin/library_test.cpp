#include "host/plugin/library.h"

#include <catch2/catch.hpp>

#include "host/plugin/elf_check.h"
#include "shared/plugin/define_plugin.h"
#include "tests/support/temp_dir.h"

namespace tutti {
namespace {

struct Nothing final : Model {
  static ModelDescription description() {
    ModelDescription d;
    d.id = "test.nothing", d.name = "nothing", d.summary = "Answers nothing.";
    return d;
  }
  static Result<std::unique_ptr<Nothing>> create(const HostLink&, const Problem&, const Options&) {
    return std::make_unique<Nothing>();
  }
  Result<void> predict(const tutti_batch&, const tutti_output&) override { return {}; }
};

std::string fault(void (*damage)(tutti_model_type&)) {
  tutti_model_type type = *border::Adapter<Nothing>::type();
  damage(type);
  const auto checked = check_model_type(&type);
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("a model type with everything in place passes") {
  CHECK(fault([](tutti_model_type&) {}) == "");
}

TEST_CASE("a model type with a hole is refused by what is missing") {
  CHECK(fault([](tutti_model_type& t) { t.struct_size = 8; }) == "has a model type whose table is missing or too short");
  CHECK(fault([](tutti_model_type& t) { t.id = "Nothing"; }) == "has a model type without an id like \"vendor.name\"");
  CHECK(fault([](tutti_model_type& t) { t.id = nullptr; }) == "has a model type without an id like \"vendor.name\"");
  CHECK(fault([](tutti_model_type& t) { t.summary = nullptr; }) ==
        "has the model \"test.nothing\" without name, summary or devices");
  CHECK(fault([](tutti_model_type& t) { t.predict = nullptr; }) ==
        "has the model \"test.nothing\" without a function that is not optional");
  CHECK(fault([](tutti_model_type& t) { t.config_schema = "{"; }) ==
        "has the model \"test.nothing\" whose configuration schema is not a JSON object");
  CHECK(fault([](tutti_model_type& t) { t.answers = 0; }) == "has the model \"test.nothing\" that names no answers or no dtypes");
  CHECK(fault([](tutti_model_type& t) { t.training = TUTTI_TRAINING_SUPERVISED; }) ==
        "has the model \"test.nothing\" that is to be trained but lacks tutti.train/1");
  CHECK_FALSE(check_model_type(nullptr));
}

TEST_CASE("a file is told apart from a whole library of this machine") {
  const testing::TempDir folder;
  const std::string library = testing::text_of(TUTTI_BINARY_DIR "/plugins/baselines.so");
  const auto verdict = [&](const std::string& bytes) {
    const auto checked = check_elf_library(folder.write("file.so", bytes));
    return checked ? "" : checked.error().message;
  };
  CHECK(verdict(library) == "");
  CHECK(verdict("") == "is not a shared library (too small)");
  CHECK(verdict(std::string(100, 'x')) == "is not a shared library (no ELF signature)");
  CHECK(verdict(library.substr(0, library.size() - 1)).starts_with("is cut off: "));
  std::string other = library;
  other[18] = 0x28;  // e_machine: ARM
  CHECK(verdict(other) == "is for another processor");
  other = library;
  other[4] = 1;  // EI_CLASS: 32 bits
  CHECK(verdict(other) == "is for another word size; 64 bits are needed");
  CHECK(check_elf_library(folder.path()).error().message == "is not a file");
}

TEST_CASE("a library cut off anywhere is never taken for whole") {
  const testing::TempDir folder;
  const std::string library = testing::text_of(TUTTI_BINARY_DIR "/plugins/baselines.so");
  for (size_t size = 0; size < library.size(); size += library.size() / 61 + 1)
    CHECK_FALSE(check_elf_library(folder.write("cut.so", library.substr(0, size))));
}

}  // namespace tutti
