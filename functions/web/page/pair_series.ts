import type { Change, Trend } from "./answers_history.ts";
import type { Context } from "./context.ts";
import { plainTable } from "./data_table.ts";
import { h } from "./dom.ts";
import { count, digits, signed, withMs, withPercent, type Figure } from "./format.ts";
import { hoursBetween, lineChart, type Line } from "./line_chart.ts";
import { note, toggle } from "./parts.ts";
import { when } from "./when.ts";

/** hoursOf places the hours that have data among all of the window. */
export function hoursOf(t: Trend): { xs: number[]; at: (pick: (h: Trend["hours"][number]) => Figure, by: number) => Figure[] } {
  const first = t.hours[0]?.t ?? 0;
  const last = t.hours[t.hours.length - 1]?.t ?? 0;
  const xs = hoursBetween(t.since ? t.since.getTime() / 1000 : first, t.until ? t.until.getTime() / 1000 : last + 3600);
  const begin = xs[0] ?? 0;
  return {
    xs,
    at(pick, by) {
      const out = new Array<Figure>(xs.length).fill(null);
      for (const hour of t.hours) {
        const i = Math.round((hour.t - begin) / 3600);
        const v = pick(hour);
        if (i >= 0 && i < out.length && v !== null) out[i] = v / by;
      }
      return out;
    },
  };
}

export function seriesChart(c: Context, t: Trend): HTMLElement {
  if (t.hours.length === 0) return note("No hour of this time has data. Choose a longer time, or another path or probe.");
  const { xs, at } = hoursOf(t);
  const [n, runs, loss] = [at((x) => x.n, 1), at((x) => x.runs, 1), at((x) => x.loss, 1)];
  const lines: Line[] = [
    { name: "p99", values: at((x) => x.p99, 1000), colour: "thin", width: 1 },
    { name: "baseline", values: at((x) => x.baseline, 1000), colour: "warm", width: 1.5, dash: [6, 4], step: true },
    { name: "p50", values: at((x) => x.p50, 1000), colour: "strong", width: 2 },
  ].filter((l) => l.values.some((v) => v !== null));
  const masked = t.inWindow === null ? null : t.inWindow - (t.withData ?? t.hours.length);
  const chart = lineChart({
    label: `Round trip by hour, ${count(t.hours.length)} hours with data, ${count(t.changes.length)} change points`,
    unit: "ms", xs, lines, fromZero: c.view.zero === "1",
    marks: t.changes.map((change) => ({ t: change.t.getTime() / 1000, text: change.before === null || change.after === null ? change.kind : `${signed((change.after - change.before) / 1000)} ms` })),
    beside: (i) => ` · loss ${withPercent(loss[i] ?? null)} · n ${count(n[i] ?? null)}, ${count(runs[i] ?? null)} runs`,
  });
  return h(
    "div",
    {},
    toggle("zero", "Vertical axis", [["", "from the least figure"], ["1", "from zero"]], c.view.zero, (zero) => c.go({ zero })),
    chart,
    h("p", { class: "caption" }, masked ? `${count(masked)} of ${count(t.inWindow)} hours have no data and are hatched.` : `All ${count(t.inWindow)} hours have data.`, t.behind ? " The newest hours are not measured or not rolled up yet." : ""),
  );
}

const kinds: Record<string, string> = { rerouted: "rerouted: the floor moved", congestion: "congestion: the floor stayed", step: "step: the floor is not known" };

/** changesTable lists change points, newest first. */
export function changesTable(changes: Change[]): HTMLElement {
  if (changes.length === 0) return note("No change of level was found in this time.");
  return plainTable(
    ["from", "before", "after", "difference", "what it was", "p"],
    changes.toReversed().map((x) => [
      when(x.t), withMs(x.before), withMs(x.after), x.before === null || x.after === null ? "–" : `${signed((x.after - x.before) / 1000)} ms`, kinds[x.kind] ?? x.kind, x.p === null ? "–" : x.p < 1e-4 ? x.p.toExponential(0) : digits(x.p),
    ]),
  );
}
