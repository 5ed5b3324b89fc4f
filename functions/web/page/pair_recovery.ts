import * as Plot from "@observablehq/plot";
import { recovery as readRecovery, type Recovery } from "./answers_history.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { dataTable } from "./data_table.ts";
import { h, type Child } from "./dom.ts";
import { fitted, svg } from "./fitted.ts";
import { clock, count, range, rate, seconds, tick, withMs } from "./format.ts";
import type { Pair } from "./pair_page.ts";
import { figure, later, restsOn, section } from "./parts.ts";

/** recoverySection reckons what the pair means for disaster recovery. */
export function recoverySection(c: Context, pair: Pair): HTMLElement {
  const field = (id: "rate" | "size" | "window" | "outage", label: string, hint: string): [HTMLElement, HTMLInputElement] => {
    const input = h("input", { id: `recovery-${id}`, value: c.view[id], maxlength: 20, required: true, autocomplete: "off", spellcheck: "false", title: hint });
    return [h("label", { class: "choice", for: `recovery-${id}` }, h("span", {}, label), input), input];
  };
  const fields = [
    field("rate", "Changes", "how fast the data changes: 20MB/s"),
    field("size", "Data", "how much data there is: 2TB"),
    field("window", "Window", "how long copying may take: 4h"),
    field("outage", "Outage", "how long the link or the copy is away: 30m"),
  ] as const;
  const form = h("form", { class: "controls", submit: (event: Event) => {
    event.preventDefault();
    const [rate, size, window, outage] = fields.map(([, input]) => input.value.trim());
    c.go({ rate: rate!, size: size!, window: window!, outage: outage! });
  } }, ...fields.map(([label]) => label), h("button", { id: "reckon", class: "main" }, "Reckon"));
  const { rate: change_rate, size, window, outage } = c.view;
  const place = later(h("div", { class: "place", id: "recovery" }), async () =>
    answer(readRecovery(await ask("recovery", { source: pair.source, target: pair.target, path: pair.path, change_rate, size, window, outage }))),
  );
  return section("Recovery calculator", "recovery", form, place);
}

function answer(r: Recovery): Child[] {
  const sustained = r.sustained === null ? "–" : r.sustained ? "yes" : "no";
  return [
    h(
      "dl",
      { class: "figures" },
      figure("sustained", "rpo", sustained, r.rpo === null ? "" : `at worst the last ${seconds(r.rpo)} of changes lost`),
      figure("throughput p5", "line", rate(r.throughput.p5), beside(range(r.throughput.p5Low, r.throughput.p5High, rate), `p50 ${rate(r.throughput.p50)}, n ${count(r.throughput.n)} hours`)),
      figure("a commit waits", "commit", withMs(r.commit.p50), beside(range(r.commit.p50Low, r.commit.p50High, withMs), `p99 ${withMs(r.commit.p99)}, n ${count(r.commit.n)}`)),
      figure("catching up", "catch_up", seconds(r.catchUp), beside(range(r.catchUpLow, r.catchUpHigh, seconds), "after the outage")),
      figure("one connection", "window_limit", rate(r.windowLimited), "at the most, by its window"),
    ),
    r.findings.length > 0 && h("ul", { class: "findings" }, ...r.findings.map((f) => h("li", {}, f))),
    seed(r),
    h("p", { class: "caption" }, `Round trips of probe ${r.probe || "–"}, throughput of probe ${r.bulkProbe || "–"}, over 28 days.`),
    restsOn(r),
  ];
}

const beside = (interval: string, rest: string): string => (interval ? `95 %: ${interval}; ${rest}` : rest);

function seed(r: Recovery): HTMLElement | null {
  const known = r.seed.filter((s): s is typeof s & { seconds: number } => s.seconds !== null);
  if (known.length === 0) return null;
  const chart = fitted((width) =>
    svg(
      Plot.plot({
        className: "plot", width: Math.min(width, 760), height: 200, marginLeft: 48,
        x: { type: "band", domain: Array.from({ length: 24 }, (_, i) => i), tickFormat: (i: number) => (width < 500 && i % 3 ? "" : String(i)), label: null },
        y: { grid: true, label: "hours", labelArrow: "none", zero: true, tickFormat: tick },
        marks: [
          Plot.barY(known, { x: "hour", y: (s) => s.seconds / 3600, fill: (s) => (s.fits === false ? "var(--warm)" : "var(--strong)"), fillOpacity: 0.6, title: (s) => `${clock(s.hour)} UTC: ${seconds(s.seconds)}` }),
          Plot.text(known.filter((s) => s.fits === false), { x: "hour", y: (s) => s.seconds / 3600, text: () => "✕", dy: -7, fill: "var(--warm)" }),
          Plot.ruleY([0], { stroke: "var(--soft)" }),
        ],
        ariaLabel: "Time for the first copy by the hour at which it begins",
      }),
    ),
  );
  return section("Time for the first copy", "seed", chart, h("p", { class: "caption" }, "Hours that it takes, by the hour (UTC) at which it begins. Orange with ✕: longer than the window. The axis begins at zero."), dataTable("As a table", ["beginning at", "takes", "within the window", "measured hours"], () => r.seed.map((s) => [`${clock(s.hour)} UTC`, seconds(s.seconds), s.fits === null ? "–" : s.fits ? "yes" : "no", count(s.n)])));
}
