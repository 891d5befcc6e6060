#include "host/data/csv.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>

#include "host/data/timestamp.h"
#include "host/text/spelling.h"

namespace tutti {
namespace {

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 40;
  return '"' + (text.size() > kLongest ? std::string(text.substr(0, kLongest)) + "..." : std::string(text)) + '"';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The records of a CSV text, one after another, each with the line that it begins on.
class Records {
 public:
  Records(std::string_view text, const std::string& source, char separator)
      : rest_(text), source_(source), separator_(separator) {}

  bool done() const { return rest_.empty(); }
  int64_t line() const { return line_; }
  const std::vector<std::string_view>& fields() const { return fields_; }
  bool blank() const { return fields_.size() == 1 && fields_[0].empty(); }

  // Where the record stands, for a message.
  std::string place() const { return source_ + ":" + std::to_string(line_) + ": "; }

  // Reads the next record. Its fields live until the next call.
  Result<void> next() {
    line_ = next_line_;
    fields_.clear();
    unquoted_.clear();
    for (bool more = true; more;) TUTTI_CHECK(rest_.starts_with('"') ? quoted_field(more) : plain_field(more));
    return {};
  }

 private:
  Result<void> plain_field(bool& more) {
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != separator_ && rest_[end] != '\n') ++end;
    std::string_view field = rest_.substr(0, end);
    more = step_over(end);
    if (!more && field.ends_with('\r')) field.remove_suffix(1);
    fields_.push_back(field);
    return {};
  }

  Result<void> quoted_field(bool& more) {
    bool doubled = false;
    size_t end = rest_.find('"', 1);
    for (; end != rest_.npos && rest_.substr(end + 1).starts_with('"'); end = rest_.find('"', end + 2)) doubled = true;
    if (end == rest_.npos)
      return bad_input(source_ + ":" + std::to_string(next_line_) + ": the quote opened here is never closed");

    const std::string_view inside = rest_.substr(1, end - 1);
    next_line_ += std::count(inside.begin(), inside.end(), '\n');
    fields_.push_back(doubled ? without_doubled_quotes(inside) : inside);

    ++end;
    if (rest_.substr(end).starts_with("\r\n") || rest_.substr(end) == "\r") ++end;
    if (end < rest_.size() && rest_[end] != separator_ && rest_[end] != '\n')
      return bad_input(place() + "text follows the closing quote of field " + std::to_string(fields_.size()) +
                       "; a quote inside quotes is written twice");
    more = step_over(end);
    return {};
  }

  // Takes off a field and what ends it. True where that is a separator, so that a field must follow.
  bool step_over(size_t length) {
    const bool more = length < rest_.size() && rest_[length] == separator_;
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    next_line_ += !more;
    return more;
  }

  std::string_view without_doubled_quotes(std::string_view inside) {
    std::string& text = unquoted_.emplace_back();
    for (size_t i = 0; i < inside.size(); ++i) {
      text.push_back(inside[i]);
      if (inside[i] == '"') ++i;
    }
    return text;
  }

  std::string_view rest_;
  const std::string& source_;
  char separator_;
  int64_t line_ = 0, next_line_ = 1;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // a deque, since fields_ points into it
};

// Which field of a record holds what.
struct Positions {
  std::optional<size_t> time;
  std::vector<size_t> columns;
};

class Header {
 public:
  Header(const Records& header, const TableSchema& schema) : place_(header.place()), schema_(schema) {
    for (std::string_view field : header.fields()) names_.emplace_back(trimmed(field));
  }

  size_t size() const { return names_.size(); }
  const std::string& name(size_t position) const { return names_[position]; }

  Result<Positions> find() const {
    TUTTI_CHECK(check_doubled());
    Positions found;
    if (schema_.time) {
      TUTTI_TRY(found.time, position(*schema_.time));
    }
    for (const std::string& name : schema_.columns) {
      TUTTI_TRY(const size_t at, position(name));
      if (at == found.time)
        return bad_input(place_ + "column " + in_quotes(name) + " is the time; it can't be a feature or a target too");
      if (std::count(found.columns.begin(), found.columns.end(), at))
        return bad_input(place_ + "column " + in_quotes(name) + " is asked for twice");
      found.columns.push_back(at);
    }
    if (!schema_.columns.empty()) return found;

    for (size_t i = 0; i < names_.size(); ++i)
      if (i != found.time) {
        if (names_[i].empty())
          return bad_input(place_ + "column " + std::to_string(i + 1) + " has no name; give it one, or name the columns to read");
        found.columns.push_back(i);
      }
    if (found.columns.empty()) return bad_input(place_ + "there is no column besides the time " + in_quotes(*schema_.time));
    return found;
  }

 private:
  Result<void> check_doubled() const {
    for (size_t i = 0; i < names_.size(); ++i) {
      const size_t first = static_cast<size_t>(std::find(names_.begin(), names_.end(), names_[i]) - names_.begin());
      if (first < i && !names_[i].empty())
        return bad_input(place_ + "columns " + std::to_string(first + 1) + " and " + std::to_string(i + 1) + " are both named " +
                         in_quotes(names_[i]) + "; give each a name of its own");
    }
    return {};
  }

  Result<size_t> position(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
    return bad_input(place_ + "no column " + in_quotes(name) + did_you_mean(name, names_) + "; " + what_there_is());
  }

  std::string what_there_is() const {
    for (const char* other : {",", ";", "\t", "|"})
      if (names_.size() == 1 && names_[0].find(other) != std::string::npos)
        return std::string("the line isn't divided by ") + in_quotes(std::string_view(&schema_.separator, 1)) +
               "; set separator = " + in_quotes(*other == '\t' ? "\\t" : other);
    constexpr size_t kMost = 20;
    if (names_.size() <= kMost) return "there " + std::string(names_.size() == 1 ? "is " : "are ") + list_of(names_);
    return "there are " + std::to_string(names_.size()) + " columns, the first " +
           list_of({names_.begin(), names_.begin() + kMost});
  }

  std::string place_;
  const TableSchema& schema_;
  std::vector<std::string> names_;
};

bool means_missing(std::string_view field) {
  if (field.size() > 4) return false;
  std::string lower(field);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  return lower.empty() || lower == "na" || lower == "nan" || lower == "null";
}

// What a field holds: a number, nothing, or something wrong, which problem then says.
struct Reading {
  enum { number, missing, wrong } kind;
  double value = 0;
  std::string problem;
};

Reading read_number(std::string_view field) {
  field = trimmed(field);
  std::string_view digits = field;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size() && !digits.empty() && !(field[0] == '+' && digits[0] == '-');
  if (whole && error == std::errc() && std::isfinite(value)) return {Reading::number, value, {}};
  if (means_missing(field)) return {Reading::missing, 0, {}};
  if (whole && error == std::errc::result_out_of_range)
    return {Reading::wrong, 0, "holds " + in_quotes(field) + ", which is beyond the range of a double"};
  if (whole && error == std::errc()) return {Reading::wrong, 0, "holds " + in_quotes(field) + "; numbers must be finite"};
  const bool comma = field.find(',') != field.npos && field.find_first_not_of("0123456789+-.,' ") == field.npos;
  return {Reading::wrong, 0,
          "holds " + in_quotes(field) + ", which is no number" +
              (comma ? "; write it with a decimal point and without thousands separators" : "")};
}

// Builds a Table row by row.
class TableBuilder {
 public:
  TableBuilder(const std::string& source, const Header& header, const Positions& positions, const TableSchema& schema)
      : header_(header), positions_(positions), schema_(schema) {
    table_.source = source;
    table_.has_time = positions.time.has_value();
    for (size_t at : positions.columns) table_.columns.push_back(header.name(at));
  }

  Result<void> add(const Records& record) {
    ++seen_;
    int64_t time = table_.rows();
    if (positions_.time) {
      TUTTI_TRY(time, read_time(record));
    }
    const size_t before = table_.values.size();
    for (size_t at : positions_.columns) {
      const Reading reading = read_number(record.fields()[at]);
      if (reading.kind == Reading::wrong) return bad_input(column(record, at) + reading.problem);
      if (reading.kind == Reading::missing && schema_.missing == Missing::drop_row) return drop(before);
      if (reading.kind == Reading::missing) TUTTI_CHECK(fill(record, at));
      if (reading.kind == Reading::number) push(reading.value, 1);
    }
    table_.time.push_back(time);
    return {};
  }

  Result<Table> finish() {
    if (seen_ == 0) return bad_input(table_.source + ": there is a header but no row below it");
    if (table_.rows() == 0)
      return bad_input(table_.source + ": each of the " + std::to_string(seen_) +
                       " rows misses a value, so none is left; set missing = \"forward-fill\"");
    if (!any_missing_) table_.observed.clear();
    return std::move(table_);
  }

 private:
  std::string column(const Records& record, size_t at) const {
    return record.place() + "column " + in_quotes(header_.name(at)) + " ";
  }

  void push(double value, uint8_t observed) {
    table_.values.push_back(value);
    table_.observed.push_back(observed);
    any_missing_ |= !observed;
  }

  Result<void> drop(size_t before) {
    table_.values.resize(before);
    table_.observed.resize(before);
    return {};
  }

  Result<void> fill(const Records& record, size_t at) {
    const std::string_view field = trimmed(record.fields()[at]);
    const std::string what = column(record, at) + (field.empty() ? "is empty" : "is missing (" + in_quotes(field) + ")");
    if (schema_.missing == Missing::refuse) return bad_input(what + "; fill it, or set missing = \"forward-fill\"");
    const size_t width = positions_.columns.size();
    if (table_.rows() == 0)
      return bad_input(what + " and no row before it holds a value to carry forward; fill it, or set missing = \"drop-row\"");
    push(table_.values[table_.values.size() - width], 0);
    return {};
  }

  Result<int64_t> read_time(const Records& record) {
    const std::string_view field = trimmed(record.fields()[*positions_.time]);
    const auto time = parse_timestamp(field);
    if (!time && field.empty()) return bad_input(column(record, *positions_.time) + "is empty; each row needs its time");
    if (!time)
      return bad_input(column(record, *positions_.time) + "holds " + in_quotes(field) +
                       ", which is no date or time; write 2024-02-29, 2024-02-29T09:30:00Z or seconds since 1970");
    const std::string before = last_line_ ? " in line " + std::to_string(last_line_) : "";
    if (last_line_ && *time == last_time_)
      return bad_input(column(record, *positions_.time) + "holds " + format_timestamp(*time) + " a second time, after " +
                       format_timestamp(last_time_) + before + "; keep one row for each time");
    if (last_line_ && *time < last_time_)
      return bad_input(column(record, *positions_.time) + "goes back to " + format_timestamp(*time) + " after " +
                       format_timestamp(last_time_) + before + "; sort the rows by time");
    last_time_ = *time, last_line_ = record.line();
    return *time;
  }

  Table table_;
  const Header& header_;
  const Positions& positions_;
  const TableSchema& schema_;
  bool any_missing_ = false;
  int64_t seen_ = 0, last_time_ = 0, last_line_ = 0;
};

Result<void> check_bytes(std::string_view text, const std::string& source) {
  const size_t zero = text.find('\0');
  if (zero == text.npos) return {};
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
  return bad_input(source + ":" + std::to_string(line) + ": a zero byte; is this a CSV file? It must be saved as UTF-8 text");
}

}  // namespace

Result<Table> parse_csv(std::string_view text, const std::string& source, const TableSchema& schema) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TUTTI_CHECK(check_bytes(text, source));
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return bad_input(source + ": is empty; its first line must name the columns");

  Records records(text, source, schema.separator);
  TUTTI_CHECK(records.next());
  const Header header(records, schema);
  TUTTI_TRY(const Positions positions, header.find());

  TableBuilder builder(source, header, positions, schema);
  while (!records.done()) {
    TUTTI_CHECK(records.next());
    if (records.blank() && header.size() > 1) return bad_input(records.place() + "an empty line between rows; take it out");
    if (records.fields().size() != header.size())
      return bad_input(records.place() + "this row has " + std::to_string(records.fields().size()) + " fields and the header " +
                       std::to_string(header.size()));
    TUTTI_CHECK(builder.add(records));
  }
  return builder.finish();
}

Result<Table> read_csv(const std::filesystem::path& path, const TableSchema& schema) {
  const std::string source = path.string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return bad_input(source + ": there is no such file");
  if (std::filesystem::is_directory(path, ignored)) return bad_input(source + ": is a folder; a CSV file is needed");

  std::ifstream file(path, std::ios::binary);
  if (!file) return bad_input(source + ": can't be read (" + std::strerror(errno) + ")");
  std::string text;
  if (std::filesystem::is_regular_file(path, ignored)) {
    text.resize(static_cast<size_t>(std::filesystem::file_size(path, ignored)));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file) return failed(source + ": can't be read to its end");
  } else if (std::filesystem::is_fifo(path, ignored)) {
    text.assign(std::istreambuf_iterator<char>(file), {});
  } else {
    return bad_input(source + ": is no file; a CSV file is needed");
  }
  return parse_csv(text, source, schema);
}

}  // namespace tutti
