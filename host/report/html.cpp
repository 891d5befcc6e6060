#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "host/report/charts.h"
#include "host/report/escape.h"
#include "host/report/html_assets.h"
#include "host/report/numerals.h"
#include "host/report/results.h"

namespace tutti {
namespace {

constexpr int kMembersInSample = 3, kCombinationsInSample = 2;

using Entries = std::vector<const Entry*>;

// An entry has one colour throughout the report: members first, since weights tell them apart by it, the best ones before
// the others; grey where colours run out.
using Colours = std::map<std::string, std::string>;

Colours colours(const Entries& order) {
  Colours colours;
  for (const Entry::Kind kind : {Entry::Kind::member, Entry::Kind::combination})
    for (const Entry* entry : order)
      if (entry->kind == kind) colours[entry->name] = colours.size() < kColours ? fmt::format("c{}", colours.size()) : "rest";
  return colours;
}

std::string colour_of(const Colours& colours, const std::string& name) {
  const auto found = colours.find(name);
  return found == colours.end() ? "rest" : found->second;
}

std::string plural(int64_t n, const std::string& noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

bool is_combination(const Entry& entry) { return entry.kind == Entry::Kind::combination; }

std::string line_style(const Colours& colours, const Entry& entry) {
  return colour_of(colours, entry.name) + (is_combination(entry) ? " dashed" : "");
}

std::string swatch(const std::string& style) {
  return fmt::format("<span class=\"swatch {}\" aria-hidden=\"true\"></span>", style);
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& names_and_styles) {
  std::string items;
  for (const auto& [name, style] : names_and_styles) items += fmt::format("<li>{}{}</li>", swatch(style), escape(name));
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", id,
                     title, body);
}

std::string hint(const std::string& text) { return "<p class=\"hint\">" + escape(text) + "</p>\n"; }

std::string scrollable(const std::string& label, const std::string& table) {
  return fmt::format("<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">\n{}</div>\n", escape(label), table);
}

std::string figure(const std::string& title, const std::string& svg) {
  return "<figure>" + (title.empty() ? "" : "<figcaption><h3>" + escape(title) + "</h3></figcaption>") + svg + "</figure>\n";
}

// A number's cell: data-v is what its column is sorted by.
std::string number_cell(double x, int decimals, bool best) {
  const std::string key = std::isfinite(x) ? fmt::format("{}", x) : "";
  return fmt::format("<td data-v=\"{}\"{}>{}{}</td>", key, best ? " class=\"best\"" : "", decimal(x, decimals),
                     best ? "<span class=\"unseen\"> (best)</span>" : "");
}

std::string count_cell(double x, const std::string& text) {
  return text.empty() ? "<td data-v=\"\"><span class=\"low\">-</span></td>" : fmt::format("<td data-v=\"{}\">{}</td>", x, text);
}

std::vector<double> column(const Entries& rows, const std::string& metric) {
  std::vector<double> values;
  for (const Entry* row : rows)
    if (row->failure.empty()) values.push_back(overall(*row, metric));
  return values;
}

std::string metric_title(const Results& results, const std::string& metric) {
  const auto meaning = results.metric_meanings.find(metric);
  return meaning == results.metric_meanings.end() ? "" : " title=\"" + escape(meaning->second.definition) + "\"";
}

// How much better a is than b, in percent of b: "3.1 % better", "0.4 % worse".
std::string compared(double a, double b, bool lower_is_better) {
  if (!(b != 0) || !std::isfinite(a / b)) return "";
  const double gain = 100 * (lower_is_better ? b - a : a - b) / std::abs(b);
  return std::abs(gain) < 0.05 ? "as good" : fmt::format("{:.1f} % {}", std::abs(gain), gain > 0 ? "better" : "worse");
}

std::string cards(const Results& results, const Entries& order) {
  const auto card = [](const std::string& term, const std::string& value, const std::string& more) {
    return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", escape(term), escape(value),
                       more.empty() ? "" : "<small>" + escape(more) + "</small>");
  };
  if (order.empty() || results.metric_names.empty()) return "";
  const std::string& metric = results.metric_names.front();
  const auto meaning = results.metric_meanings.find(metric);
  const bool lower = meaning == results.metric_meanings.end() || meaning->second.lower_is_better;
  const int decimals = decimals_for(column(order, metric));
  const auto first = [&](auto is_wanted) -> const Entry* {
    for (const Entry* entry : order)
      if (entry->failure.empty() && !std::isnan(overall(*entry, metric)) && is_wanted(*entry)) return entry;
    return nullptr;
  };
  const Entry* member = first([](const Entry& entry) { return !is_combination(entry); });
  const Entry* combination = first(is_combination);

  std::string text;
  if (member) text += card("Best member", member->name, metric + " " + decimal(overall(*member, metric), decimals));
  if (combination) {
    const double x = overall(*combination, metric);
    const std::string than = member ? compared(x, overall(*member, metric), lower) : "";
    text += card("Best combination", combination->name,
                 metric + " " + decimal(x, decimals) +
                     (than.empty() ? "" : ", " + than + (than == "as good" ? " as the best member" : " than the best member")));
  }
  const auto failed = std::count_if(order.begin(), order.end(), [](const Entry* entry) { return !entry->failure.empty(); });
  text += card("Task", plural(results.horizon, "step") + " ahead", "from the last " + plural(results.lookback, "row"));
  text +=
      card("Members", plural(static_cast<int64_t>(results.member_names.size()), "member"),
           plural(static_cast<int64_t>(results.folds.size()), "fold") + (failed > 0 ? fmt::format(", {} failed", failed) : ""));
  return "<dl class=\"cards\">\n" + text + "</dl>\n";
}

std::string leaderboard_row(const Results& results, const Entries& order, const Colours& colours, size_t row) {
  const Entry& entry = *order[row];
  const bool failed = !entry.failure.empty();
  std::string text = fmt::format("<tr{}><td data-v=\"{}\">{}</td>", failed ? " data-failed=\"1\"" : "", row + 1,
                                 failed ? "-" : std::to_string(row + 1));
  text += fmt::format("<th scope=\"row\" data-v=\"{0}\">{1}{0}</th>", escape(entry.name), swatch(line_style(colours, entry)));
  const char* kind = is_combination(entry) ? "combination" : "member";
  text += fmt::format("<td class=\"left\" data-v=\"{0}\"><span class=\"badge {0}\">{0}</span></td>", kind);
  const size_t figures = results.metric_names.size() + 4;
  if (failed)
    return text + fmt::format("<td class=\"failure\" colspan=\"{}\"><span class=\"badge bad\">failed</span> {}</td></tr>\n",
                              figures, escape(entry.failure));

  for (const std::string& metric : results.metric_names) {
    const double x = overall(entry, metric);
    text += number_cell(x, decimals_for(column(order, metric)), x == best_overall(results, metric));
  }
  const std::string first = results.metric_names.empty() ? "" : results.metric_names.front();
  const auto valid = entry.valid.find(first);
  const double at_valid = valid == entry.valid.end() ? std::numeric_limits<double>::quiet_NaN() : valid->second;
  text += number_cell(at_valid, decimals_for(column(order, first)), false);
  text += count_cell(static_cast<double>(entry.parameters), is_combination(entry) ? "" : count(entry.parameters));
  text += count_cell(entry.train_seconds, is_combination(entry) ? "" : duration(entry.train_seconds));
  text += count_cell(entry.predict_seconds, is_combination(entry) ? "" : duration(entry.predict_seconds));
  return text + "</tr>\n";
}

std::string leaderboard(const Results& results, const Entries& order, const Colours& colours) {
  const auto head = [](const std::string& name, const std::string& attributes) {
    return fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>", attributes, escape(name));
  };
  std::string table =
      "<table class=\"sortable\">\n<caption class=\"unseen\">Figures of members and combinations</caption>\n<thead><tr>";
  table += head("#", " aria-sort=\"ascending\"") + head("Name", " class=\"left\"") + head("Kind", " class=\"left\"");
  for (const std::string& metric : results.metric_names) table += head(metric, metric_title(results, metric));
  table += head((results.metric_names.empty() ? "" : results.metric_names.front()) + " (valid)",
                " title=\"on the validation windows, from which weights are learned\"");
  table += head("Parameters", "") + head("Training", "") + head("Prediction", "") + "</tr></thead>\n<tbody>\n";
  for (size_t row = 0; row < order.size(); ++row) table += leaderboard_row(results, order, colours, row);
  std::string text =
      hint("Over all folds, in " + results.units + " units. Shaded: best of its column. A heading sorts by its column.");
  text += scrollable("Leaderboard", table + "</tbody></table>\n");
  if (!results.notes.empty()) {
    text += "<ul class=\"notes\">\n";
    for (const std::string& note : results.notes) text += "<li>" + escape(note) + "</li>\n";
    text += "</ul>\n";
  }
  return section("leaderboard", "Leaderboard", text);
}

std::string fold_table(const Results& results, const Entries& order, const std::string& metric) {
  const auto lookup = [&](const Entry& entry, size_t fold) {
    if (fold >= entry.folds.size()) return std::numeric_limits<double>::quiet_NaN();
    const auto found = entry.folds[fold].find(metric);
    return found == entry.folds[fold].end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  };
  const auto meaning = results.metric_meanings.find(metric);
  const bool lower = meaning == results.metric_meanings.end() || meaning->second.lower_is_better;
  std::vector<double> all, best(results.folds.size(), std::numeric_limits<double>::quiet_NaN());
  for (const Entry* entry : order)
    for (size_t fold = 0; fold < best.size(); ++fold) {
      const double x = lookup(*entry, fold);
      all.push_back(x);
      if (!std::isnan(x) && (std::isnan(best[fold]) || (lower ? x < best[fold] : x > best[fold]))) best[fold] = x;
    }

  std::string table = "<table>\n<thead><tr><th scope=\"col\" class=\"left\">Name</th>";
  for (size_t fold = 0; fold < best.size(); ++fold) table += fmt::format("<th scope=\"col\">Fold {}</th>", fold + 1);
  table += "</tr></thead>\n<tbody>\n";
  for (const Entry* entry : order) {
    if (!entry->failure.empty()) continue;
    table += "<tr><th scope=\"row\">" + escape(entry->name) + "</th>";
    for (size_t fold = 0; fold < best.size(); ++fold) {
      const double x = lookup(*entry, fold);
      table += number_cell(x, decimals_for(all), x == best[fold]);
    }
    table += "</tr>\n";
  }
  return scrollable(metric + " by fold", table + "</tbody></table>\n");
}

std::string folds(const Results& results, const Entries& order) {
  std::string spans =
      "<table>\n<thead><tr><th scope=\"col\" class=\"left\">Fold</th><th scope=\"col\" class=\"left\">Training</th>"
      "<th scope=\"col\" class=\"left\">Validation</th><th scope=\"col\" class=\"left\">Test</th></tr></thead>\n<tbody>\n";
  for (size_t fold = 0; fold < results.folds.size(); ++fold) {
    const FoldSummary& rows = results.folds[fold];
    spans += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"left wide\">{}</td><td class=\"left wide\">{}</td>"
        "<td class=\"left wide\">{}</td></tr>\n",
        fold + 1, escape(rows.train), escape(rows.valid), escape(rows.test));
  }
  std::string text = scrollable("Rows of each fold", spans + "</tbody></table>\n");
  for (const std::string& metric : results.metric_names)
    text +=
        fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", &metric == &results.metric_names.front() ? " open" : "",
                    escape(metric), fold_table(results, order, metric));
  return results.folds.empty() ? "" : section("folds", "Folds", text);
}

std::string weights(const Results& results, const Colours& colours) {
  BarChart chart;
  chart.parts = results.member_names;
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& member : results.member_names) {
    chart.styles.push_back(colour_of(colours, member));
    names.emplace_back(member, chart.styles.back());
  }
  std::string pictures;
  for (const Entry& entry : results.entries) {
    const std::vector<double> mean = mean_weights(entry);
    if (mean.empty()) continue;
    chart.bars.clear();
    for (size_t fold = 0; fold < entry.weights.size(); ++fold)
      chart.bars.push_back({fmt::format("fold {}", fold + 1), entry.weights[fold]});
    chart.alt = "Weights of " + entry.name + " by fold; mean:";
    for (size_t m = 0; m < std::min(mean.size(), results.member_names.size()); ++m)
      chart.alt += fmt::format(" {} {:.2f}", results.member_names[m], mean[m]);
    pictures += figure(entry.name, draw(chart));
  }
  if (pictures.empty()) return "";
  return section(
      "weights", "Weights",
      hint("What each combination gives to each member, learned on the validation windows of the fold. A member without "
           "weight added nothing there that the others don't already give.") +
          legend(names) + "<div class=\"grid2\">\n" + pictures + "</div>\n");
}

std::string steps(const Results& results, const Entries& order, const Colours& colours) {
  LineChart chart{"Mean absolute error by step ahead, a line for each entry",
                  "steps ahead",
                  "mean absolute error",
                  {},
                  {},
                  {},
                  true,
                  760,
                  340};
  std::vector<std::pair<std::string, std::string>> names;
  for (const Entry* entry : order) {
    if (entry->step_error.size() < 2) continue;
    chart.series.push_back({entry->name, line_style(colours, *entry), 1, entry->step_error});
    names.emplace_back(entry->name, line_style(colours, *entry));
    if (2 * names.size() <= order.size())
      chart.frame.insert(chart.frame.end(), entry->step_error.begin(), entry->step_error.end());
  }
  if (chart.series.empty()) return "";
  std::reverse(chart.series.begin(), chart.series.end());  // the best on top
  return section("steps", "Error by step ahead",
                 hint("Dashed: combinations. In " + results.units + " units. Lines far above the better half are cut off.") +
                     "<div class=\"one\">" + figure("", draw(chart)) + "</div>" + legend(names));
}

std::string curves(const Results& results) {
  std::string pictures;
  for (const std::string& member : results.member_names) {
    LineChart chart{"Loss of " + member + " by epoch, training and validation", "epoch", "loss", {}, {}, {}, true, 480, 220};
    std::string best;
    for (const LossCurve& curve : results.curves) {
      if (curve.member != member) continue;
      const std::string fold = fmt::format("fold {}", curve.fold + 1), colour = fmt::format("c{}", curve.fold % kColours);
      chart.series.push_back({fold + ", training", colour + " dashed faint", 1, curve.train});
      chart.series.push_back({fold + ", validation", colour, 1, curve.valid});
      if (curve.best_epoch >= 0 && curve.best_epoch < static_cast<int64_t>(curve.valid.size()))
        chart.series.push_back({fmt::format("{}, best at epoch {}", fold, curve.best_epoch + 1),
                                colour,
                                static_cast<double>(curve.best_epoch + 1),
                                {curve.valid[static_cast<size_t>(curve.best_epoch)]}});
    }
    if (!chart.series.empty()) pictures += figure(member, draw(chart));
  }
  if (pictures.empty()) return "";
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t fold = 0; fold < results.folds.size(); ++fold)
    names.emplace_back(fmt::format("fold {}", fold + 1), fmt::format("c{}", fold % kColours));
  return section("curves", "Loss curves",
                 hint("Solid: validation, dashed: training. A dot marks the epoch whose parameters were kept.") + legend(names) +
                     "<div class=\"grid2\">\n" + pictures + "</div>\n");
}

std::string sample_picture(const Sample& sample, const Entries& shown, const Colours& colours) {
  const auto past = static_cast<double>(sample.past.size());
  LineChart chart{"Past, truth and forecasts: " + sample.title,
                  "steps from the last known value",
                  "value",
                  {},
                  0.0,
                  sample.past,
                  false,
                  480,
                  250};
  chart.frame.insert(chart.frame.end(), sample.truth.begin(), sample.truth.end());
  // Everything after the origin starts at the last known value, so that lines leave from where the past ends.
  const auto from_origin = [&](std::vector<double> values) {
    if (!sample.past.empty()) values.insert(values.begin(), sample.past.back());
    return values;
  };
  const double first = sample.past.empty() ? 1 : 0;
  chart.series.push_back({"past", "past", 1 - past, sample.past});
  for (auto entry = shown.rbegin(); entry != shown.rend(); ++entry)
    if (const auto found = sample.forecast.find((*entry)->name); found != sample.forecast.end())
      chart.series.push_back({(*entry)->name, line_style(colours, **entry), first, from_origin(found->second)});
  chart.series.push_back({"truth", "truth", first, from_origin(sample.truth)});
  return figure(sample.title, draw(chart));
}

std::string samples(const Results& results, const Entries& order, const Colours& colours) {
  if (results.samples.empty()) return "";
  Entries shown;
  int members = 0, combinations = 0;
  for (const Entry* entry : order) {
    const bool drawn = std::any_of(results.samples.begin(), results.samples.end(),
                                   [&](const Sample& sample) { return sample.forecast.count(entry->name) > 0; });
    if (drawn && (is_combination(*entry) ? combinations++ < kCombinationsInSample : members++ < kMembersInSample))
      shown.push_back(entry);
  }
  std::vector<std::pair<std::string, std::string>> names = {{"past", "past"}, {"truth", "truth"}};
  for (const Entry* entry : shown) names.emplace_back(entry->name, line_style(colours, *entry));
  std::string pictures;
  for (const Sample& sample : results.samples) pictures += sample_picture(sample, shown, colours);
  return section("samples", "Sample forecasts",
                 hint("Windows of the test rows, with the forecasts of the best members and combinations.") + legend(names) +
                     "<div class=\"grid2\">\n" + pictures + "</div>\n");
}

std::string appendix(const Results& results) {
  std::string terms;
  for (const std::string& metric : results.metric_names)
    if (const auto meaning = results.metric_meanings.find(metric); meaning != results.metric_meanings.end())
      terms += fmt::format("<dt>{}</dt><dd>{}; {} is better</dd>\n", escape(metric), escape(meaning->second.definition),
                           meaning->second.lower_is_better ? "less" : "more");
  std::string text;
  if (!terms.empty()) text += "<h3>Metrics</h3>\n<dl class=\"terms\">\n" + terms + "</dl>\n";
  text += "<h3>The experiment as understood</h3>\n<pre tabindex=\"0\">" + escape(results.experiment_text) + "</pre>\n";
  return section("appendix", "Appendix", text);
}

std::string navigation(const std::string& body) {
  constexpr std::pair<const char*, const char*> kSections[] = {
      {"leaderboard", "Leaderboard"}, {"folds", "Folds"},     {"weights", "Weights"},  {"steps", "Error by step"},
      {"curves", "Loss curves"},      {"samples", "Samples"}, {"appendix", "Appendix"}};
  std::string links;
  for (const auto& [id, title] : kSections)
    if (body.find(fmt::format("<section id=\"{}\"", id)) != std::string::npos)
      links += fmt::format("<a href=\"#{}\">{}</a>\n", id, title);
  return "<nav aria-label=\"Sections\">\n" + links + "</nav>\n";
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string to_html(const Results& results) {
  const Entries order = ranked(results);
  const Colours colour = colours(order);
  const std::string body = leaderboard(results, order, colour) + folds(results, order) + weights(results, colour) +
                           steps(results, order, colour) + curves(results) + samples(results, order, colour) + appendix(results);

  // The policy lets the page load nothing at all: it shows the same everywhere, and a text that slipped through can do no harm.
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n";
  page += "<title>" + escape(results.name) + " - Tutti report</title>\n<style>";
  page += kReportStyle;
  page += "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#leaderboard\">To the leaderboard</a>\n<header><div>\n";
  page += "<h1>" + escape(results.name) + "</h1>\n<p class=\"lead\">" + escape(results.data) + ". Forecast of " +
          escape(joined(results.targets)) + ".</p>\n" + cards(results, order) + navigation(body) + "</div></header>\n<main>\n" +
          body + "</main>\n<footer>Tutti " + escape(results.tutti_version) + "</footer>\n<script>";
  page += kReportScript;
  return page + "</script>\n</body>\n</html>\n";
}

}  // namespace tutti
