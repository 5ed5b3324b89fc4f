import { probers as readProbers, type Health } from "./answers_health.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { h, type Child } from "./dom.ts";
import { about } from "./explain_dialog.ts";
import { absent, ago, count, digits } from "./format.ts";
import { note, restsOn } from "./parts.ts";

/** showProbers is whether the probers are there, and what is wrong with those that are not well. */
export async function showProbers(_c: Context): Promise<Child[]> {
  const all = readProbers(await ask("probers"));
  const title = h("h1", {}, "Probers");
  if (all.probers.length === 0) return [title, note("The configuration has no prober, and none has registered.")];
  const ill = all.probers.filter((p) => p.finding || p.state !== "fresh");
  const order = [...ill, ...all.probers.filter((p) => !ill.includes(p))];
  const heads: Child[][] = [["prober"], ["region"], ["state ", about("prober_state")], ["heartbeat ", about("heartbeat")], ["version"], ["machine"], ["clock error ", about("clock")], ["paths"]];
  return [
    title,
    h("p", { class: "summary" }, `${count(all.probers.length)} probers, ${count(all.probers.length - ill.length)} well`, ill.length > 0 ? `, ${count(ill.length)} to look at` : ""),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Probers" },
      h("table", { id: "probers" }, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, ...head)))), h("tbody", {}, ...order.flatMap(rows))),
    ),
    restsOn(all),
  ];
}

function rows(p: Health): HTMLElement[] {
  const well = !p.finding && p.state === "fresh";
  const row = h(
    "tr",
    {},
    h("th", { scope: "row" }, p.id),
    h("td", {}, p.region || absent),
    h("td", {}, h("span", { class: well ? "state" : "state ill" }, `${well ? "●" : "▲"} ${p.state || absent}`)),
    h("td", {}, p.age === null ? absent : ago(p.age) + " ago"),
    h("td", {}, p.version || absent),
    h("td", {}, p.size || absent),
    h("td", {}, p.clock === null ? absent : digits(p.clock) + " ms"),
    h("td", {}, p.paths.join(", ") || absent),
  );
  return p.finding ? [row, h("tr", { class: "finding" }, h("td", { colspan: 8 }, p.finding))] : [row];
}
