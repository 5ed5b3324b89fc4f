import { h } from "./dom.ts";

/** dataTable is what a chart shows as a table, folded away until it is asked for. */
export function dataTable(title: string, heads: string[], rows: () => string[][]): HTMLElement {
  const box = h("details", { class: "data" }, h("summary", {}, title));
  box.addEventListener("toggle", () => {
    if (!box.open || box.querySelector("table")) return;
    box.append(plainTable(heads, rows()));
  });
  return box;
}

export function plainTable(heads: string[], rows: (string | Node)[][]): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "table" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))),
    ),
  );
}
