import * as Plot from "@observablehq/plot";
import type { ProfileHour } from "./answers_history.ts";
import { dataTable } from "./data_table.ts";
import { h } from "./dom.ts";
import { fitted, svg } from "./fitted.ts";
import { clock, count, tick, withMs } from "./format.ts";
import { note } from "./parts.ts";

const inMs = (v: number | null): number | null => (v === null ? null : v / 1000);

/** profileChart is what each hour of the day is usually like. */
export function profileChart(hours: ProfileHour[], zone: string): HTMLElement {
  const known = hours.filter((p) => p.median !== null);
  if (known.length === 0) return note("No hour of this time has a median.");
  const chart = fitted((width) =>
    svg(
      Plot.plot({
        className: "plot", width, height: 240, marginLeft: 48, marginRight: 16, marginTop: 24,
        x: { domain: [0, 23], ticks: width < 500 ? [0, 6, 12, 18] : [0, 3, 6, 9, 12, 15, 18, 21], tickFormat: clock, label: null },
        y: { grid: true, nice: true, label: "ms", labelArrow: "none", zero: false, tickFormat: tick },
        marks: [
          Plot.areaY(hours, { x: "hour", y1: (p: ProfileHour) => inMs(p.q1), y2: (p: ProfileHour) => inMs(p.q3), fill: "var(--band)" }),
          Plot.lineY(hours, { x: "hour", y: (p: ProfileHour) => inMs(p.median), stroke: "var(--strong)", strokeWidth: 2 }),
          Plot.dot(known, { x: "hour", y: (p: ProfileHour) => inMs(p.median), fill: "var(--strong)", r: 3, title: (p: ProfileHour) => `${clock(p.hour)}: median ${withMs(p.median)}, middle half ${withMs(p.q1)} to ${withMs(p.q3)}, n ${p.n}` }),
        ],
        ariaLabel: `Median round trip by hour of the day, ${zone}`,
      }),
    ),
  );
  const [least, most] = [Math.min(...known.map((p) => p.n)), Math.max(...known.map((p) => p.n))];
  return h(
    "div",
    {},
    chart,
    h("p", { class: "caption" }, `Hours in ${zone}. Line: median; band: the middle half. n ${least === most ? count(least) : `${count(least)} to ${count(most)}`} an hour. The axis does not begin at zero.`),
    dataTable("As a table", ["hour", "median", "quarter below", "quarter above", "n"], () => hours.map((p) => [clock(p.hour), withMs(p.median), withMs(p.q1), withMs(p.q3), count(p.n)])),
  );
}
