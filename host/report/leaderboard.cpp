#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "host/report/numerals.h"
#include "host/report/results.h"

namespace tutti {
namespace {

constexpr size_t kGap = 2;  // spaces between columns
constexpr size_t kLongestName = 24;

// Characters, not bytes.
size_t length(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string shortened(const std::string& text, size_t width) {
  if (length(text) <= width) return text;
  std::string kept;
  size_t characters = 0;
  for (const char c : text) {
    if ((c & 0xC0) != 0x80 && ++characters > width - 2) break;
    kept += c;
  }
  return kept + "..";
}

std::string padded_left(const std::string& text, size_t width) {
  return std::string(width - std::min(width, length(text)), ' ') + text;
}

std::string padded_right(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, length(text)), ' ');
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Pieces in lines of at most width: the first begins with head, the others with indent spaces. A piece longer than a line
// is cut.
std::string wrapped(const std::string& head, const std::vector<std::string>& pieces, size_t indent, size_t width) {
  std::string lines, line = head;
  bool begun = false;
  for (const std::string& piece : pieces) {
    if (begun && length(line) + 1 + length(piece) > width) {
      lines += line + "\n";
      line = std::string(indent, ' '), begun = false;
    }
    line = shortened(line + (begun ? " " : "") + piece, width);
    begun = true;
  }
  return begun ? lines + line + "\n" : lines;
}

std::string wrapped(const std::string& head, const std::string& text, size_t indent, size_t width) {
  return wrapped(head, words(text), indent, width);
}

struct Column {
  std::string title;
  std::vector<std::string> cells;  // right-aligned, all but the first two columns

  size_t width() const {
    size_t widest = length(title);
    for (const std::string& cell : cells) widest = std::max(widest, length(cell));
    return widest;
  }
};

Column metric_column(const Results& results, const std::vector<const Entry*>& rows, const std::string& metric) {
  std::vector<double> values;
  for (const Entry* row : rows) values.push_back(overall(*row, metric));
  const double best = best_overall(results, metric);
  const int decimals = decimals_for(values);
  Column column{metric + " ", {}};
  for (const double x : values) column.cells.push_back(decimal(x, decimals) + (x == best ? "*" : " "));
  return column;
}

// Ranks, with the rank of the first for those with the same figure.
std::vector<std::string> ranks(const std::vector<const Entry*>& rows, const std::string& metric) {
  std::vector<std::string> ranks;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double x = overall(*rows[i], metric);
    if (i > 0 && x == overall(*rows[i - 1], metric))
      ranks.push_back(ranks.back());
    else
      ranks.push_back(std::isnan(x) ? "-" : fmt::format("{}", i + 1));
  }
  return ranks;
}

std::string table(const std::vector<Column>& columns) {
  const auto line = [&](auto cell) {
    std::string text;
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string part = cell(columns[c]);
      text += (c == 0 ? "" : std::string(kGap, ' ')) +
              (c == 1 ? padded_right(part, columns[c].width()) : padded_left(part, columns[c].width()));
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line([](const Column& column) { return column.title; });
  text += line([](const Column& column) { return std::string(column.width(), '-'); });
  for (size_t row = 0; row < columns.front().cells.size(); ++row)
    text += line([row](const Column& column) { return column.cells[row]; });
  return text;
}

// "stack  ridge 0.62, drift 0.38; none on 3 others", largest first.
std::string weights_line(const Results& results, const Entry& entry, size_t name_width, size_t width) {
  const std::vector<double> weights = mean_weights(entry);
  std::vector<size_t> order;
  for (size_t m = 0; m < std::min(weights.size(), results.member_names.size()); ++m)
    if (weights[m] >= 0.005) order.push_back(m);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  std::vector<std::string> pieces;
  for (const size_t m : order) {
    if (!pieces.empty()) pieces.back() += ",";
    pieces.push_back(fmt::format("{} {:.2f}", results.member_names[m], weights[m]));
  }
  if (const size_t others = weights.size() - order.size(); others > 0 && !pieces.empty()) {
    pieces.back() += ";";
    pieces.push_back(fmt::format("less than 0.01 on {} other{}", others, others == 1 ? "" : "s"));
  }
  return wrapped("  " + padded_right(shortened(entry.name, name_width), name_width) + "  ", pieces, name_width + 4, width);
}

std::string weights_section(const Results& results, size_t width) {
  size_t name_width = 0;
  bool several_folds = false;
  for (const Entry& entry : results.entries)
    if (!mean_weights(entry).empty()) {
      name_width = std::max(name_width, std::min({kLongestName, width / 3, length(entry.name)}));
      several_folds = several_folds || entry.weights.size() > 1;
    }
  if (name_width == 0) return "";
  std::string text = several_folds ? "\nweights (mean over folds)\n" : "\nweights\n";
  for (const Entry& entry : results.entries)
    if (!mean_weights(entry).empty()) text += weights_line(results, entry, name_width, width);
  return text;
}

std::string failures_section(const Results& results, size_t width) {
  std::string text;
  for (const Entry& entry : results.entries)
    if (!entry.failure.empty()) text += wrapped("  ", entry.name + ": " + entry.failure, 4, width);
  return text.empty() ? "" : "\nfailed\n" + text;
}

std::string heading(const Results& results, size_t width) {
  std::string text = wrapped(
      "",
      fmt::format("{}: {} target{}, {} step{} ahead from the last {}, {} fold{}, {} units", results.name, results.targets.size(),
                  results.targets.size() == 1 ? "" : "s", results.horizon, results.horizon == 1 ? "" : "s", results.lookback,
                  results.folds.size(), results.folds.size() == 1 ? "" : "s", results.units),
      2, width);
  return text + wrapped("", results.data, 2, width);
}

}  // namespace

std::string to_text(const Results& results, int width) {
  const auto room = static_cast<size_t>(std::max(width, 40));
  std::vector<const Entry*> rows = ranked(results);
  std::erase_if(rows, [](const Entry* entry) { return !entry->failure.empty(); });

  std::string text = heading(results, room) + "\n";
  std::string unshown;
  if (rows.empty()) {
    text += "no member gave an answer\n";
  } else {
    const std::string first = results.metric_names.empty() ? "" : results.metric_names.front();
    std::vector<Column> columns = {{"#", ranks(rows, first)}, {"name", {}}};
    const size_t longest_name = std::min(kLongestName, room / 3);
    for (const Entry* row : rows)
      columns[1].cells.push_back((row->kind == Entry::Kind::combination ? "+ " : "  ") + shortened(row->name, longest_name));
    size_t used = columns[0].width() + kGap + columns[1].width();
    for (const std::string& metric : results.metric_names) {
      Column column = metric_column(results, rows, metric);
      const size_t needed = kGap + column.width();
      if (used + needed > room) {
        unshown += (unshown.empty() ? "" : ", ") + metric;
        continue;
      }
      used += needed;
      columns.push_back(std::move(column));
    }
    text += table(columns);
    text +=
        "\n" + wrapped("", "+ combination, * best of its column" + (unshown.empty() ? "" : "; no room for " + unshown), 0, room);
  }
  text += weights_section(results, room) + failures_section(results, room);
  if (!results.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : results.notes) text += wrapped("  ", note, 4, room);
  return text;
}

}  // namespace tutti
