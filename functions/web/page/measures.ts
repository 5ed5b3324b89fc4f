// What a matrix can show of a pair: one entry a figure, used by the grid, the table and the pair's page.

import type { Cell } from "./answers.ts";
import { digits, ms, percent, range, signed, withMs, withPercent, type Figure } from "./format.ts";
import { diverging, sequential, type Paint } from "./palette.ts";

export interface Measure {
  key: string;
  name: string;
  unit: string;
  /** The entry of the explanations. */
  about: string;
  value(c: Cell): Figure;
  /** The figure without its unit, as it stands in a cell. */
  show(v: Figure): string;
  interval(c: Cell): string;
  /** Where the scale of colours begins: at the least figure, at zero, or about zero with two hues. */
  scale: "least" | "zero" | "about zero";
}

const none = (): string => "";
const absentMs = (v: Figure): string => ms(v);
const mbits = (v: Figure): string => (v === null ? "–" : digits(v / 1e6));

export const latency: Measure[] = [
  { key: "p50", name: "p50", unit: "ms", about: "p50", value: (c) => c.p50, show: absentMs, interval: (c) => range(c.p50Low, c.p50High, withMs), scale: "least" },
  { key: "p99", name: "p99", unit: "ms", about: "p99", value: (c) => c.p99, show: absentMs, interval: (c) => range(c.p99Low, c.p99High, withMs), scale: "least" },
  { key: "loss", name: "loss", unit: "%", about: "loss", value: (c) => c.loss, show: percent, interval: (c) => range(c.lossLow, c.lossHigh, withPercent), scale: "zero" },
  { key: "excess", name: "excess", unit: "ms", about: "excess", value: (c) => c.excess, show: absentMs, interval: none, scale: "zero" },
  { key: "stretch", name: "stretch", unit: "×", about: "stretch", value: (c) => c.stretch, show: (v) => (v === null ? "–" : digits(v)), interval: none, scale: "least" },
  {
    key: "published", name: "vs published", unit: "ms", about: "published", interval: none, scale: "about zero",
    value: (c) => (c.p50 === null || c.published === null ? null : c.p50 - c.published),
    show: (v) => (v === null ? "–" : signed(v / 1000)),
  },
];

export const bulk: Measure[] = [
  { key: "up", name: "to target", unit: "Mbit/s", about: "throughput", value: (c) => c.up, show: mbits, interval: none, scale: "zero" },
  { key: "down", name: "from target", unit: "Mbit/s", about: "throughput", value: (c) => c.down, show: mbits, interval: none, scale: "zero" },
];

/** measuresOf are the figures that cells have: bulk kinds have rates, and some have round trips as well. */
export function measuresOf(cells: Cell[]): Measure[] {
  const has = (m: Measure): boolean => cells.some((c) => m.value(c) !== null);
  const rates = bulk.filter(has);
  return rates.length > 0 ? [...rates, ...latency.filter(has)] : latency;
}

/** painter gives each figure its colour; the scale leaves out the outermost 2 % at either end. */
export function painter(m: Measure, values: number[]): { paint(v: number): Paint; low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (p: number): number => sorted[Math.round(p * (sorted.length - 1))] ?? 0;
  if (m.scale === "about zero") {
    const most = Math.max(Math.abs(at(0.02)), Math.abs(at(0.98))) || 1;
    return { paint: (v) => diverging(v / most), low: -most, high: most };
  }
  const low = m.scale === "zero" ? 0 : at(0.02);
  const high = Math.max(at(0.98), low);
  return { paint: (v) => sequential(high > low ? (v - low) / (high - low) : 0), low, high };
}
