// The nearest right spelling, for messages about unknown names.
#pragma once

#include <string>
#include <vector>

namespace tutti {

// " (did you mean "lookback"?)", or "" where nothing is near (edit distance over a third of the length, swapped
// neighbours counting once, upper and lower case being one).
std::string did_you_mean(const std::string& wrong, const std::vector<std::string>& right);

// "a", "b" and "c": names for a message.
std::string list_of(const std::vector<std::string>& names);

}  // namespace tutti
