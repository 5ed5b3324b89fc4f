// A long series by the hour, on a canvas. Hours without data are hatched, and no line crosses them.

import uPlot from "uplot";
import { h, replace } from "./dom.ts";
import { fitted } from "./fitted.ts";
import { absent, clock, day, digits, tick, utc, type Figure } from "./format.ts";
import { whenLeft } from "./leave.ts";
import { css } from "./palette.ts";

export interface Line {
  name: string;
  values: Figure[]; // in the chart's unit
  colour: string; // of the style sheet
  width: number;
  dash?: number[];
  step?: boolean;
}
export interface LineChart {
  label: string;
  unit: string;
  /** The hours, every one of the window, in s since 1970. */
  xs: number[];
  lines: Line[];
  fromZero: boolean;
  marks: { t: number; text: string }[];
  /** What else there is to say of an hour. */
  beside(index: number): string;
}

/** hoursBetween are all the hours of a window, and the place of each; at most ten years of them. */
export function hoursBetween(from: number, to: number): number[] {
  const begin = Math.floor(from / 3600) * 3600;
  const n = Math.max(0, Math.min(87_660, Math.ceil((to - begin) / 3600)));
  return Array.from({ length: n }, (_, i) => begin + i * 3600);
}

export function lineChart(c: LineChart): HTMLElement {
  const readout = h("p", { class: "readout" }, `${c.lines.map((l) => l.name).join(", ")} in ${c.unit}. Point at the chart, or focus it and use the arrow keys, to read an hour; drag to look closer, double-click to go back.`);
  const has = (i: number): boolean => c.lines.some((l) => l.values[i] !== null && l.values[i] !== undefined);
  const say = (i: number): void => {
    const figures = c.lines.map((l) => `${l.name} ${l.values[i] === null || l.values[i] === undefined ? absent : digits(l.values[i]!) + " " + c.unit}`);
    replace(readout, `${utc(new Date(c.xs[i]! * 1000))} · ${has(i) ? figures.join(" · ") + c.beside(i) : "no data"}`);
  };
  let drawn: uPlot | null = null;
  whenLeft(() => drawn?.destroy());
  const chart = fitted((width) => {
    drawn?.destroy();
    const box = h("div", { class: "lines", tabindex: 0, role: "img", "aria-label": c.label });
    const plot = new uPlot(options(c, width, has, say), [c.xs, ...c.lines.map((l) => l.values)] as uPlot.AlignedData, box);
    drawn = plot;
    let at = c.xs.length - 1;
    box.addEventListener("keydown", (event) => {
      const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -24, PageDown: 24, Home: -1e9, End: 1e9 };
      if (!(event.key in by)) return;
      at = Math.max(0, Math.min(c.xs.length - 1, at + by[event.key]!));
      plot.setCursor({ left: plot.valToPos(c.xs[at]!, "x"), top: 10 });
      say(at);
      event.preventDefault();
    });
    return box;
  });
  return h("div", {}, chart, readout);
}

function options(c: LineChart, width: number, has: (i: number) => boolean, say: (i: number) => void): uPlot.Options {
  const [ink, soft, grid, hatch] = [css("ink"), css("soft"), css("line"), css("hatch")];
  const font = "12px system-ui, sans-serif";
  const axis = { stroke: soft, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  return {
    width,
    height: width < 500 ? 220 : 280,
    padding: [c.marks.length > 0 ? 34 : 12, 66, 0, 0],
    tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_u, low, high) => yRange(low, high, c.fromZero) } },
    axes: [{ ...axis, size: 30, space: 64, values: (_u, ticks) => ticks.map(moment) }, { ...axis, size: 52, values: (_u, ticks) => ticks.map(tick) }],
    series: [
      {},
      ...c.lines.map((l): uPlot.Series => ({
        stroke: css(l.colour), width: l.width, dash: l.dash, spanGaps: false, points: { show: true, size: 5, fill: css(l.colour), filter: () => alone(l.values) },
        ...(l.step ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
      })),
    ],
    hooks: {
      drawClear: [(u) => mask(u, c.xs, has, hatch)],
      draw: [(u) => labels(u, c, ink), (u) => marks(u, c, ink)],
      setCursor: [(u) => { if (typeof u.cursor.idx === "number" && (u.cursor.left ?? -1) >= 0) say(u.cursor.idx); }],
    },
  };
}

const moment = (t: number): string => (t % 86400 === 0 ? day(new Date(t * 1000)) : clock(new Date(t * 1000).getUTCHours()));

/** alone are the points that no line reaches, since both hours beside them have no data. */
function alone(values: Figure[]): number[] {
  const none = (i: number): boolean => values[i] === null || values[i] === undefined;
  return values.flatMap((_v, i) => (!none(i) && none(i - 1) && none(i + 1) ? [i] : []));
}

function yRange(low: number | null, high: number | null, fromZero: boolean): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (fromZero) return [0, high * 1.05 || 1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

/** gaps are the stretches without data, longer than what usually lies between two hours with data: one that is
 * measured every night has no gap by day. */
function gaps(n: number, has: (i: number) => boolean): [from: number, to: number][] {
  const known: number[] = [];
  for (let i = 0; i < n; i++) if (has(i)) known.push(i);
  const apart = known.slice(1).map((i, k) => i - known[k]!).sort((a, b) => a - b);
  const usual = apart[apart.length >> 1] ?? 1;
  const out: [number, number][] = [];
  let before = -1;
  for (const i of [...known, n]) {
    if (i - before > 1.5 * usual) out.push([before + 1, i - 1]);
    before = i;
  }
  return out;
}

/** mask hatches the hours that have no data. */
function mask(u: uPlot, xs: number[], has: (i: number) => boolean, colour: string): void {
  const { ctx, bbox } = u;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d")!;
  t.strokeStyle = colour;
  t.lineWidth = 2;
  t.beginPath();
  for (const at of [-8, 0, 8]) {
    t.moveTo(at - 1, 9);
    t.lineTo(at + 9, -1);
  }
  t.stroke();
  ctx.save();
  ctx.fillStyle = ctx.createPattern(tile, "repeat")!;
  for (const [from, to] of gaps(xs.length, has)) {
    const left = Math.max(bbox.left, u.valToPos(xs[from]! - 1800, "x", true));
    const right = Math.min(bbox.left + bbox.width, u.valToPos(xs[to]! + 1800, "x", true));
    if (right > left) ctx.fillRect(left, bbox.top, Math.max(1, right - left), bbox.height);
  }
  ctx.restore();
}

/** labels names each line at its right end. */
function labels(u: uPlot, c: LineChart, ink: string): void {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const found: { y: number; line: Line }[] = [];
  for (const line of c.lines) {
    let last = line.values.length - 1;
    while (last >= 0 && (line.values[last] === null || c.xs[last]! > u.scales.x!.max!)) last--;
    if (last >= 0) found.push({ y: u.valToPos(line.values[last]!, "y", true), line });
  }
  found.sort((a, b) => a.y - b.y);
  let free = bbox.top;
  for (const { y, line } of found) {
    const at = Math.max(y, free + 7 * ratio);
    free = at + 7 * ratio;
    ctx.fillStyle = line.colour === "thin" ? ink : css(line.colour);
    ctx.fillText(line.name, bbox.left + bbox.width + 6 * ratio, at);
  }
  ctx.restore();
}

/** marks draws a line at every change point, and what changed above it where there is room. */
function marks(u: uPlot, c: LineChart, ink: string): void {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = ink;
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left";
  let free = -Infinity;
  for (const { t, text } of c.marks) {
    const x = u.valToPos(t - 1800, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const wide = ctx.measureText(text).width;
    const left = Math.max(bbox.left, Math.min(x - wide / 2, bbox.left + bbox.width - wide));
    if (left < free) continue; // the list below the chart has them all
    ctx.fillText(text, left, bbox.top - 4 * ratio);
    free = left + wide + 8 * ratio;
  }
  ctx.restore();
}
