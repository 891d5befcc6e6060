// Columns of numbers on a time index: what every file becomes, and all that the rest of the host knows of data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti {

struct Table {
  std::string source;                // the file, for messages
  std::vector<std::string> columns;  // names, in the order of values
  std::vector<int64_t> time;         // [rows] rising; nanoseconds since 1970-01-01 UTC, or 0, 1, 2 … without a time column
  bool has_time = false;
  std::vector<double> values;     // [rows, columns]; never NaN: what was missing is filled in
  std::vector<uint8_t> observed;  // [rows, columns]; 0 where values holds a filled-in number; empty where nothing was missing

  int64_t rows() const { return static_cast<int64_t>(time.size()); }
  int64_t width() const { return static_cast<int64_t>(columns.size()); }
  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * width() + column)]; }
  bool is_observed(int64_t row, int64_t column) const {
    return observed.empty() || observed[static_cast<size_t>(row * width() + column)] != 0;
  }
  std::optional<int64_t> find(const std::string& column) const;

  // The median of the differences of time, at least 1: the unit of the batch's elapsed.
  int64_t median_step() const;
};

}  // namespace tutti
