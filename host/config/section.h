// One table of a TOML file, read key by key. The first mistake is kept, with its place, and everything read after it is a
// default: a reader asks once, at the end, whether all was well. A key that is missing is told of last, since a misspelt one
// explains it better.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "host/config/experiment.h"
#include "shared/result.h"

namespace tutti {

class Section {
 public:
  // name: as messages write it, "[task]"; "" for the top of the file. mistake is shared by all sections of a file.
  Section(const toml::table& table, std::string name, std::string file, std::optional<Error>& mistake);

  bool has(const char* key) const { return table_.contains(key); }
  SourcePlace place() const;                 // of the table
  SourcePlace place(const char* key) const;  // of a key's value, or of the table where it isn't there

  // With a fallback the key may be missing; without one that is a mistake.
  std::string text(const char* key, std::optional<std::string> fallback = {});
  int64_t integer(const char* key, int64_t least, std::optional<int64_t> fallback = {},
                  int64_t most = std::numeric_limits<int64_t>::max());
  double number(const char* key, double least, double most, std::optional<double> fallback = {});
  std::vector<std::string> texts(const char* key, std::optional<std::vector<std::string>> fallback = {});
  std::vector<int64_t> integers(const char* key, std::optional<std::vector<int64_t>> fallback);
  std::vector<double> numbers(const char* key, std::optional<std::vector<double>> fallback);
  // Which of the choices stands there: its index.
  size_t choice(const char* key, const std::vector<std::string>& choices, std::optional<size_t> fallback = {});
  // A row number, a text or a TOML date.
  Border border(const char* key);
  // A table as a JSON object, whole numbers and others kept apart; "{}" where it is missing.
  std::string json_table(const char* key);
  // A table of the file; null where it is missing (a mistake if needed) or no table.
  const toml::table* table(const char* key, bool needed);

  // The key is known, and read elsewhere.
  void ask(const char* key);

  void mistake(const SourcePlace& place, const std::string& sentence);
  // Keys that nobody has asked for are unknown: a mistake that offers the nearest right spelling. Then those that are missing.
  void refuse_the_rest();

 private:
  const toml::node* find(const char* key, bool needed);
  void wrong_type(const char* key, const toml::node& node, const char* wanted);
  std::string called(const char* key) const;

  const toml::table& table_;
  std::string name_, file_;
  std::optional<Error>& mistake_;
  std::optional<Error> missing_;
  std::vector<std::string> asked_;
};

}  // namespace tutti
