#include "host/text/spelling.h"

#include <algorithm>
#include <numeric>

namespace tutti {
namespace {

// Letters left out, put in, replaced, or exchanged with their neighbour (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
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
