#include "host/text/spelling.h"

#include <algorithm>
#include <numeric>

namespace tutti {
namespace {

// Letters inserted, left out, exchanged, or swapped with their neighbour (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last), last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string lower(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

}  // namespace

std::string did_you_mean(const std::string& wrong, const std::vector<std::string>& right) {
  const std::string* nearest = nullptr;
  size_t least = 0;
  for (const std::string& name : right) {
    const size_t distance = edit_distance(lower(wrong), lower(name));
    const bool near = distance <= std::max<size_t>(1, name.size() / 3) && distance < name.size();
    if (near && (!nearest || distance < least)) nearest = &name, least = distance;
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
