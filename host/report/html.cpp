#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/report/results.h"
#include "host/report/svg.h"

namespace tutti {
namespace {

constexpr const char* kStyle = R"css(
:root{--fg:#1b1f24;--bg:#fff;--soft:#5b6570;--rule:#d8dee4;--mark:#eef6ee;--bar:#3b6ea8}
@media (prefers-color-scheme:dark){:root{--fg:#e6e9ec;--bg:#14171a;--soft:#9aa4ae;--rule:#333a41;--mark:#1d2a1f;--bar:#7aa9dd}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:72rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.7rem;margin:0 0 .2rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}p.lead,.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}
th.l,td.l{text-align:left}thead th{cursor:pointer;border-bottom:2px solid var(--rule)}td.best{background:var(--mark);font-weight:600}
figure{margin:0 0 1rem;max-width:44rem}svg{width:100%;height:auto}.grid{stroke:var(--rule);stroke-width:1}.tick{font-size:12px;fill:var(--soft)}
.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 4}svg.key{width:24px;height:8px;margin-right:.4rem}
figcaption{font-size:.85rem;color:var(--soft)}figcaption span{display:inline-block;margin-right:1.2rem}
.c0{stroke:#7a828a}.c1{stroke:#2f6fb7}.c2{stroke:#c8502d}.c3{stroke:#2e8b57}.c4{stroke:#8a5cc2}.c5{stroke:#b8860b}.c6{stroke:#1a9aa0}.c7{stroke:#c2407f}.c8{stroke:#6b8e23}.c9{stroke:#a0522d}
.bar{display:inline-block;height:.7em;background:var(--bar);vertical-align:baseline;margin-right:.4rem}
pre{background:var(--mark);padding:1rem;overflow-x:auto;font-size:.82rem}dt{font-weight:600}dd{margin:0 0 .5rem 1rem}
)css";

// Sorts a table by the column that was clicked; a second click turns the order round.
constexpr const char* kSort = R"js(
document.querySelectorAll('table.sort').forEach(t=>t.querySelectorAll('thead th').forEach((h,i)=>h.addEventListener('click',()=>{
const b=t.tBodies[0],d=h.dataset.d=h.dataset.d==='1'?'-1':'1',v=r=>{const x=r.cells[i].dataset.v??r.cells[i].textContent,n=parseFloat(x);return isNaN(n)?x:n};
[...b.rows].sort((p,q)=>{const x=v(p),y=v(q);return (x<y?-1:x>y?1:0)*d}).forEach(r=>b.append(r))})));
)js";

std::string figure(double value) { return std::isnan(value) ? "–" : fmt::format("{:.5g}", value); }

double value_of(const std::map<std::string, double>& figures, const std::string& metric) {
  const auto found = figures.find(metric);
  return found == figures.end() ? std::nan("") : found->second;
}

bool lower_is_better(const Results& results, const std::string& metric) {
  const auto found = results.lower_is_better.find(metric);
  return found == results.lower_is_better.end() || found->second;
}

// A row of figures; the best of each column over all rows is marked.
struct FigureRow {
  const Entry* entry;
  const std::map<std::string, double>* figures;
};

std::string figure_table(const Results& results, const std::vector<FigureRow>& rows) {
  std::string html = "<div class=\"wide\"><table class=\"sort\"><thead><tr><th scope=\"col\">#</th><th scope=\"col\" class=\"l\">name</th><th scope=\"col\" class=\"l\">kind</th>";
  for (const std::string& metric : results.metric_names) html += fmt::format("<th scope=\"col\">{}</th>", escaped(metric));
  html += "<th scope=\"col\">learned numbers</th><th scope=\"col\">training, s</th><th scope=\"col\">forecasting, s</th></tr></thead><tbody>";
  int rank = 0;
  for (const FigureRow& row : rows) {
    const bool member = row.entry->kind == Entry::Kind::member;
    html += fmt::format("<tr><td>{}</td><th scope=\"row\" class=\"l\">{}</th><td class=\"l\">{}</td>", ++rank, escaped(row.entry->name),
                        member ? escaped(row.entry->plugin) : std::string("combination"));
    for (const std::string& metric : results.metric_names) {
      const double value = value_of(*row.figures, metric);
      const bool best = !std::isnan(value) && std::all_of(rows.begin(), rows.end(), [&](const FigureRow& other) {
        const double rival = value_of(*other.figures, metric);
        return std::isnan(rival) || (lower_is_better(results, metric) ? value <= rival : value >= rival);
      });
      html += fmt::format("<td{} data-v=\"{}\">{}</td>", best ? " class=\"best\"" : "", value, figure(value));
    }
    html += member ? fmt::format("<td>{}</td><td>{:.1f}</td><td>{:.1f}</td></tr>", row.entry->parameters >= 0 ? std::to_string(row.entry->parameters) : "–",
                                 row.entry->train_seconds, row.entry->predict_seconds)
                   : std::string("<td></td><td></td><td></td></tr>");
  }
  return html + "</tbody></table></div>";
}

std::string leaderboard(const Results& results) {
  std::vector<FigureRow> rows;
  std::string failures;
  for (const Entry* entry : ranked(results)) {
    if (entry->failure.empty()) rows.push_back({entry, &entry->overall});
    else failures += fmt::format("<li><b>{}</b>: {}</li>", escaped(entry->name), escaped(entry->failure));
  }
  return "<h2>Leaderboard</h2><p class=\"soft\">On the test windows of all folds, in " + escaped(results.units) +
         " units. Click a heading to sort.</p>" + figure_table(results, rows) + (failures.empty() ? "" : "<h2>Left out</h2><ul>" + failures + "</ul>");
}

std::string folds(const Results& results) {
  std::string html = "<h2>Folds</h2>";
  for (size_t f = 0; f < results.folds.size(); ++f) {
    const FoldSummary& fold = results.folds[f];
    html += fmt::format("<details{}><summary>Fold {}</summary><p class=\"soft\">train {}<br>valid {}<br>test {}</p>", results.folds.size() == 1 ? " open" : "", f + 1,
                        escaped(fold.train), escaped(fold.valid), escaped(fold.test));
    std::vector<FigureRow> rows;
    for (const Entry* entry : ranked(results))
      if (entry->failure.empty() && f < entry->folds.size()) rows.push_back({entry, &entry->folds[f]});
    html += figure_table(results, rows) + "</details>";
  }
  return html;
}

std::string weights(const Results& results) {
  std::string rows;
  for (const Entry& entry : results.entries)
    for (size_t f = 0; f < entry.weights.size(); ++f) {
      if (entry.weights[f].empty()) continue;
      rows += fmt::format("<tr><th scope=\"row\" class=\"l\">{}</th><td>{}</td>", escaped(entry.name), f + 1);
      for (const double weight : entry.weights[f])
        rows += fmt::format("<td class=\"l\"><span class=\"bar\" style=\"width:{:.2f}rem\"></span>{:.3f}</td>", 4 * std::max(weight, 0.0), weight);
      rows += "</tr>";
    }
  if (rows.empty()) return "";
  std::string html = "<h2>Weights</h2><p class=\"soft\">Fitted on validation forecasts only.</p><div class=\"wide\"><table><thead><tr><th scope=\"col\" class=\"l\">combination</th><th scope=\"col\">fold</th>";
  for (const std::string& member : results.member_names) html += fmt::format("<th scope=\"col\" class=\"l\">{}</th>", escaped(member));
  return html + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::vector<double> counted(size_t count, double first) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<double>(i);
  return values;
}

std::string step_errors(const Results& results) {
  std::vector<Line> lines;
  for (const Entry* entry : ranked(results)) {
    if (!entry->failure.empty() || entry->step_error.size() < 2 || lines.size() == 6) continue;
    lines.push_back({entry->name, counted(entry->step_error.size(), 1), entry->step_error, static_cast<int>(lines.size()) + 1, entry->kind == Entry::Kind::combination});
  }
  const std::string chart = line_chart("Mean absolute error by step ahead", "steps ahead", "mean absolute error", lines);
  return chart.empty() ? "" : "<h2>Error by step ahead</h2><p class=\"soft\">The six best.</p>" + chart;
}

std::string samples(const Results& results) {
  std::string html;
  for (const Sample& sample : results.samples) {
    const double now = static_cast<double>(sample.past.size());
    std::vector<Line> lines{{"past", counted(sample.past.size(), 1 - now), sample.past, 0, false}, {"truth", counted(sample.truth.size(), 1), sample.truth, 0, true}};
    for (const Entry* entry : ranked(results)) {
      const auto forecast = sample.forecast.find(entry->name);
      if (forecast == sample.forecast.end() || lines.size() == 7) continue;
      lines.push_back({entry->name, counted(forecast->second.size(), 1), forecast->second, static_cast<int>(lines.size()) - 1, false});
    }
    html += "<p class=\"soft\">" + escaped(sample.title) + "; the five best.</p>" + line_chart(sample.title, "steps from now", "value", lines);
  }
  return html.empty() ? "" : "<h2>The last test window</h2>" + html;
}

std::string curves(const Results& results) {
  std::string html;
  for (const LossCurve& curve : results.curves) {
    if (curve.train.size() < 2) continue;
    const std::string title = results.folds.size() > 1 ? fmt::format("{}, fold {}", curve.member, curve.fold + 1) : curve.member;
    html += fmt::format("<p class=\"soft\">{}; best epoch {}</p>", escaped(title), curve.best_epoch + 1) +
            line_chart(title, "epoch", "mean squared error",
                       {{"training", counted(curve.train.size(), 1), curve.train, 1, false}, {"validation", counted(curve.valid.size(), 1), curve.valid, 2, false}});
  }
  return html.empty() ? "" : "<h2>Training</h2>" + html;
}

std::string appendix(const Results& results) {
  std::string html;
  if (!results.notes.empty()) {
    html += "<h2>Notes</h2><ul>";
    for (const std::string& note : results.notes) html += "<li>" + escaped(note) + "</li>";
    html += "</ul>";
  }
  html += "<h2>Definitions</h2><dl>";
  std::vector<std::string> used = results.metric_names;
  for (const Entry& entry : results.entries)
    if (entry.kind == Entry::Kind::combination) used.push_back(entry.name);
  for (const std::string& name : used)
    if (const auto text = results.definitions.find(name); text != results.definitions.end())
      html += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(text->second));
  return html + "</dl><h2>Experiment</h2><pre>" + escaped(results.experiment_text) + "</pre>";
}

}  // namespace

std::string to_html(const Results& results) {
  std::string html = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>" +
                     escaped(results.name) + " – Tutti</title><style>" + kStyle + "</style></head><body><main>";
  html += fmt::format("<h1>{}</h1><p class=\"lead\">{}. From {} past steps, {} ahead.</p>", escaped(results.name), escaped(results.data), results.lookback,
                      results.horizon);
  html += leaderboard(results) + weights(results) + step_errors(results) + samples(results) + curves(results) + folds(results) + appendix(results);
  return html + fmt::format("<p class=\"soft\">Tutti {}</p></main><script>{}</script></body></html>\n", escaped(results.tutti_version), kSort);
}

}  // namespace tutti
