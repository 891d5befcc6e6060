#include "host/report/html_assets.h"

namespace tutti {

const std::string_view kReportStyle = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1b2430; --quiet: #5c6773; --line: #dfe3e8; --faint: #eef1f4; --accent: #1d5fd0;
  --best: #e3f4ea; --best-text: #0b6b43; --bad: #b3261e; --bad-page: #fdecea; --inside: #ffffff;
  --c0: #2563eb; --c1: #d9480f; --c2: #0f8a5f; --c3: #9c36b5; --c4: #c92a2a; --c5: #0c8599; --c6: #a16207; --c7: #d6336c;
  --c8: #5f3dc4; --c9: #5c940d; --c10: #7d5a44; --c11: #495057; --rest: #9aa4af; }
@media (prefers-color-scheme: dark) { :root {
  --page: #12161b; --card: #1a2027; --text: #e4e8ed; --quiet: #98a3af; --line: #2f3842; --faint: #232a32; --accent: #7fb0ff;
  --best: #14362a; --best-text: #7be0b0; --bad: #ff9d95; --bad-page: #3a1f1d; --inside: #10141a;
  --c0: #6ea8fe; --c1: #ff9f4d; --c2: #4fd08c; --c3: #da8cf5; --c4: #ff8787; --c5: #3bc9db; --c6: #f2c037; --c7: #faa2c1;
  --c8: #a48bfa; --c9: #a9d94b; --c10: #d0a98f; --c11: #ced4da; --rest: #6b7580; } }
.c0 { --k: var(--c0); } .c1 { --k: var(--c1); } .c2 { --k: var(--c2); } .c3 { --k: var(--c3); } .c4 { --k: var(--c4); } .c5 { --k: var(--c5); }
.c6 { --k: var(--c6); } .c7 { --k: var(--c7); } .c8 { --k: var(--c8); } .c9 { --k: var(--c9); } .c10 { --k: var(--c10); } .c11 { --k: var(--c11); }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header > div, footer { max-width: 1200px; margin: 0 auto; padding: 0 20px; }
header { background: var(--card); border-bottom: 1px solid var(--line); padding: 28px 0 0; }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -.01em; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 4px; font-size: 1.2rem; letter-spacing: -.005em; }
h3 { margin: 0 0 6px; font-size: .95rem; overflow-wrap: anywhere; }
p { margin: 4px 0 14px; }
a { color: var(--accent); }
a:focus-visible, button:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip, .unseen { position: absolute; left: -9999px; }
.skip:focus { left: 20px; top: 6px; }
.lead, .hint { color: var(--quiet); overflow-wrap: anywhere; }
.hint { font-size: .875rem; }
nav { display: flex; gap: 4px 18px; flex-wrap: wrap; padding: 12px 0; font-size: .9rem; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px; margin: 20px 0; min-width: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 190px), 1fr)); gap: 12px; margin: 18px 0 4px; }
.cards div { background: var(--faint); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.cards dt { color: var(--quiet); font-size: .8rem; }
.cards dd { margin: 0; font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
.cards dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--quiet); }
.scroll { overflow-x: auto; margin: 0 -20px; padding: 0 20px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); font-size: .875rem; padding-bottom: 8px; }
th, td { padding: 7px 9px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 600; font-size: .82rem; vertical-align: bottom; white-space: normal; border-bottom: 2px solid var(--line); }
th.left, td.left, tbody th { text-align: left; }
tbody th { font-weight: 600; }
tbody tr:hover > * { background: var(--faint); }
tbody tr:last-child > * { border-bottom: 0; }
td.best { background: var(--best); color: var(--best-text); font-weight: 700; }
tbody tr:hover > td.best { background: var(--best); }
td.wide { white-space: normal; min-width: 16em; }
td.failure { text-align: left; color: var(--bad); white-space: normal; }
td .low { color: var(--quiet); }
th button { all: unset; cursor: pointer; color: inherit; font: inherit; }
th button::after { content: "\2195"; opacity: .35; padding-left: 4px; }
th[aria-sort="ascending"] button::after { content: "\2191"; opacity: 1; }
th[aria-sort="descending"] button::after { content: "\2193"; opacity: 1; }
.badge { display: inline-block; border: 1px solid var(--line); border-radius: 99px; padding: 0 8px; font-size: .75rem; font-weight: 500; color: var(--quiet); }
.badge.combination { color: var(--accent); border-color: currentColor; }
.badge.bad { color: var(--bad); background: var(--bad-page); border-color: transparent; }
.swatch { display: inline-block; width: 18px; height: 0; border-top: 3px solid var(--k, var(--rest)); border-radius: 2px; margin-right: 7px; vertical-align: middle; }
.swatch.dashed { border-top-style: dashed; }
.swatch.truth { border-color: var(--text); }
.swatch.past { border-color: var(--quiet); border-width: 2px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; padding: 0; margin: 6px 0 12px; font-size: .85rem; }
.legend li { overflow-wrap: anywhere; }
.grid2 { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); gap: 22px 28px; }
.grid2 > * { min-width: 0; }
figure { margin: 0; }
.one figure { max-width: 860px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font-size: 11.5px; font-family: inherit; }
svg .inside { fill: var(--inside); font-size: 11px; font-weight: 600; pointer-events: none; }
svg .grid { stroke: var(--line); stroke-width: .8; }
svg .axis { stroke: var(--quiet); stroke-width: 1; }
svg .rule { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 3 3; }
svg .line { fill: none; stroke: var(--k, var(--rest)); stroke-width: 1.7; stroke-linejoin: round; stroke-linecap: round; }
svg .line:hover { stroke-width: 3.4; }
svg .dashed { stroke-dasharray: 5 4; }
svg .faint { opacity: .45; }
svg .truth { stroke: var(--text); stroke-width: 2.4; }
svg .past { stroke: var(--quiet); stroke-width: 1.3; }
svg .strong { stroke-width: 2.4; }
svg .dot { fill: var(--k, var(--rest)); }
svg .part { fill: var(--k, var(--rest)); stroke: var(--card); stroke-width: 1; }
details { margin-top: 12px; }
summary { cursor: pointer; font-weight: 600; font-size: .95rem; }
details > *:not(summary) { margin-top: 10px; }
pre { background: var(--faint); border-radius: 8px; padding: 14px; overflow-x: auto; font: .82rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 10px 0 0; }
ul.notes { margin: 14px 0 0; padding-left: 20px; overflow-wrap: anywhere; }
dl.terms { margin: 0; }
dl.terms dt { font-weight: 600; }
dl.terms dd { margin: 0 0 8px; color: var(--quiet); }
footer { color: var(--quiet); font-size: .85rem; padding-bottom: 32px; }
@media (max-width: 600px) { body { font-size: 15px; } main, header > div, footer { padding: 0 12px; } section { padding: 14px; border-radius: 8px; }
  .scroll { margin: 0 -14px; padding: 0 14px; } svg text { font-size: 13px; } }
@media print { nav, .skip, th button::after { display: none; } body { background: #fff; } section { border: 0; padding: 0; break-inside: avoid-page; } }
)css";

const std::string_view kReportScript = R"js(
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0], key = row => row.cells[column]?.dataset.v ?? "";
    const rows = [...body.rows].filter(row => !row.dataset.failed), failed = [...body.rows].filter(row => row.dataset.failed);
    rows.sort((a, b) => {
      const x = key(a), y = key(b), numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      if ((x === "") !== (y === "")) return x === "" ? 1 : -1;  // no figure: last either way
      const order = numbers ? x - y : x.localeCompare(y);
      return down ? -order : order;
    });
    body.append(...rows, ...failed);
  }));
}
)js";

}  // namespace tutti
