#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/report/results.h"

namespace tutti {
namespace {

struct Column {
  std::string title;
  bool left;
  int importance;  // the least important column goes first where the width is short
  std::vector<std::string> cells;

  size_t width() const {
    size_t width = title.size();
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    return width;
  }
};

std::string figure(double value) { return std::isnan(value) ? "-" : std::abs(value) >= 1000 ? fmt::format("{:.1f}", value) : fmt::format("{:.5f}", value); }

bool is_best(const Results& results, const std::string& metric, double value) {
  const auto direction = results.lower_is_better.find(metric);
  const bool lower = direction == results.lower_is_better.end() || direction->second;
  for (const Entry& entry : results.entries) {
    const auto other = entry.overall.find(metric);
    if (!entry.failure.empty() || other == entry.overall.end() || std::isnan(other->second)) continue;
    if (lower ? other->second < value : other->second > value) return false;
  }
  return true;
}

std::vector<Column> columns_of(const Results& results, const std::vector<const Entry*>& order) {
  std::vector<Column> columns{{"#", false, 9, {}}, {"name", true, 10, {}}, {"kind", true, 2, {}}};
  for (size_t m = 0; m < results.metric_names.size(); ++m) columns.push_back({results.metric_names[m], false, m == 0 ? 9 : 8 - static_cast<int>(m), {}});
  columns.push_back({"numbers", false, 1, {}});
  columns.push_back({"train s", false, 0, {}});
  int rank = 0;
  for (const Entry* entry : order) {
    if (!entry->failure.empty()) continue;
    const bool member = entry->kind == Entry::Kind::member;
    std::vector<std::string> cells{std::to_string(++rank), entry->name, member ? "member" : "combination"};
    for (const std::string& metric : results.metric_names) {
      const auto value = entry->overall.find(metric);
      const double number = value == entry->overall.end() ? std::nan("") : value->second;
      cells.push_back(figure(number) + (!std::isnan(number) && is_best(results, metric, number) ? "*" : " "));
    }
    cells.push_back(member && entry->parameters >= 0 ? std::to_string(entry->parameters) : "");
    cells.push_back(member ? fmt::format("{:.1f}", entry->train_seconds) : "");
    for (size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(cells[c]);
  }
  return columns;
}

size_t total_width(const std::vector<Column>& columns) {
  size_t width = 0;
  for (const Column& column : columns) width += column.width() + 2;
  return width - 2;
}

void fit(std::vector<Column>& columns, size_t width) {
  while (columns.size() > 3 && total_width(columns) > width)
    columns.erase(std::min_element(columns.begin(), columns.end(), [](const Column& a, const Column& b) { return a.importance < b.importance; }));
}

std::string table(const std::vector<Column>& columns) {
  std::string text;
  const size_t rows = columns.front().cells.size();
  const auto line = [&](auto cell_of) {
    std::string row;
    for (const Column& column : columns) {
      const std::string cell = cell_of(column);
      row += column.left ? fmt::format("{:<{}}  ", cell, column.width()) : fmt::format("{:>{}}  ", cell, column.width());
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line([](const Column& column) { return column.title; });
  line([](const Column& column) { return std::string(column.width(), '-'); });
  for (size_t r = 0; r < rows; ++r) line([&](const Column& column) { return column.cells[r]; });
  return text;
}

std::string weights_text(const Results& results) {
  std::string text;
  for (const Entry& entry : results.entries) {
    if (entry.weights.empty() || entry.weights.back().empty()) continue;
    std::vector<std::string> parts;
    for (size_t m = 0; m < entry.weights.back().size() && m < results.member_names.size(); ++m)
      if (entry.weights.back()[m] >= 0.0005) parts.push_back(fmt::format("{} {:.3f}", results.member_names[m], entry.weights.back()[m]));
    text += fmt::format("  {:<14} {}\n", entry.name, fmt::join(parts, ", "));
  }
  return text.empty() ? "" : fmt::format("\nweights{}:\n{}", results.folds.size() > 1 ? " of the last fold" : "", text);
}

}  // namespace

std::string to_text(const Results& results, int width) {
  const std::vector<const Entry*> order = ranked(results);
  std::string text = fmt::format("{}: {}; {} past steps, {} ahead; {} units\n", results.name, results.data, results.lookback, results.horizon, results.units);
  for (size_t f = 0; f < results.folds.size(); ++f)
    text += fmt::format("{}: train {}\n  valid {}\n  test  {}\n", results.folds.size() > 1 ? fmt::format("fold {}", f + 1) : "split", results.folds[f].train,
                        results.folds[f].valid, results.folds[f].test);
  std::vector<Column> columns = columns_of(results, order);
  fit(columns, static_cast<size_t>(std::max(width, 20)));
  text += "\n" + table(columns) + "* best in its column\n";
  for (const Entry* entry : order)
    if (!entry->failure.empty()) text += fmt::format("failed: {}: {}\n", entry->name, entry->failure);
  return text + weights_text(results);
}

}  // namespace tutti
