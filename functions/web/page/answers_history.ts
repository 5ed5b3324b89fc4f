// The answers about one pair over time, read as answers.ts reads the others.

import { head, list, num, raw, text, time, type Head } from "./answers.ts";
import type { Figure } from "./format.ts";

export interface Hour {
  t: number; // s since 1970
  n: Figure;
  runs: Figure;
  min: Figure;
  p50: Figure;
  p90: Figure;
  p99: Figure;
  loss: Figure;
  baseline: Figure;
  excess: Figure;
  up: Figure;
  down: Figure;
}
export interface Change {
  t: Date;
  before: Figure;
  after: Figure;
  p: Figure;
  kind: string;
}
export interface Quantiles {
  n: Figure;
  p50: Figure;
  p90: Figure;
  p95: Figure;
  p99: Figure;
  p999: Figure;
}
export interface ProfileHour {
  hour: number;
  n: number;
  median: Figure;
  q1: Figure;
  q3: Figure;
}
export type Clock = "utc" | "source" | "target";
export interface Trend extends Head {
  kind: string;
  since: Date | null;
  until: Date | null;
  zones: { source: string; target: string };
  hours: Hour[];
  inWindow: Figure;
  withData: Figure;
  behind: boolean;
  newest: Date | null;
  quantiles: Quantiles;
  changes: Change[];
  slope: { perDay: Figure; low: Figure; high: Figure; p: Figure; n: Figure } | null;
  diurnal: { daily: boolean; amplitude: Figure; grade: string; n: Figure } | null;
  diurnalRefused: string;
  profile: Record<Clock, ProfileHour[]>;
  floor: Figure;
  distance: Figure;
  published: Figure; // µs
}

export function quantiles(v: unknown): Quantiles {
  const q = raw(v);
  return { n: num(q.n), p50: num(q.p50_us), p90: num(q.p90_us), p95: num(q.p95_us), p99: num(q.p99_us), p999: num(q.p999_us) };
}

export function changes(v: unknown): Change[] {
  const out: Change[] = [];
  for (const each of list(v)) {
    const c = raw(each);
    const t = time(c.t);
    if (t) out.push({ t, before: num(c.before_us), after: num(c.after_us), p: num(c.p), kind: text(c.kind) });
  }
  return out;
}

export function trend(v: unknown): Trend {
  const a = raw(v);
  const zones = raw(a.zones);
  const slope = raw(a.trend);
  const diurnal = raw(a.diurnal);
  const profile = raw(a.profile);
  const published = num(a.published_p95_ms);
  return {
    ...head(v),
    kind: text(raw(a.series).kind),
    since: time(a.since),
    until: time(a.until),
    zones: { source: text(zones.source), target: text(zones.target) },
    hours: list(a.hours).map(hour).filter((h): h is Hour => h !== null).sort((x, y) => x.t - y.t),
    inWindow: num(a.hours_in_window),
    withData: num(a.hours_with_data),
    behind: a.behind === true,
    newest: time(a.newest_hour),
    quantiles: quantiles(a.quantiles),
    changes: changes(a.changes),
    slope: a.trend ? { perDay: num(slope.slope_us_per_day), low: num(slope.low), high: num(slope.high), p: num(slope.p), n: num(slope.n) } : null,
    diurnal: a.diurnal ? { daily: diurnal.daily === true, amplitude: num(diurnal.amplitude_us), grade: text(diurnal.class), n: num(diurnal.n) } : null,
    diurnalRefused: text(a.diurnal_refused),
    profile: { utc: profileOf(profile.utc), source: profileOf(profile.source), target: profileOf(profile.target) },
    floor: num(a.floor_us),
    distance: num(a.distance_km),
    published: published === null ? null : published * 1000,
  };
}

function hour(v: unknown): Hour | null {
  const h = raw(v);
  const t = time(h.t);
  if (!t) return null;
  return {
    t: t.getTime() / 1000, n: num(h.n), runs: num(h.runs), min: num(h.min_us), p50: num(h.p50_us), p90: num(h.p90_us), p99: num(h.p99_us),
    loss: num(h.loss_ratio), baseline: num(h.baseline_us), excess: num(h.excess_us), up: num(h.up_bps), down: num(h.down_bps),
  };
}

function profileOf(v: unknown): ProfileHour[] {
  const out: ProfileHour[] = [];
  for (const each of list(v)) {
    const h = raw(each);
    const at = num(h.hour);
    if (at !== null && at >= 0 && at < 24) out.push({ hour: Math.floor(at), n: num(h.n) ?? 0, median: num(h.median_us), q1: num(h.q1_us), q3: num(h.q3_us) });
  }
  return out;
}

export interface HeatmapCell {
  weekday: number;
  hour: number;
  n: number;
  median: Figure;
  q1: Figure;
  q3: Figure;
}

export function heatmap(v: unknown): Head & { zone: string; cells: HeatmapCell[] } {
  const a = raw(v);
  const cells: HeatmapCell[] = [];
  for (const each of list(a.cells)) {
    const c = raw(each);
    const [weekday, at] = [num(c.weekday), num(c.hour)];
    if (weekday === null || at === null || weekday < 0 || weekday > 6 || at < 0 || at > 23) continue;
    cells.push({ weekday, hour: at, n: num(c.n) ?? 0, median: num(c.median_excess_us), q1: num(c.q1_us), q3: num(c.q3_us) });
  }
  return { ...head(v), zone: text(a.zone), cells };
}

export interface Bin {
  from: number;
  to: number;
  count: number;
}

export function distribution(v: unknown): Head & { n: Figure; bins: Bin[]; quantiles: Quantiles } {
  const a = raw(v);
  const bins: Bin[] = [];
  for (const each of list(a.bins)) {
    const b = raw(each);
    const [from, to, n] = [num(b.from_us), num(b.to_us), num(b.count)];
    if (from !== null && to !== null && n !== null && to > from && n >= 0) bins.push({ from, to, count: n });
  }
  return { ...head(v), n: num(a.n), bins, quantiles: quantiles(a.quantiles) };
}

export interface Difference {
  source: string;
  target: string;
  n: Figure;
  us: Figure;
  usLow: Figure;
  usHigh: Figure;
  bps: Figure;
  bpsLow: Figure;
  bpsHigh: Figure;
  onlyA: Figure;
  onlyB: Figure;
}

export function compare(v: unknown): Head & { pairs: Difference[] } {
  const a = raw(v);
  return {
    ...head(v),
    pairs: list(a.pairs).map((each) => {
      const p = raw(each);
      return {
        source: text(p.source), target: text(p.target), n: num(p.n), us: num(p.difference_us), usLow: num(p.low_us), usHigh: num(p.high_us),
        bps: num(p.difference_bps), bpsLow: num(p.low_bps), bpsHigh: num(p.high_bps), onlyA: num(p.only_a), onlyB: num(p.only_b),
      };
    }),
  };
}

export interface Recovery extends Head {
  probe: string;
  bulkProbe: string;
  throughput: { p5: Figure; p5Low: Figure; p5High: Figure; p50: Figure; n: Figure };
  rpo: Figure;
  sustained: boolean | null;
  commit: { n: Figure; p50: Figure; p50Low: Figure; p50High: Figure; p99: Figure; p99Low: Figure; p99High: Figure };
  catchUp: Figure;
  catchUpLow: Figure;
  catchUpHigh: Figure;
  seed: { hour: number; seconds: Figure; fits: boolean | null; n: Figure }[];
  windowLimited: Figure;
  findings: string[];
}

export function recovery(v: unknown): Recovery {
  const a = raw(v);
  const t = raw(a.throughput);
  const c = raw(a.commit_cost);
  return {
    ...head(v),
    probe: text(a.probe),
    bulkProbe: text(a.throughput_probe),
    throughput: { p5: num(t.p5_bps), p5Low: num(t.p5_low_bps), p5High: num(t.p5_high_bps), p50: num(t.p50_bps), n: num(t.n) },
    rpo: num(a.rpo_s),
    sustained: typeof a.sustained === "boolean" ? a.sustained : null,
    commit: { n: num(c.n), p50: num(c.p50_us), p50Low: num(c.p50_low_us), p50High: num(c.p50_high_us), p99: num(c.p99_us), p99Low: num(c.p99_low_us), p99High: num(c.p99_high_us) },
    catchUp: num(a.catch_up_s),
    catchUpLow: num(a.catch_up_low_s),
    catchUpHigh: num(a.catch_up_high_s),
    seed: list(a.seed).map(raw).map((s) => ({ hour: num(s.start_hour) ?? -1, seconds: num(s.seconds), fits: typeof s.fits === "boolean" ? s.fits : null, n: num(s.n) })).filter((s) => s.hour >= 0 && s.hour < 24),
    windowLimited: num(a.window_limited_bps),
    findings: list(a.findings).map((f) => text(raw(f).text)).filter((f) => f !== ""),
  };
}
