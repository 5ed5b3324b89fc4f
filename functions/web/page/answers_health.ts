// The answers about probers and events, read as answers.ts reads the others.

import { head, list, num, raw, text, texts, time, type Head } from "./answers.ts";
import { changes, type Change } from "./answers_history.ts";
import type { Figure } from "./format.ts";

export interface Counts {
  planned: number;
  received: number;
  failed: number;
  expired: number;
  missed: number;
  open: number;
  lost: number;
}
export interface CoverageHour extends Counts {
  t: number; // s since 1970
}
export interface ProberCoverage extends Counts {
  prober: string;
  hours: CoverageHour[];
}
export interface Coverage extends Head {
  since: Date | null;
  until: Date | null;
  notes: string[];
  probers: ProberCoverage[];
  next: string;
}

function counts(v: unknown): Counts {
  const c = raw(v);
  const n = (name: string): number => Math.max(0, num(c[name]) ?? 0);
  return { planned: n("planned"), received: n("received"), failed: n("failed"), expired: n("expired"), missed: n("missed"), open: n("open"), lost: n("lost") };
}

export function coverage(v: unknown): Coverage {
  const a = raw(v);
  const probers = list(a.probers).map((each): ProberCoverage => {
    const hours: CoverageHour[] = [];
    for (const x of list(raw(each).hours)) {
      const t = time(raw(x).t);
      if (t) hours.push({ ...counts(x), t: t.getTime() / 1000 });
    }
    return { ...counts(each), prober: text(raw(each).prober), hours };
  });
  return { ...head(v), since: time(a.since), until: time(a.until), notes: texts(a.notes), probers, next: text(a.next) };
}

export interface Health {
  id: string;
  region: string;
  state: string;
  age: Figure; // s
  version: string;
  size: string;
  clock: Figure; // ms
  paths: string[];
  finding: string;
}

export function probers(v: unknown): Head & { probers: Health[] } {
  return {
    ...head(v),
    probers: list(raw(v).probers).map((each) => {
      const p = raw(each);
      return {
        id: text(p.id), region: text(p.region), state: text(p.state), age: num(p.heartbeat_age_s), version: text(p.version), size: text(p.vm_size), clock: num(p.clock_error_ms),
        paths: texts(p.paths), finding: text(p.finding),
      };
    }),
  };
}

export interface SeriesChange extends Change {
  source: string;
  target: string;
  path: string;
  probe: string;
}

export function seriesChanges(v: unknown): Head & { changes: SeriesChange[]; next: string; series: Figure; tooShort: Figure } {
  const a = raw(v);
  const found: SeriesChange[] = [];
  for (const each of list(a.changes)) {
    const c = raw(each);
    const [one] = changes([each]);
    if (one) found.push({ ...one, source: text(c.source), target: text(c.target), path: text(c.path), probe: text(c.probe) });
  }
  return { ...head(v), changes: found, next: text(a.next), series: num(a.series), tooShort: num(a.series_too_short) };
}

export interface Alert {
  kind: string;
  series: string;
  source: string;
  target: string;
  path: string;
  probe: string;
  raised: Date | null;
  ended: Date | null;
  message: string;
  endMessage: string;
}

export function alerts(v: unknown): Head & { alerts: Alert[]; next: string } {
  return {
    ...head(v),
    next: text(raw(v).next),
    alerts: list(raw(v).alerts).map((each) => {
      const a = raw(each);
      return {
        kind: text(a.kind), series: text(a.series), source: text(a.source), target: text(a.target), path: text(a.path), probe: text(a.probe),
        raised: time(a.raised_at), ended: time(a.ended_at), message: text(a.message), endMessage: text(a.end_message),
      };
    }),
  };
}
