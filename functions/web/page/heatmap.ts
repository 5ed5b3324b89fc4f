import * as Plot from "@observablehq/plot";
import type { HeatmapCell } from "./answers_history.ts";
import { h } from "./dom.ts";
import { fitted, svg } from "./fitted.ts";
import { absent, clock, count, weekdays, withMs } from "./format.ts";
import { diverging } from "./palette.ts";
import { note } from "./parts.ts";

const tenths = (us: number | null): string => (us === null ? absent : (us < -50 ? "−" : "") + brief(Math.abs(us) / 1000));
const brief = (v: number): string => (v >= 1e4 ? v.toExponential(0) : v >= 9.95 ? v.toFixed(0) : v.toFixed(1));

/** heatmapChart is hour by weekday; on a narrow screen the days stand side by side instead of the hours. */
export function heatmapChart(cells: HeatmapCell[], zone: string): HTMLElement {
  const known = cells.filter((c) => c.median !== null);
  if (known.length === 0) return note("No hour of this time has an excess.");
  const sizes = known.map((c) => Math.abs(c.median!)).sort((a, b) => a - b);
  const most = Math.max(sizes[Math.floor(0.98 * (sizes.length - 1))]!, 100); // 0.1 ms is no colour yet
  const paint = (c: HeatmapCell) => diverging(c.median! / most);
  const chart = fitted((width) => {
    const tall = width < 620;
    const [across, down] = tall ? ["weekday", "hour"] : ["hour", "weekday"];
    const day = { domain: [0, 1, 2, 3, 4, 5, 6], tickFormat: (d: number) => weekdays[d]!, tickSize: 0, label: null };
    const hour = { domain: Array.from({ length: 24 }, (_, i) => i), tickFormat: (i: number) => (tall ? clock(i) : String(i)), tickSize: 0, label: null };
    return svg(
      Plot.plot({
        className: "plot", width, height: tall ? 24 * 22 + 24 : 7 * 30 + 24, marginLeft: 44, marginTop: 22, marginBottom: 2, marginRight: 0, padding: 0.04,
        x: { ...(tall ? day : hour), axis: "top" },
        y: tall ? hour : day,
        marks: [
          Plot.cell(cells.filter((c) => c.median === null), { x: across, y: down, fill: "none", stroke: "var(--line)" }),
          Plot.cell(known, { x: across, y: down, fill: (c: HeatmapCell) => paint(c).fill }),
          Plot.text(cells, {
            x: across, y: down, text: (c: HeatmapCell) => tenths(c.median), fill: (c: HeatmapCell) => (c.median === null ? "var(--soft)" : paint(c).ink), fontSize: tall || width > 800 ? 11 : 9.5,
            title: (c: HeatmapCell) => `${weekdays[c.weekday]} ${clock(c.hour)}: ${withMs(c.median)}, middle half ${withMs(c.q1)} to ${withMs(c.q3)}, n ${c.n}`,
          }),
        ].map((mark) => mark),
        color: { type: "identity" },
        ariaLabel: `Excess by hour and weekday, ${zone}`,
      }),
    );
  });
  const ns = cells.map((c) => c.n);
  return h(
    "div",
    {},
    chart,
    h("p", { class: "caption" }, `ms above (orange) or below (blue) the usual level; hours in ${zone}. n ${count(Math.min(...ns))} to ${count(Math.max(...ns))} a field.`),
  );
}
