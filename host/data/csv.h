// Reads a CSV file (RFC 4180: quoted fields, doubled quotes, line ends \n or \r\n, byte-order mark) into a Table.
// The first line is the header; empty lines at the end are passed over. Numbers have a decimal point whatever the locale,
// and are finite. Only columns that are read need hold numbers. Errors name file:line and column:
// prices.csv:214: column "close" is empty; fill it, or set missing = "forward-fill".
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/data/table.h"
#include "shared/result.h"

namespace tutti {

enum class Missing {
  refuse,        // an empty field, NA, NaN or null (in any case of letters) is an error
  forward_fill,  // the last value before is carried forward and marked as not observed; a first row without one is an error
  drop_row,      // the row is left out
};

struct TableSchema {
  std::optional<std::string> time;   // the time column; without one, rows are counted
  std::vector<std::string> columns;  // those to read, in this order; empty: all but the time column
  Missing missing = Missing::refuse;
  char separator = ',';
};

// Time must rise strictly; an unsorted or doubled time is an error that names the line.
Result<Table> read_csv(const std::filesystem::path& path, const TableSchema& schema);

// The same from memory; source stands for the file in messages.
Result<Table> parse_csv(std::string_view text, const std::string& source, const TableSchema& schema);

}  // namespace tutti
