import { trend as readTrend } from "./answers_history.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { h } from "./dom.ts";
import { count } from "./format.ts";
import { lineChart, type Line } from "./line_chart.ts";
import type { Pair } from "./pair_page.ts";
import { hoursOf } from "./pair_series.ts";
import { later, note, section } from "./parts.ts";

/** bulkProbe is the probe that measures throughput over the path, if there is one. */
export function bulkProbe(c: Context, pair: Pair): string | null {
  const kinds = ["throughput", "saturate"];
  const own = c.overview.probes.find((p) => p.name === pair.probe);
  if (own && kinds.includes(own.kind)) return own.name;
  return c.overview.probes.find((p) => kinds.includes(p.kind) && p.paths.includes(pair.path))?.name ?? null;
}

/** throughputSection is what the pair carried, by the hour. */
export function throughputSection(c: Context, pair: Pair): HTMLElement {
  const probe = bulkProbe(c, pair);
  if (!probe) return section("Throughput", "throughput", note(`No probe of kind throughput runs over ${pair.path}. Add one to sweep.yaml to see what the pair carries.`));
  const place = later(h("div", { class: "place", id: "throughput" }), async () => {
    const t = readTrend(await ask("trend", { source: pair.source, target: pair.target, path: pair.path, probe, since: pair.since }));
    const { xs, at } = hoursOf(t);
    const lines: Line[] = [
      { name: "from", values: at((x) => x.down, 1e6), colour: "warm", width: 1.5, dash: [6, 4] },
      { name: "to", values: at((x) => x.up, 1e6), colour: "strong", width: 2 },
    ].filter((l) => l.values.some((v) => v !== null));
    if (lines.length === 0) return [note("No run of this time brought a rate.")];
    const runs = at((x) => x.runs, 1);
    return [
      lineChart({ label: "Throughput by hour", unit: "Mbit/s", xs, lines, fromZero: true, marks: [], beside: (i) => ` · ${count(runs[i] ?? null)} runs` }),
      h("p", { class: "caption" }, `Probe ${probe}; to: towards the target, from: back. The axis begins at zero. ${count(t.withData)} of ${count(t.inWindow)} hours have a run; longer gaps than usual are hatched.`),
    ];
  });
  return section("Throughput", "throughput", place);
}
