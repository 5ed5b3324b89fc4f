import * as Plot from "@observablehq/plot";
import { compare as readCompare, type Difference } from "./answers_history.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { h, type Child } from "./dom.ts";
import { fitted, svg } from "./fitted.ts";
import { count, signed, tick } from "./format.ts";
import type { Pair } from "./pair_page.ts";
import { choice, later, note, section } from "./parts.ts";

const longest = ["90d", "365d"];

/** compareSection is by how much this path takes longer than another. */
export function compareSection(c: Context, pair: Pair): HTMLElement {
  const paths = (c.overview.probes.find((p) => p.name === pair.probe)?.paths ?? []).filter((p) => p !== pair.path);
  if (paths.length === 0) return section("Path difference", "compare", note("This probe has one path alone: there is nothing to compare."));
  const other = paths.includes(c.view.other) ? c.view.other : paths[0]!;
  // A row a run is read for it: the function looks back 31 days at the most.
  const since = longest.includes(pair.since) ? "28d" : pair.since;
  const place = later(h("div", { class: "place", id: "compare" }), async () => {
    const answer = readCompare(await ask("compare", { paths: `${pair.path},${other}`, source: pair.source, target: pair.target, probe: pair.probe, since }));
    const found = answer.pairs.find((p) => p.source === pair.source && p.target === pair.target);
    return found ? difference(found, pair.path, other, since) : [note("No slot of this time has runs over both paths.")];
  });
  return section("Path difference", "compare", choice("other", `${pair.path} less`, paths.map((p) => [p, p]), other, (o) => c.go({ other: o })), place);
}

function difference(d: Difference, path: string, other: string, since: string): Child[] {
  const [value, low, high, unit, by] = d.us !== null ? [d.us, d.usLow, d.usHigh, "ms", 1000] : [d.bps, d.bpsLow, d.bpsHigh, "Mbit/s", 1e6];
  if (value === null) return [note("No slot of this time has runs over both paths.")];
  const [v, l, u] = [value / by, low === null ? null : low / by, high === null ? null : high / by];
  const clear = l !== null && u !== null && l * u > 0;
  const verdict = !clear ? "The range holds 0: no difference can be told." : d.us !== null ? `${v > 0 ? other : path} is faster.` : `${v > 0 ? path : other} carries more.`;
  return [
    h("p", { class: "headline" }, h("b", {}, `${signed(v)} ${unit}`), l === null || u === null ? " (too few slots for a range)" : ` 95 %: ${signed(l)} to ${signed(u)} ${unit}`),
    l !== null && u !== null && interval(v, l, u, unit),
    h("p", { class: "caption" }, `${verdict} The last ${since}; n ${count(d.n)} slots over both`, d.onlyA || d.onlyB ? `; ${count(d.onlyA)} over ${path} alone and ${count(d.onlyB)} over ${other} alone are left out.` : "."),
  ];
}

/** interval draws an estimate and its range on an axis that has 0. */
function interval(v: number, low: number, high: number, unit: string): HTMLElement {
  const room = (Math.max(0, high) - Math.min(0, low)) * 0.12 || 1;
  return fitted((width) =>
    svg(
      Plot.plot({
        className: "plot", width, height: 64, marginBottom: 24, marginLeft: 20, marginRight: 20,
        x: { domain: [Math.min(0, low) - room, Math.max(0, high) + room], label: null, ticks: 5, tickFormat: tick },
        y: { axis: null },
        marks: [
          Plot.ruleX([0], { stroke: "var(--soft)" }),
          Plot.ruleY([0], { x1: low, x2: high, stroke: "var(--strong)", strokeWidth: 6, strokeOpacity: 0.5 }),
          Plot.dot([v], { x: v, y: 0, fill: "var(--strong)", r: 5 }),
        ],
        ariaLabel: `Difference ${signed(v)} ${unit}, 95 % range ${signed(low)} to ${signed(high)}`,
      }),
    ),
  );
}
