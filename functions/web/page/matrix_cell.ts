// One cell of a matrix in words.

import type { Cell } from "./answers.ts";
import { absent, ago, count, utc, withMs, withPercent } from "./format.ts";
import type { Measure } from "./measures.ts";

/** marks stand at figures that want care: ~ degraded, * older than the newest slot. */
export const marks = (c: Cell): string => (c.degraded ? "~" : "") + (c.stale ? "*" : "");

/** word stands where there is no figure. */
export function word(c: Cell, m: Measure): string {
  if (c.state === "failed") return (c.failure || "failed") + (c.stale ? "*" : "");
  if (c.state === "missing") return "missing";
  if (m.key === "p99" && c.p50 !== null) return "few";
  return absent;
}

/** describe is all that a cell has to say of a figure. */
export function describe(c: Cell, m: Measure): string {
  const name = `${c.source} → ${c.target}: `;
  if (c.state === "missing") return name + "missing: the configuration has the pair, and there is no run of it";
  const parts = c.state === "failed" ? [`failed, ${c.failure || "no code"}${c.detail ? ` (${c.detail})` : ""}`] : figures(c, m);
  if (m.key !== "loss" && c.loss !== null) parts.push(`loss ${withPercent(c.loss)}`);
  parts.push(`n ${count(c.n)} of ${count(c.sent)} sent`, `slot ${utc(c.slot)}${c.age === null ? "" : `, ${ago(c.age)} ago`}`);
  if (c.stale) parts.push("older than the newest slot");
  if (c.degraded) parts.push(`degraded: ${c.degraded}`);
  return name + parts.join(" · ");
}

function figures(c: Cell, m: Measure): string[] {
  const value = m.value(c);
  const interval = m.interval(c);
  const parts = [`${m.name} ${value === null ? word(c, m) : m.show(value) + " " + m.unit}${interval ? ` (95 %: ${interval})` : ""}`];
  if (m.key === "published") parts.push(`p50 ${withMs(c.p50)}, published p95 ${withMs(c.published)}`);
  if (m.key === "excess" || m.key === "stretch") parts.push(`p50 ${withMs(c.p50)}, light ${withMs(c.floor)} over ${count(c.distance)} km`);
  return parts;
}
