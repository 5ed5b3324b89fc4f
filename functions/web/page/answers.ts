// The answers of Query, read once at the edge. What is not of the kind that the contract says becomes
// absent: nothing behind this file meets a string where a number should be.

import type { Figure } from "./format.ts";

export type Raw = Record<string, unknown>;

export const raw = (v: unknown): Raw => (typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Raw) : {});
export const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
export const num = (v: unknown): Figure => (typeof v === "number" && Number.isFinite(v) ? v : null);
export const text = (v: unknown): string => (typeof v === "string" ? v.slice(0, 500) : "");
export const texts = (v: unknown): string[] => list(v).map(text).filter((t) => t !== "");
export function time(v: unknown): Date | null {
  if (typeof v !== "string") return null;
  const t = new Date(v);
  return Number.isNaN(t.getTime()) ? null : t;
}

export interface Head {
  environment: string;
  simulated: boolean;
  generated: Date | null;
  restsOn: { samples: Figure; runs: Figure; hours: Figure };
}

export function head(v: unknown): Head {
  const a = raw(v);
  const r = raw(a.rests_on);
  return {
    environment: text(a.environment),
    simulated: a.simulated === true,
    generated: time(a.generated_at),
    restsOn: { samples: num(r.samples), runs: num(r.runs), hours: num(r.hours) },
  };
}

export interface Probe {
  name: string;
  kind: string;
  schedule: string;
  paths: string[];
}
export interface Prober {
  id: string;
  region: string;
  name: string;
  geography: string;
  longitude: Figure;
  zone: string;
  paths: string[];
}
export interface Overview extends Head {
  paths: string[];
  path: string;
  probe: string;
  probes: Probe[];
  probers: Map<string, Prober>;
  endpoints: string[];
}

export function overview(v: unknown): Overview {
  const a = raw(v);
  const d = raw(a.default);
  const probers = new Map<string, Prober>();
  for (const each of list(a.probers)) {
    const p = raw(each);
    const id = text(p.id);
    probers.set(id, { id, region: text(p.region), name: text(p.display_name), geography: text(p.geography), longitude: num(p.longitude), zone: text(p.time_zone), paths: texts(p.paths) });
  }
  const probes = list(a.probes).map((each) => {
    const p = raw(each);
    return { name: text(p.name), kind: text(p.kind), schedule: text(p.schedule), paths: texts(p.paths) };
  });
  return { ...head(v), paths: texts(a.paths), path: text(d.path), probe: text(d.probe), probes, probers, endpoints: list(a.endpoints).map((e) => text(raw(e).name)) };
}

export interface Cell {
  source: string;
  target: string;
  state: string;
  failure: string;
  detail: string;
  slot: Date | null;
  age: Figure;
  stale: boolean;
  degraded: string;
  simulated: boolean;
  n: Figure;
  sent: Figure;
  lost: Figure;
  p50: Figure;
  p50Low: Figure;
  p50High: Figure;
  p90: Figure;
  p99: Figure;
  p99Low: Figure;
  p99High: Figure;
  loss: Figure;
  lossLow: Figure;
  lossHigh: Figure;
  up: Figure;
  down: Figure;
  distance: Figure;
  floor: Figure;
  excess: Figure;
  stretch: Figure;
  published: Figure; // µs, as all others
}
export interface Matrix extends Head {
  path: string;
  probe: string;
  kind: string;
  newest: Date | null;
  series: Figure;
  measured: Figure;
  stale: Figure;
  failed: Figure;
  missing: Figure;
  degraded: Figure;
  cells: Cell[];
}

export function matrix(v: unknown): Matrix {
  const a = raw(v);
  return {
    ...head(v),
    path: text(a.path),
    probe: text(a.probe),
    kind: text(a.kind),
    newest: time(a.newest_slot),
    series: num(a.series),
    measured: num(a.measured),
    stale: num(a.stale),
    failed: num(a.failed),
    missing: num(a.missing),
    degraded: num(a.degraded),
    cells: list(a.cells).map(cell),
  };
}

function cell(v: unknown): Cell {
  const c = raw(v);
  const published = num(c.published_p95_ms);
  return {
    source: text(c.source),
    target: text(c.target),
    state: text(c.state),
    failure: text(c.failure),
    detail: text(c.detail),
    slot: time(c.slot),
    age: num(c.age_s),
    stale: c.stale === true,
    degraded: text(c.degraded),
    simulated: c.simulated === true,
    n: num(c.n),
    sent: num(c.sent),
    lost: num(c.lost),
    p50: num(c.p50_us),
    p50Low: num(c.p50_low_us),
    p50High: num(c.p50_high_us),
    p90: num(c.p90_us),
    p99: num(c.p99_us),
    p99Low: num(c.p99_low_us),
    p99High: num(c.p99_high_us),
    loss: num(c.loss_ratio),
    lossLow: num(c.loss_ratio_low),
    lossHigh: num(c.loss_ratio_high),
    up: num(c.throughput_up_bps),
    down: num(c.throughput_down_bps),
    distance: num(c.distance_km),
    floor: num(c.floor_us),
    excess: num(c.excess_us),
    stretch: num(c.stretch),
    published: published === null ? null : published * 1000,
  };
}
