import * as Plot from "@observablehq/plot";
import type { Bin, Quantiles } from "./answers_history.ts";
import { dataTable } from "./data_table.ts";
import { h } from "./dom.ts";
import { fitted, svg } from "./fitted.ts";
import { count, percent, tick, withMs } from "./format.ts";
import { note } from "./parts.ts";

/** distributionChart is which part of the round trips took how long. */
export function distributionChart(bins: Bin[], q: Quantiles): HTMLElement {
  const all = bins.reduce((sum, b) => sum + b.count, 0);
  if (all === 0) return note("No round trip of this time is in a histogram.");
  // What lies beyond the slowest thousandth would leave the rest a stripe: it is counted, and left out.
  const end = q.p999 === null ? Infinity : q.p999 * 1.02;
  const shown = bins.filter((b) => b.from <= end);
  const beyond = all - shown.reduce((sum, b) => sum + b.count, 0);
  const widths = shown.map((b) => b.to - b.from);
  const even = Math.max(...widths) <= 1.01 * Math.min(...widths);
  // Bins of different widths are drawn by density, so that a wide one does not look like many.
  const height = (b: Bin): number => (even ? (100 * b.count) / all : (100 * b.count) / all / ((b.to - b.from) / 1000));
  const lines = ([["p50", q.p50], ["p95", q.p95], ["p99", q.p99]] as [string, number | null][]).filter((l): l is [string, number] => l[1] !== null && l[1] <= end);
  const chart = fitted((width) =>
    svg(
      Plot.plot({
        className: "plot", width, height: 240, marginLeft: 48, marginRight: 16, marginTop: 40,
        x: { label: "ms", labelArrow: "none", nice: false, tickFormat: tick, ticks: width < 500 ? 4 : 8 },
        y: { grid: true, label: even ? "% of round trips" : "% of round trips per ms", labelArrow: "none", zero: true },
        marks: [
          Plot.rectY(shown, { x1: (b: Bin) => b.from / 1000, x2: (b: Bin) => b.to / 1000, y: height, fill: "var(--strong)", fillOpacity: 0.55, inset: 0, title: (b: Bin) => `${withMs(b.from)} to ${withMs(b.to)}: ${count(b.count)}` }),
          Plot.ruleY([0], { stroke: "var(--soft)" }),
          Plot.ruleX(lines, { x: (l: [string, number]) => l[1] / 1000, stroke: "var(--ink)", strokeDasharray: "4 3" }),
          Plot.text(lines, { x: (l: [string, number]) => l[1] / 1000, text: (l: [string, number]) => l[0], frameAnchor: "top", dy: (-12) as number, dx: 2, textAnchor: "start", fill: "var(--ink)" }),
        ],
        ariaLabel: "Distribution of round trips",
      }),
    ),
  );
  return h(
    "div",
    {},
    chart,
    h("p", { class: "caption" }, `n ${count(all)}. p50 ${withMs(q.p50)}, p95 ${withMs(q.p95)}, p99 ${withMs(q.p99)}, p99.9 ${withMs(q.p999)}.`, beyond > 0 ? ` ${count(beyond)} round trips (${percent(beyond / all)} %) are slower than what is drawn.` : ""),
    dataTable("As a table", ["from", "to", "round trips"], () => bins.filter((b) => b.count > 0).map((b) => [withMs(b.from), withMs(b.to), count(b.count)])),
  );
}
