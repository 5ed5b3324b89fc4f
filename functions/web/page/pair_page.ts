import { distribution as readDistribution, heatmap as readHeatmap, trend as readTrend, type Clock, type Trend } from "./answers_history.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { distributionChart } from "./distribution.ts";
import { h, type Child } from "./dom.ts";
import { count, digits, range, signed, withMs } from "./format.ts";
import { heatmapChart } from "./heatmap.ts";
import { chosen, selectors } from "./matrix_page.ts";
import { compareSection } from "./pair_compare.ts";
import { recoverySection } from "./pair_recovery.ts";
import { changesTable, seriesChart } from "./pair_series.ts";
import { throughputSection } from "./pair_throughput.ts";
import { choice, figure, later, note, restsOn, section, toggle } from "./parts.ts";
import { profileChart } from "./profile.ts";

const spans: [string, string][] = [["24h", "24 hours"], ["7d", "7 days"], ["28d", "28 days"], ["90d", "90 days"], ["365d", "a year"]];

export interface Pair {
  source: string;
  target: string;
  path: string;
  probe: string;
  since: string;
}

export async function showPair(c: Context): Promise<Child[]> {
  const { source, target } = c.view;
  const ids = [...c.overview.probers.keys()];
  const { path, probe } = chosen(c);
  const since = c.view.since || "28d";
  const options = (own: string, more: string[]): [string, string][] => [...new Set([...ids, ...more, own])].filter((id) => id !== "").map((id) => [id, id]);
  const controls = h(
    "div",
    { class: "controls" },
    choice("from", "From", [["", "choose …"], ...options(source, [])], source, (s) => c.go({ source: s })),
    h("button", { type: "button", id: "swap", title: "The other way", "aria-label": "Swap source and target", click: () => c.go({ source: target, target: source }) }, "⇄"),
    choice("to", "To", [["", "choose …"], ...options(target, c.overview.endpoints)], target, (t) => c.go({ target: t })),
    ...selectors(c, path, probe),
    choice("since", "Time", spans.some(([s]) => s === since) ? spans : [...spans, [since, since]], since, (s) => c.go({ since: s })),
  );
  if (!source || !target) return [h("h1", {}, "Pair"), controls, note("Choose where from and where to.")];
  const pair: Pair = { source, target, path, probe, since };
  const asked = { source, target, path, probe, since };
  const trend = async (): Promise<Trend> => readTrend(await ask("trend", asked));
  const place = (name: string): HTMLElement => h("div", { class: "place", id: name });
  return [
    h("h1", {}, `${source} → ${target}`),
    names(c, pair),
    controls,
    later(place("figures"), async () => figures(await trend())),
    section("Round trip by hour", "series", later(place("series"), async () => [seriesChart(c, await trend())])),
    section("Change points", "changes", later(place("changes"), async () => [changesTable((await trend()).changes)])),
    h("div", { class: "clock" }, toggle("zone", "Hours of the day in", [["utc", "UTC"], ["source", "source's time"], ["target", "target's time"]], clockOf(c), (zone) => c.go({ zone }))),
    h(
      "div",
      { class: "two" },
      section("Hour profile", "profile", later(place("profile"), async () => {
        const t = await trend();
        const hours = t.profile[clockOf(c)];
        return [hours.length === 0 && clockOf(c) !== "utc" ? note("Nobody knows the time zone of this end: it is no region of the catalogue.") : profileChart(hours, zoneName(t, clockOf(c)))];
      })),
      section("Distribution", "distribution", later(place("distribution"), async () => {
        const d = readDistribution(await ask("distribution", asked));
        return [distributionChart(d.bins, d.quantiles)];
      })),
    ),
    section("Hour by weekday", "heatmap", later(place("heatmap"), async () => {
      const m = readHeatmap(await ask("heatmap", { ...asked, zone: clockOf(c) }));
      return [heatmapChart(m.cells, m.zone || zoneName(await trend(), clockOf(c)))];
    })),
    h("div", { class: "two" }, compareSection(c, pair), throughputSection(c, pair)),
    recoverySection(c, pair),
  ];
}

const clockOf = (c: Context): Clock => (c.view.zone === "source" || c.view.zone === "target" ? c.view.zone : "utc");

function zoneName(t: Trend, clock: Clock): string {
  return clock === "utc" ? "UTC" : `${t.zones[clock] || "local time"} (${clock})`;
}

/** names says where the two ends are. */
function names(c: Context, pair: Pair): HTMLElement {
  const where = (id: string): string => {
    const p = c.overview.probers.get(id);
    return p ? `${p.name || p.region}${p.geography ? ", " + p.geography : ""}` : "endpoint";
  };
  return h("p", { class: "summary" }, `${where(pair.source)} → ${where(pair.target)} · path ${pair.path} · probe ${pair.probe}`);
}

function figures(t: Trend): Child[] {
  const q = t.quantiles;
  const last = t.hours.findLast((x) => x.baseline !== null);
  const beside = t.published === null || q.p95 === null ? "" : `a p95; ours is ${signed((q.p95 - t.published) / 1000)} ms from it`;
  return [
    h(
      "dl",
      { class: "figures" },
      figure("p50", "quantiles", withMs(q.p50), q.n === null ? "" : `n ${count(q.n)}`),
      figure("p95", "quantiles", withMs(q.p95)),
      figure("p99", "quantiles", withMs(q.p99)),
      figure("baseline", "baseline", withMs(last?.baseline ?? null), "newest hour"),
      figure("excess", "excess_hours", withMs(last?.excess ?? null), "newest hour, over the baseline"),
      figure("light", "distance", withMs(t.floor), t.distance === null ? "" : `over ${count(t.distance)} km`),
      figure("stretch", "stretch", t.floor && q.p50 !== null && (t.distance ?? 0) >= 500 ? digits(q.p50 / t.floor) + " ×" : "–", "p50 over light"),
      figure("published", "published", withMs(t.published), beside),
      figure("trend", "trend", t.slope?.perDay == null ? "–" : `${signed(t.slope.perDay)} µs a day`, t.slope ? trendBeside(t.slope) : "too few hours"),
      figure("daily rhythm", "diurnal", t.diurnal ? (t.diurnal.daily ? t.diurnal.grade || "daily" : "none") : "–", t.diurnal ? `amplitude ${withMs(t.diurnal.amplitude)}, n ${count(t.diurnal.n)} hours` : t.diurnalRefused),
      figure("hours with data", "coverage_hours", `${count(t.withData)} of ${count(t.inWindow)}`),
    ),
    restsOn(t),
  ];
}

function trendBeside(s: NonNullable<Trend["slope"]>): string {
  const interval = range(s.low, s.high, (v) => (v === null ? "–" : signed(v)));
  return [interval && `95 %: ${interval}`, s.p !== null && `p ${s.p < 0.001 ? "< 0.001" : digits(s.p)}`, s.n !== null && `n ${count(s.n)} hours`].filter(Boolean).join(", ");
}
