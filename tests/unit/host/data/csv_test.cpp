#include "host/data/csv.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <clocale>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "tests/support/skip.h"

namespace tutti {

namespace fs = std::filesystem;

static Table parse(std::string_view text, const TableSchema& schema = {}) {
  auto table = parse_csv(text, "prices.csv", schema);
  INFO((table ? "" : table.error().message));
  REQUIRE(table);
  return *std::move(table);
}

static std::string refusal(std::string_view text, const TableSchema& schema = {}) {
  const auto table = parse_csv(text, "prices.csv", schema);
  return table ? "(accepted)" : table.error().message;
}

static TableSchema with_time(std::vector<std::string> columns = {}, Missing missing = Missing::refuse) {
  return {"date", std::move(columns), missing, ','};
}

TEST_CASE("a small file becomes a table") {
  const Table table = parse("date,open,close\n1970-01-01,1,2.5\n1970-01-02,-3e2,+4\n", with_time());
  CHECK(table.source == "prices.csv");
  CHECK(table.columns == std::vector<std::string>{"open", "close"});
  CHECK(table.has_time);
  CHECK(table.time == std::vector<int64_t>{0, 86400'000'000'000});
  CHECK(table.values == std::vector<double>{1, 2.5, -300, 4});
  CHECK(table.observed.empty());
}

TEST_CASE("columns are read in the order that is asked for, and others need hold no numbers") {
  const Table table = parse("name,a,b\nx,1,2\ny,3,4", {std::nullopt, {"b", "a"}, Missing::refuse, ','});
  CHECK(table.columns == std::vector<std::string>{"b", "a"});
  CHECK(table.values == std::vector<double>{2, 1, 4, 3});
  CHECK(!table.has_time);
  CHECK(table.time == std::vector<int64_t>{0, 1});
}

TEST_CASE("quotes, line ends, a byte-order mark and empty lines at the end are as RFC 4180 and its users have them") {
  const Table plain = parse("a,b c\n1,2\n3,4\n");
  for (const char* text : {"a,b c\r\n1,2\r\n3,4\r\n",
                           "\xEF\xBB\xBF"
                           "a,b c\n1,2\n3,4",
                           "\"a\",\"b c\"\n\"1\",2\n3,\"4\"\n", "a,b c\n1,2\n3,4\n\n\r\n\n", " a , b c\n 1,2 \n3,\t4\n",
                           "\"a\",\"b c\"\r\n\"1\",\"2\"\r\n\"3\",\"4\"\r\n", "\"a\",\"b c\"\n\"1\",\"2\"\n\"3\",\"4\"\r"}) {
    const Table table = parse(text);
    CHECK(table.columns == plain.columns);
    CHECK(table.values == plain.values);
  }
  CHECK(parse("\"say \"\"hi\"\"\",\"two\nlines\",\"\"\"\"\n1,2,3").columns ==
        std::vector<std::string>{"say \"hi\"", "two\nlines", "\""});
  CHECK(parse("a;b\n1;2\n", {std::nullopt, {}, Missing::refuse, ';'}).values == std::vector<double>{1, 2});
  CHECK(parse("a\tb\n1\t2\n", {std::nullopt, {}, Missing::refuse, '\t'}).values == std::vector<double>{1, 2});
}

TEST_CASE("a value carried forward is marked as not observed") {
  const Table table = parse("a,b\n1,2\n,3\nNA,NaN\n4,null\n", {std::nullopt, {}, Missing::forward_fill, ','});
  CHECK(table.values == std::vector<double>{1, 2, 1, 3, 1, 3, 4, 3});
  CHECK(table.observed == std::vector<uint8_t>{1, 1, 0, 1, 0, 0, 1, 0});
  CHECK(parse("a\n1\n2\n", {std::nullopt, {}, Missing::forward_fill, ','}).observed.empty());
}

TEST_CASE("a row that misses a value is left out where that is wished") {
  const Table table =
      parse("date,a,b\n1970-01-01,,1\n1970-01-02,2,3\n1970-01-03,4,na\n1970-01-04,5,6\n", with_time({}, Missing::drop_row));
  CHECK(table.values == std::vector<double>{2, 3, 5, 6});
  CHECK(table.time == std::vector<int64_t>{86400'000'000'000, 3 * 86400'000'000'000});
  CHECK(table.observed.empty());
}

TEST_CASE("an empty line in a file of one column is a missing value") {
  CHECK(parse("a\n1\n\n3\n", {std::nullopt, {}, Missing::forward_fill, ','}).values == std::vector<double>{1, 1, 3});
}

TEST_CASE("an unnamed column does no harm as long as nobody reads it") {
  CHECK(parse(",a,\n0,1,\n1,2,\n", {std::nullopt, {"a"}, Missing::refuse, ','}).values == std::vector<double>{1, 2});
}

TEST_CASE("each bad file is refused with a sentence that says where, what and how to cure it") {
  struct Bad {
    std::string text;
    TableSchema schema;
    std::string sentence;
  };
  const TableSchema plain, time = with_time();
  const auto columns = [](std::vector<std::string> names) {
    return TableSchema{std::nullopt, std::move(names), Missing::refuse, ','};
  };
  const std::vector<Bad> all = {
      {"", plain, "prices.csv: is empty; its first line must name the columns"},
      {"\n\r\n", plain, "prices.csv: is empty; its first line must name the columns"},
      {"a,b\n", plain, "prices.csv: there is a header but no row below it"},
      {"a,close\n1,2\n", columns({"clsoe"}),
       "prices.csv:1: no column \"clsoe\" (did you mean \"close\"?); there are \"a\" and \"close\""},
      {"a,b\n1,2\n", columns({"volume"}), "prices.csv:1: no column \"volume\"; there are \"a\" and \"b\""},
      {"a;b\n1;2\n", columns({"b"}), "prices.csv:1: no column \"b\"; the line isn't divided by \",\"; set separator = \";\""},
      {"a\tb\n1\t2\n", columns({"b"}), "prices.csv:1: no column \"b\"; the line isn't divided by \",\"; set separator = \"\\t\""},
      {"time,a\n1,2\n", time, "prices.csv:1: no column \"date\"; there are \"time\" and \"a\""},
      {"a,b,a\n1,2,3\n", plain, "prices.csv:1: columns 1 and 3 are both named \"a\"; give each a name of its own"},
      {"a,,b\n1,2,3\n", plain, "prices.csv:1: column 2 has no name; give it one, or name the columns to read"},
      {"a,b\n1,2\n", columns({"a", "a"}), "prices.csv:1: column \"a\" is asked for twice"},
      {"date,a\n1,2\n", with_time({"a", "date"}),
       "prices.csv:1: column \"date\" is the time; it can't be a feature or a target too"},
      {"date\n1\n", time, "prices.csv:1: there is no column besides the time \"date\""},
      {"a,b\n1,2\n3\n", plain, "prices.csv:3: this row has 1 fields and the header 2"},
      {"a,b\n1,2\n3,4,5\n", plain, "prices.csv:3: this row has 3 fields and the header 2"},
      {"a,b\n1,2\n\n3,4\n", plain, "prices.csv:3: an empty line between rows; take it out"},
      {"a,b\n1,2\n3,\n", plain, "prices.csv:3: column \"b\" is empty; fill it, or set missing = \"forward-fill\""},
      {"a,b\n1,2\n3,  \n", plain, "prices.csv:3: column \"b\" is empty; fill it, or set missing = \"forward-fill\""},
      {"a,b\n1,NaN\n", plain, "prices.csv:2: column \"b\" is missing (\"NaN\"); fill it, or set missing = \"forward-fill\""},
      {"a,b\n1,\n",
       {std::nullopt, {}, Missing::forward_fill, ','},
       "prices.csv:2: column \"b\" is empty and no row before it holds a value to carry forward; fill it, or set missing = "
       "\"drop-row\""},
      {"a,b\n1,\n,2\n",
       {std::nullopt, {}, Missing::drop_row, ','},
       "prices.csv: each of the 2 rows misses a value, so none is left; set missing = \"forward-fill\""},
      {"a,b\n1,high\n", plain, "prices.csv:2: column \"b\" holds \"high\", which is no number"},
      {"a,b\n1,2x\n", plain, "prices.csv:2: column \"b\" holds \"2x\", which is no number"},
      {"a,b\n1,0x10\n", plain, "prices.csv:2: column \"b\" holds \"0x10\", which is no number"},
      {"a,b\n1,+-2\n", plain, "prices.csv:2: column \"b\" holds \"+-2\", which is no number"},
      {"a,b\n1,+\n", plain, "prices.csv:2: column \"b\" holds \"+\", which is no number"},
      {"a,b\n1,\"2,5\"\n", plain,
       "prices.csv:2: column \"b\" holds \"2,5\", which is no number; write it with a decimal point and without thousands "
       "separators"},
      {"a,b\n1,inf\n", plain, "prices.csv:2: column \"b\" holds \"inf\"; numbers must be finite"},
      {"a,b\n1,-Infinity\n", plain, "prices.csv:2: column \"b\" holds \"-Infinity\"; numbers must be finite"},
      {"a,b\n1,1e999\n", plain, "prices.csv:2: column \"b\" holds \"1e999\", which is beyond the range of a double"},
      {"a,b\n1,number01234567890123456789012345678901234567891234\n", plain, "prices.csv:2: column \"b\" holds \"number0123456789012345678901234567890123...\", which is no number"},
      {"a,b\n\"1\n", plain, "prices.csv:2: the quote opened here is never closed"},
      {"a,b\n\"1\"x,2\n", plain,
       "prices.csv:2: text follows the closing quote of field 1; a quote inside quotes is written twice"},
      {std::string("a,b\n1,\0 2\n", 10), plain, "prices.csv:2: a zero byte; is this a CSV file? It must be saved as UTF-8 text"},
      {"date,a\n2024-13-01,1\n", time,
       "prices.csv:2: column \"date\" holds \"2024-13-01\", which is no date or time; write 2024-02-29, 2024-02-29T09:30:00Z or "
       "seconds since 1970"},
      {"date,a\n,1\n", time, "prices.csv:2: column \"date\" is empty; each row needs its time"},
      {"date,a\n2020-01-05,1\n2020-01-02,1\n", time,
       "prices.csv:3: column \"date\" goes back to 2020-01-02 after 2020-01-05 in line 2; sort the rows by time"},
      {"date,a\n2020-01-05,1\n2020-01-05,1\n", time,
       "prices.csv:3: column \"date\" holds 2020-01-05 a second time, after 2020-01-05 in line 2; keep one row for each time"},
      {"\"a\nb\",c\n1,2\n3,x\n", plain, "prices.csv:4: column \"c\" holds \"x\", which is no number"},
  };
  for (const Bad& bad : all) CHECK(refusal(bad.text, bad.schema) == bad.sentence);
}

TEST_CASE("a file that isn't there and a folder are refused by name") {
  const auto missing = read_csv("/nowhere/prices.csv", {});
  REQUIRE(!missing);
  CHECK(missing.error().message == "/nowhere/prices.csv: there is no such file");
  const auto folder = read_csv("/tmp", {});
  REQUIRE(!folder);
  CHECK(folder.error().message == "/tmp: is a folder; a CSV file is needed");
}

TEST_CASE("numbers have a decimal point whatever the locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* comma : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) std::setlocale(LC_ALL, comma);
  CHECK(parse("a\n1.5\n").values == std::vector<double>{1.5});
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("numbers written with all their digits are read back to the last bit") {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::string text = "a\n";
  std::vector<double> written;
  for (int i = 0; i < 2000; ++i) {
    written.push_back(std::ldexp(normal(random), i % 200 - 100));
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g\n", written.back());
    text += digits;
  }
  CHECK(parse(text).values == written);
}

TEST_CASE("no cut of a good file crashes the reader") {
  const std::string text = "date,\"a \"\"b\"\"\"\r\n2020-01-01,\"1\"\r\n2020-01-02,NA\r\n";
  for (size_t cut = 0; cut <= text.size(); ++cut)
    for (Missing missing : {Missing::refuse, Missing::forward_fill, Missing::drop_row}) {
      const auto table = parse_csv(std::string_view(text).substr(0, cut), "cut.csv", with_time({}, missing));
      if (table)
        CHECK(table->values.size() == table->time.size() * table->columns.size());
      else
        CHECK(table.error().message.starts_with("cut.csv:"));
    }
}

TEST_CASE("ten megabytes are read in well under a second") {
  std::string text = "date,a,b,c,d,e,f,g\n";
  for (int64_t row = 0; text.size() < 10'000'000; ++row) {
    text += std::to_string(1'500'000'000 + row * 900);
    for (int column = 0; column < 7; ++column) text += ",5.8270001411437" + std::to_string((row * 7 + column) % 1000);
    text += '\n';
  }
  const auto start = std::chrono::steady_clock::now();
  const Table table = parse(text, with_time());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(table.rows() > 50'000);
  CHECK(seconds < 5);  // 0.15 s at -O1; room for sanitizers and for a loaded machine
  std::cout << "10 MB of CSV: " << seconds << " s\n";
}

TEST_CASE("ETTh1 is read whole") {
  const fs::path path = fs::path(TUTTI_SOURCE_DIR) / "../shared/data/ETTh1.csv";
  if (!fs::exists(path)) {
    tutti::testing::skip(path.string() + " is not there");
    return;
  }
  const auto table = read_csv(path, with_time());
  REQUIRE(table);
  CHECK(table->rows() == 17420);
  CHECK(table->columns == std::vector<std::string>{"HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"});
  CHECK(table->median_step() == 3600'000'000'000);
  CHECK(table->at(0, 6) == 30.5310001373291);
}

}  // namespace tutti
