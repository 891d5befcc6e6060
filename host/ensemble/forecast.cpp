#include "host/ensemble/forecast.h"

#include <fmt/core.h>

#include <cassert>
#include <cmath>

namespace tutti {
namespace {

// Where the first number stands that isn't finite, or -1.
int64_t find_not_finite(const std::vector<double>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i])) return static_cast<int64_t>(i);
  return -1;
}

Result<void> check_alike(const std::string& who, const char* axis, int64_t first, int64_t other) {
  if (first == other) return {};
  return failed(fmt::format("{} was given a member with {} {} and one with {}", who, axis, first, other));
}

Error not_finite(const std::string& who, const std::string& whose, const char* what, double number, int64_t window) {
  return failed(fmt::format("{} was given {} with {} of {} at window {}; a member that fails must be left out", who, whose, what,
                            number, window + 1));
}

}  // namespace

Forecast empty_like(const std::vector<Forecast>& members) {
  assert(!members.empty());
  const Forecast& first = members.front();
  Forecast empty{first.windows, first.horizon, first.targets, {}, first.levels, {}};
  for (const Forecast& member : members) {
    assert(member.windows == empty.windows && member.horizon == empty.horizon && member.targets == empty.targets);
    if (member.levels != empty.levels) empty.levels = 0;
  }
  empty.point.assign(static_cast<size_t>(empty.size()), 0);
  empty.quantiles.assign(static_cast<size_t>(empty.size() * empty.levels), 0);
  return empty;
}

Result<void> check_members(const std::string& who, const std::vector<Forecast>& members) {
  if (members.empty()) return failed(who + " was given no members");
  const Forecast& first = members.front();
  for (const Forecast& member : members) {
    TUTTI_CHECK(check_alike(who, "windows", first.windows, member.windows));
    TUTTI_CHECK(check_alike(who, "horizon", first.horizon, member.horizon));
    TUTTI_CHECK(check_alike(who, "targets", first.targets, member.targets));
    if (first.levels > 0 && member.levels > 0) TUTTI_CHECK(check_alike(who, "quantile levels", first.levels, member.levels));
    assert(static_cast<int64_t>(member.point.size()) == member.size());
    assert(static_cast<int64_t>(member.quantiles.size()) == member.size() * member.levels);
  }
  const int64_t window_size = first.horizon * first.targets;
  for (size_t m = 0; m < members.size(); ++m) {
    const std::string whose = fmt::format("member {}", m + 1);
    if (const int64_t i = find_not_finite(members[m].point); i >= 0)
      return not_finite(who, whose, "a forecast", members[m].point[static_cast<size_t>(i)], i / window_size);
    if (const int64_t i = find_not_finite(members[m].quantiles); i >= 0)
      return not_finite(who, whose, "a quantile", members[m].quantiles[static_cast<size_t>(i)],
                        i / (window_size * members[m].levels));
  }
  return {};
}

Result<void> check_truth(const std::string& who, const ValidForecasts& valid) {
  assert(!valid.members.empty());
  const Forecast& member = valid.members.front();
  const Truth& truth = valid.truth;
  if (member.size() == 0) return failed(who + " learns its weights from validation windows, and there are none");
  if (truth.windows != member.windows || truth.horizon != member.horizon || truth.targets != member.targets)
    return failed(fmt::format("{} was given members of {} windows, {} steps and {} targets, and truth of {}, {} and {}", who,
                              member.windows, member.horizon, member.targets, truth.windows, truth.horizon, truth.targets));
  assert(static_cast<int64_t>(truth.value.size()) == member.size());
  if (const int64_t i = find_not_finite(truth.value); i >= 0)
    return failed(fmt::format("{} was given a true value of {} at window {}", who, truth.value[static_cast<size_t>(i)],
                              i / (truth.horizon * truth.targets) + 1));
  return {};
}

}  // namespace tutti
