// A table of which only what is in sight is in the document, so that ten thousand cells cost what one
// screen of them costs. One stop of the Tab key; arrows move within it.

import { h } from "./dom.ts";

export interface Grid {
  label: string;
  rows: number;
  /** Widths of the columns in pixels, without that of the row headings. */
  columns: number[];
  leadWidth: number;
  rowHeight: number;
  headHeight: number;
  corner(into: HTMLElement): void;
  head(column: number, into: HTMLElement): void;
  lead(row: number, into: HTMLElement): void;
  cell(row: number, column: number, into: HTMLElement): void;
  /** Enter or a click on a cell; row −1 is the headings' row, column −1 the rows' headings. */
  open(row: number, column: number): void;
  /** What the cursor or the pointer is at. */
  at?(row: number, column: number): void;
  /** The key "?". */
  explain?(row: number, column: number): void;
}

const margin = 3; // rows and columns beyond the edge, so that a slow scroll shows no empty stripe

let serial = 0;

export function gridOf(g: Grid): HTMLElement {
  const id = `grid${++serial}`;
  const starts = [0];
  for (const width of g.columns) starts.push(starts[starts.length - 1]! + width);
  const width = g.leadWidth + starts[g.columns.length]!;
  let row = 0;
  let column = 0;
  let shown = "";

  const headings = h("div", { role: "row", class: "headings", "aria-rowindex": 1 });
  const body = h("div", { role: "rowgroup", class: "body" });
  const inner = h("div", { class: "inner", role: "presentation" }, headings, body);
  const outer = h("div", {
    role: "grid", class: "grid", tabindex: 0, "aria-label": g.label, "aria-rowcount": g.rows + 1, "aria-colcount": g.columns.length + 1,
  }, inner);
  inner.style.width = `${width}px`;
  inner.style.height = `${g.headHeight + g.rows * g.rowHeight}px`;
  headings.style.height = `${g.headHeight}px`;

  const place = (el: HTMLElement, r: number, c: number): HTMLElement => {
    el.id = `${id}-${r}-${c}`;
    el.dataset.r = String(r);
    el.dataset.c = String(c);
    el.setAttribute("aria-colindex", String(c + 2));
    el.style.width = `${c < 0 ? g.leadWidth : g.columns[c]!}px`;
    if (r === row && c === column) el.classList.add("cursor");
    return el;
  };
  const spacer = (wide: number): HTMLElement => {
    const el = h("div", { class: "spacer", role: "presentation" });
    el.style.width = `${wide}px`;
    return el;
  };

  const draw = (): void => {
    const top = Math.max(0, Math.floor(outer.scrollTop / g.rowHeight) - margin);
    const bottom = Math.min(g.rows, Math.ceil((outer.scrollTop + outer.clientHeight) / g.rowHeight) + margin);
    const left = Math.max(0, starts.findLastIndex((x) => x <= outer.scrollLeft) - margin);
    const beyond = starts.findIndex((x) => x > outer.scrollLeft + outer.clientWidth);
    const right = Math.min(g.columns.length, (beyond < 0 ? g.columns.length : beyond) + margin);
    const now = [top, bottom, left, right, row, column].join();
    if (now === shown) return;
    shown = now;
    const corner = place(h("div", { role: "columnheader", class: "lead corner" }), -1, -1);
    g.corner(corner);
    headings.replaceChildren(corner, spacer(starts[left]!));
    for (let c = left; c < right; c++) {
      const el = place(h("div", { role: "columnheader", class: "head" }), -1, c);
      g.head(c, el);
      headings.append(el);
    }
    const rows: HTMLElement[] = [];
    for (let r = top; r < bottom; r++) {
      const lead = place(h("div", { role: "rowheader", class: "lead" }), r, -1);
      g.lead(r, lead);
      const line = h("div", { role: "row", class: "line", "aria-rowindex": r + 2 }, lead, spacer(starts[left]!));
      line.style.top = `${g.headHeight + r * g.rowHeight}px`;
      line.style.height = `${g.rowHeight}px`;
      for (let c = left; c < right; c++) {
        const el = place(h("div", { role: "gridcell", class: "cell" }), r, c);
        g.cell(r, c, el);
        line.append(el);
      }
      rows.push(line);
    }
    body.replaceChildren(...rows);
    outer.setAttribute("aria-activedescendant", `${id}-${row}-${column}`);
  };

  const move = (r: number, c: number): void => {
    row = Math.max(-1, Math.min(g.rows - 1, r));
    column = Math.max(-1, Math.min(g.columns.length - 1, c));
    if (row >= 0) {
      const y = row * g.rowHeight;
      const high = outer.clientHeight - g.headHeight;
      if (y < outer.scrollTop) outer.scrollTop = y;
      else if (y + g.rowHeight > outer.scrollTop + high) outer.scrollTop = y + g.rowHeight - high;
    }
    if (column >= 0) {
      const x = starts[column]!;
      const wide = outer.clientWidth - g.leadWidth;
      if (x < outer.scrollLeft) outer.scrollLeft = x;
      else if (x + g.columns[column]! > outer.scrollLeft + wide) outer.scrollLeft = x + g.columns[column]! - wide;
    }
    draw();
    g.at?.(row, column);
  };

  let waiting = 0;
  outer.addEventListener("scroll", () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  }, { passive: true });
  outer.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((outer.clientHeight - g.headHeight) / g.rowHeight) - 1);
    const to: Record<string, [number, number]> = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column], PageDown: [row + page, column],
      Home: event.ctrlKey ? [0, 0] : [row, 0], End: event.ctrlKey ? [g.rows - 1, g.columns.length - 1] : [row, g.columns.length - 1],
    };
    if (to[event.key]) move(...to[event.key]!);
    else if (event.key === "Enter" || event.key === " ") g.open(row, column);
    else if (event.key === "?" && g.explain) g.explain(row, column);
    else return;
    event.preventDefault();
  });
  const under = (event: Event): [number, number] | null => {
    const el = (event.target as Element).closest<HTMLElement>("[data-r]");
    return el ? [Number(el.dataset.r), Number(el.dataset.c)] : null;
  };
  outer.addEventListener("click", (event) => {
    const found = under(event);
    if (!found || (event.target as Element).closest("button")) return;
    [row, column] = found;
    g.open(row, column);
  });
  outer.addEventListener("pointerover", (event) => {
    const found = under(event);
    if (found) g.at?.(...found);
  });
  outer.addEventListener("focus", () => g.at?.(row, column));
  new ResizeObserver(() => {
    shown = "";
    draw();
  }).observe(outer);
  return outer;
}
