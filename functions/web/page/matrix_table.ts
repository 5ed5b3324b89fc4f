import type { Cell, Matrix } from "./answers.ts";
import type { Context } from "./context.ts";
import { add, h, replace } from "./dom.ts";
import { about, explain } from "./explain_dialog.ts";
import { absent, ago, count, type Figure } from "./format.ts";
import { gridOf } from "./grid.ts";
import { describe, marks, word } from "./matrix_cell.ts";
import { latency, measuresOf, type Measure } from "./measures.ts";

interface Column {
  key: string;
  name: string;
  about: string;
  width: number;
  measure?: Measure;
  text(c: Cell): string;
  value(c: Cell): Figure | string;
}

/** pairsTable has a row for every pair and a column for every figure; each sorts. */
export function pairsTable(c: Context, m: Matrix, cells: Cell[], detail: HTMLElement): HTMLElement {
  const columns: Column[] = [
    { key: "target", name: "to", about: "state", width: 134, text: (x) => x.target, value: (x) => x.target },
    ...measuresOf(m.cells).map((measure): Column => ({
      key: measure.key, name: `${measure.name}, ${measure.unit}`, about: measure.about, width: wide(`${measure.name}, ${measure.unit}`), measure, value: measure.value,
      text: (x) => textOf(x, measure),
    })),
    { key: "distance", name: "distance, km", about: "distance", width: wide("distance, km"), text: (x) => count(x.distance), value: (x) => x.distance },
    { key: "n", name: "n", about: "n", width: 62, text: (x) => count(x.n), value: (x) => x.n },
    { key: "age", name: "age", about: "age", width: 78, text: (x) => ago(x.age), value: (x) => x.age },
  ];
  const by = columns.find((k) => k.key === c.view.sort);
  const down = c.view.dir === "down";
  const rows = sorted(cells, by, down);
  const sort = (key: string): void => c.go(key === c.view.sort || (key === "source" && !by) ? { sort: key === "source" ? "" : key, dir: down ? "" : "down" } : { sort: key === "source" ? "" : key, dir: "" });
  const arrow = (key: string): string => ((by?.key ?? "source") === key ? (down ? " ▼" : " ▲") : "");
  const narrow = innerWidth < 600;
  const heading = (el: HTMLElement, key: string, name: string): void => {
    if (arrow(key)) el.setAttribute("aria-sort", down ? "descending" : "ascending");
    const explained = about(columns.find((k) => k.key === key)?.about ?? "state");
    explained.tabIndex = -1; // the table is one stop of the Tab key: ? does the same
    add(el, h("span", {}, name + arrow(key)), explained);
  };
  const grid = gridOf({
    label: "Pairs; Enter on a heading sorts by it",
    rows: rows.length,
    columns: columns.map((k) => k.width + (arrow(k.key) ? 18 : 0)),
    leadWidth: narrow ? 112 : 134,
    rowHeight: 28,
    headHeight: 36,
    corner: (el) => heading(el, "source", "from"),
    head(k, el) {
      el.classList.add(typeof columns[k]!.value(rows[0]!) === "string" ? "words" : "numbers");
      el.dataset.sort = columns[k]!.key;
      heading(el, columns[k]!.key, columns[k]!.name);
    },
    lead: (r, el) => add(el, h("span", { class: "cut", title: rows[r]!.source }, rows[r]!.source)),
    cell(r, k, el) {
      const x = rows[r]!;
      el.classList.add(columns[k]!.key === "target" ? "words" : "numbers");
      if (columns[k]!.key === "p50" && x.state !== "measured") el.classList.add(x.state === "failed" ? "failed" : "missing");
      add(el, h("span", { class: "cut" }, columns[k]!.text(x)));
    },
    open(r, k) {
      if (r < 0) return sort(k < 0 ? "source" : columns[k]!.key);
      c.go({ page: "pair", source: rows[r]!.source, target: rows[r]!.target, path: m.path, probe: m.probe });
    },
    at(r, k) {
      replace(detail, r < 0 ? "Enter sorts by this column, ? explains it." : describe(rows[r]!, columns[k]?.measure ?? latency[0]!));
    },
    explain: (_r, k) => explain(columns[k]?.about ?? "state"),
  });
  grid.id = "pairs";
  return grid;
}

/** textOf is a figure of a pair; what a run came to instead stands under p50 alone, and not in every column. */
function textOf(x: Cell, m: Measure): string {
  const value = m.value(x);
  if (value !== null) return m.show(value) + (m.key === "p50" ? marks(x) : "");
  return m.key === "p50" || x.state === "measured" ? word(x, m) : absent;
}

/** wide is how much room a heading needs, with the button of its explanation. */
const wide = (heading: string): number => Math.round(heading.length * 7.3) + 44;

/** sorted orders by a column; what is absent comes last whichever way. */
function sorted(cells: Cell[], by: Column | undefined, down: boolean): Cell[] {
  const turn = down ? -1 : 1;
  const names = (a: Cell, b: Cell): number => compare(a.source, b.source) || compare(a.target, b.target);
  return cells.toSorted((a, b) => {
    if (!by) return turn * names(a, b);
    const [x, y] = [by.value(a), by.value(b)];
    if (x === null || y === null) return x === y ? names(a, b) : x === null ? 1 : -1;
    return turn * compare(x, y) || names(a, b);
  });
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
