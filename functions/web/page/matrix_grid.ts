import type { Cell, Matrix } from "./answers.ts";
import type { Context } from "./context.ts";
import { add, h, replace } from "./dom.ts";
import { explain } from "./explain_dialog.ts";
import { gridOf } from "./grid.ts";
import { describe, marks, word } from "./matrix_cell.ts";
import { painter, type Measure } from "./measures.ts";

/** matrixGrid is the matrix itself: rows are sources, columns are targets. */
export function matrixGrid(c: Context, m: Matrix, measure: Measure, cells: Cell[], detail: HTMLElement): HTMLElement[] {
  const at = new Map<string, Map<string, Cell>>();
  for (const cell of cells) {
    let row = at.get(cell.source);
    if (!row) at.set(cell.source, (row = new Map()));
    row.set(cell.target, cell);
  }
  const order = ordered(c, measure, cells);
  const sources = [...at.keys()].sort(order);
  const targets = [...new Set(cells.map((cell) => cell.target))].sort(order);
  const values = cells.map(measure.value).filter((v): v is number => v !== null);
  const scale = painter(measure, values);
  const find = (r: number, k: number): Cell | undefined => at.get(sources[r]!)?.get(targets[k]!);
  const longest = (names: string[]): number => names.reduce((most, name) => Math.max(most, name.length), 0);
  const narrow = innerWidth < 600;

  const grid = gridOf({
    label: `${measure.name} of every pair: rows are sources, columns are targets`,
    rows: sources.length,
    columns: targets.map(() => (narrow ? 58 : 66)),
    leadWidth: Math.min(narrow ? 112 : 220, 24 + longest(sources) * 7.5),
    rowHeight: 28,
    headHeight: Math.min(narrow ? 110 : 150, Math.max(60, 20 + longest(targets) * 7.6)),
    corner: (el) => add(el, h("span", {}, "from ↓ to →")),
    head(k, el) {
      el.classList.add("slanted");
      el.title = targets[k]!;
      add(el, h("span", {}, targets[k]!));
    },
    lead(r, el) {
      el.title = sources[r]!;
      add(el, h("span", { class: "cut" }, sources[r]!));
    },
    cell(r, k, el) {
      const cell = find(r, k);
      if (!cell) {
        el.classList.add("nothing");
        el.setAttribute("aria-label", sources[r] === targets[k] ? "the same prober" : "not measured by this probe");
        return;
      }
      const value = measure.value(cell);
      add(el, value !== null && cell.state !== "failed" ? measure.show(value) + marks(cell) : word(cell, measure));
      el.setAttribute("aria-label", describe(cell, measure));
      if (cell.state === "failed" || cell.state === "missing") el.classList.add(cell.state);
      else if (value !== null) {
        const { fill, ink } = scale.paint(value);
        el.style.background = fill;
        el.style.color = ink;
      }
    },
    open(r, k) {
      const cell = find(r, k);
      if (cell) c.go({ page: "pair", source: cell.source, target: cell.target, path: m.path, probe: m.probe });
    },
    at(r, k) {
      const cell = r >= 0 && k >= 0 ? find(r, k) : undefined;
      replace(detail, cell ? describe(cell, measure) : "Arrows move, Enter opens the pair, ? explains the figure.");
    },
    explain: () => explain(measure.about),
  });
  grid.id = "matrix";
  return [legend(measure, scale), grid];
}

/** ordered compares two ends of pairs as the view wants it. */
function ordered(c: Context, measure: Measure, cells: Cell[]): (a: string, b: string) => number {
  const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  const by = new Map<string, number>();
  if (c.view.sort === "east") {
    for (const [id, p] of c.overview.probers) if (p.longitude !== null) by.set(id, p.longitude);
  } else if (c.view.sort === "value") {
    const sums = new Map<string, number[]>();
    for (const cell of cells) {
      const v = measure.value(cell);
      if (v === null) continue;
      for (const end of [cell.source, cell.target]) {
        let all = sums.get(end);
        if (!all) sums.set(end, (all = []));
        all.push(v);
      }
    }
    for (const [end, all] of sums) by.set(end, -(all.sort((a, b) => a - b)[all.length >> 1] ?? 0));
  } else return byName;
  return (a, b) => (by.get(a) ?? Infinity) - (by.get(b) ?? Infinity) || byName(a, b);
}

function legend(measure: Measure, scale: ReturnType<typeof painter>): HTMLElement {
  const ramp = h("span", { class: "ramp", "aria-hidden": "true" });
  for (let i = 0; i < 12; i++) {
    const step = h("span");
    step.style.background = scale.paint(scale.low + ((scale.high - scale.low) * i) / 11).fill;
    ramp.append(step);
  }
  const shown = (v: number): string => measure.show(v);
  return h("p", { class: "legend" }, `${measure.name} in ${measure.unit}`, h("span", { class: "scale" }, shown(scale.low), ramp, shown(scale.high)));
}
