#include <catch2/catch.hpp>
#include <regex>

#include "tests/unit/host/report/made_results.h"

using namespace tutti;

namespace {

bool has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

// Opened elements that are closed in the wrong order, or never; "" where all is well.
std::string first_unbalanced(const std::string& page) {
  static const std::vector<std::string> kVoid = {"meta", "!doctype"};
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    const bool closes = page[at + 1] == '/', is_whole = page[end - 1] == '/';
    const size_t start = at + (closes ? 2 : 1);
    const std::string name = page.substr(start, page.find_first_of(" />\n", start) - start);
    if (closes) {
      if (open.empty() || open.back() != name) return name;
      open.pop_back();
    } else if (!is_whole && std::find(kVoid.begin(), kVoid.end(), name) == kVoid.end()) {
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, at) - 1;
    }
  }
  return open.empty() ? "" : open.back();
}

}  // namespace

TEST_CASE("a report has every section, each reachable from the top") {
  const std::string page = to_html(made_results());
  for (const char* id : {"leaderboard", "folds", "weights", "steps", "curves", "samples", "appendix"}) {
    CHECK(has(page, std::string("<section id=\"") + id + "\""));
    CHECK(has(page, std::string("<a href=\"#") + id + "\">"));
  }
  CHECK(has(page, "<title>treasury - Tutti report</title>"));
  CHECK(has(page, "<html lang=\"en\">"));
}

TEST_CASE("every element of a report is closed in its place") {
  CHECK(first_unbalanced(to_html(made_results())) == "");
  CHECK(first_unbalanced(to_html({})) == "");
}

TEST_CASE("a report asks for nothing from outside") {
  const std::string page = to_html(made_results());
  CHECK(!std::regex_search(page, std::regex("(src|href)=\"[^#]")));
  CHECK(!has(page, "http://"));
  CHECK(!has(page, "https://"));
  CHECK(!has(page, "url("));
  CHECK(!has(page, "@import"));
  CHECK(has(page, "default-src 'none'"));
}

TEST_CASE("no text of results gets into the page unescaped") {
  const std::string evil = "<img src=x onerror=alert(1)>\"'&";
  Results results = made_results();
  results.name = results.data = results.units = results.experiment_text = results.tutti_version = evil;
  results.targets = results.notes = {evil};
  results.member_names = {evil, "mamba2"};
  results.entries[0].name = results.curves[0].member = results.curves[1].member = evil;
  results.entries[0].plugin = results.entries[2].failure = evil;
  results.metric_names.push_back(evil);
  results.metric_meanings[evil] = {evil, true};
  results.entries[0].overall[evil] = 1;
  results.folds[0] = {evil, evil, evil};
  results.samples[0].title = evil;
  results.samples[0].forecast = {{evil, {1, 2, 3}}};
  const std::string page = to_html(results);
  CHECK(!has(page, "<img"));
  CHECK(!has(page, "x onerror=alert(1)>"));
  CHECK(has(page, "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));
  CHECK(first_unbalanced(page) == "");
}

TEST_CASE("tables can be read aloud: every heading has a scope, every picture a description") {
  const std::string page = to_html(made_results());
  CHECK(!has(page, "<th>"));
  CHECK(!std::regex_search(page, std::regex("<th (?!scope=)")));
  for (size_t at = page.find("<svg viewBox"); at != std::string::npos; at = page.find("<svg viewBox", at + 1))
    CHECK(page.substr(at, page.find('>', at) - at).find("role=\"img\" aria-label=\"") != std::string::npos);
}

TEST_CASE("the best figure of a column is marked, a failure shows its reason") {
  const std::string page = to_html(made_results());
  CHECK(has(page, "<td data-v=\"0.0812\" class=\"best\">0.08120"));
  CHECK(has(page, "<td data-v=\"0.5325\" class=\"best\">0.5325"));
  CHECK(has(page, "gave no answer to batch 3 within 60 s; its process was ended"));
}

TEST_CASE("the head says how much the best combination gains") {
  CHECK(has(to_html(made_results()), "mae 0.08120, 2.3 % better than the best member"));
}

TEST_CASE("sections without content are left out") {
  Results results = made_results();
  results.curves.clear(), results.samples.clear();
  for (Entry& entry : results.entries) entry.weights.clear();
  const std::string page = to_html(results);
  for (const char* id : {"weights", "curves", "samples"}) CHECK(!has(page, std::string("id=\"") + id + "\""));
}

TEST_CASE("the same results give the same page") { CHECK(to_html(made_results()) == to_html(made_results())); }
