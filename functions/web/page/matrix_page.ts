import { matrix as readMatrix, type Matrix } from "./answers.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { h, type Child } from "./dom.ts";
import { about } from "./explain_dialog.ts";
import { count, plural } from "./format.ts";
import { latency, measuresOf } from "./measures.ts";
import { matrixGrid } from "./matrix_grid.ts";
import { pairsTable } from "./matrix_table.ts";
import { choice, note, restsOn, toggle } from "./parts.ts";
import { when } from "./when.ts";

/** chosen are the path and the probe of a view, as far as the environment has them. */
export function chosen(c: Context): { path: string; probe: string } {
  const { overview: o, view } = c;
  const path = view.path || o.path || o.paths[0] || "";
  const fits = o.probes.filter((p) => p.paths.includes(path));
  const probe = view.probe || (fits.some((p) => p.name === o.probe) ? o.probe : (fits[0]?.name ?? o.probe));
  return { path, probe };
}

/** selectors choose path and probe. */
export function selectors(c: Context, path: string, probe: string): HTMLElement[] {
  const paths = [...new Set([...c.overview.paths, path])].filter((p) => p !== "");
  const probes = c.overview.probes.filter((p) => p.paths.includes(path));
  const options = probes.map((p): [string, string] => [p.name, p.kind && p.kind !== p.name ? `${p.name} (${p.kind})` : p.name]);
  if (!options.some(([name]) => name === probe)) options.push([probe, probe]);
  const keeps = (p: string): boolean => c.overview.probes.some((each) => each.name === probe && each.paths.includes(p));
  return [
    choice("path", "Path", paths.map((p) => [p, p]), path, (p) => c.go({ path: p, probe: keeps(p) ? probe : "" })),
    choice("probe", "Probe", options, probe, (p) => c.go({ path, probe: p })),
  ];
}

export async function showMatrix(c: Context): Promise<Child[]> {
  const { path, probe } = chosen(c);
  if (!path || !probe) return [h("h1", {}, "Matrix"), note("The configuration has no probe yet. Write one into sweep.yaml, and push it with sweep config push.")];
  const m = readMatrix(await ask("matrix", { path, probe }));
  const measures = measuresOf(m.cells);
  const measure = measures.find((each) => each.key === c.view.stat) ?? measures[0] ?? latency[0]!;
  const table = c.view.as === "table";
  let typed = 0;
  const find = h("input", { type: "search", id: "find", placeholder: "region", value: c.view.find, autocomplete: "off", maxlength: 100, input: () => {
    clearTimeout(typed);
    typed = setTimeout(() => c.go({ find: find.value }), 150);
  } });
  const controls = h(
    "div",
    { class: "controls" },
    ...selectors(c, path, probe),
    toggle("as", "Show as", [["grid", "Grid"], ["table", "Table"]], table ? "table" : "grid", (as) => c.go({ as, sort: "", dir: "" })),
    !table && toggle("stat", "Figure", measures.map((each) => [each.key, each.name]), measure.key, (stat) => c.go({ stat }), measure.about),
    !table && choice("order", "Order", [["", "by name"], ["east", "west to east"], ["value", "highest first"]], c.view.sort, (sort) => c.go({ sort })),
    h("label", { class: "choice", for: "find" }, h("span", {}, "Find"), find),
  );
  const detail = h("p", { class: "detail", id: "detail" }, "Arrows move, Enter opens the pair, ? explains the figure.");
  return [h("h1", {}, "Matrix"), controls, summary(m), body(c, m, measure, table, detail), restsOn(m)];
}

function body(c: Context, m: Matrix, measure: Parameters<typeof matrixGrid>[2], table: boolean, detail: HTMLElement): HTMLElement {
  const find = c.view.find.trim().toLowerCase();
  const cells = find ? m.cells.filter((each) => each.source.toLowerCase().includes(find) || each.target.toLowerCase().includes(find)) : m.cells;
  if (m.cells.length === 0) return note("This probe has no pair over this path. Choose another path or probe.");
  if (cells.length === 0) return note(`No source or target has “${find}” in its name.`);
  return h("div", { class: "sheet" }, ...(table ? [pairsTable(c, m, cells, detail)] : matrixGrid(c, m, measure, cells, detail)), detail);
}

function summary(m: Matrix): HTMLElement {
  const parts = [plural(m.series ?? m.cells.length, "series", "series"), `${count(m.measured)} measured`, `${count(m.failed)} failed`, `${count(m.missing)} missing`];
  if (m.stale) parts.push(`${count(m.stale)} older than the newest slot (*)`);
  if (m.degraded) parts.push(`${count(m.degraded)} degraded (~)`);
  return h("p", { class: "summary" }, parts.join(" · "), " ", about("state"), " · newest slot ", when(m.newest), " ", about("age"));
}
