#include "host/text/spelling.h"

#include <algorithm>
#include <numeric>

namespace tutti {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& wrong, const std::vector<std::string>& right) {
  const std::string* nearest = nullptr;
  size_t least = 0;
  for (const std::string& name : right) {
    const size_t distance = edit_distance(wrong, name);
    if (distance <= std::max<size_t>(1, name.size() / 3) && (!nearest || distance < least)) nearest = &name, least = distance;
  }
  return nearest ? " (did you mean \"" + *nearest + "\"?)" : "";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + ("\"" + names[i] + "\"");
  return text;
}

}  // namespace tutti
