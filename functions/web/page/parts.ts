// The pieces that every page is put together from.

import type { Head } from "./answers.ts";
import { Refused } from "./api.ts";
import { add, h, replace, type Child } from "./dom.ts";
import { about } from "./explain_dialog.ts";
import { count } from "./format.ts";
import { when } from "./when.ts";

/** choice is a labelled list to choose from. */
export function choice(id: string, label: string, options: [value: string, text: string][], chosen: string, change: (value: string) => void): HTMLElement {
  const select = h("select", { id, change: () => change(select.value) });
  for (const [value, text] of options) select.append(h("option", { value, selected: value === chosen }, text));
  return h("label", { class: "choice", for: id }, h("span", {}, label), select);
}

/** toggle is a row of buttons of which one is pressed, with the explanation of what it chooses. */
export function toggle(id: string, label: string, options: [value: string, text: string][], chosen: string, change: (value: string) => void, explained = ""): HTMLElement {
  const group = h("div", { role: "group", class: "toggle", "aria-label": label });
  for (const [value, text] of options) {
    group.append(h("button", { type: "button", id: `${id}-${value}`, "aria-pressed": value === chosen ? "true" : "false", click: () => change(value) }, text));
  }
  return h("div", { class: "choice" }, h("span", {}, label, explained && " ", explained && about(explained)), group);
}

/** section is a part of a page with its heading and the explanation of what it shows. */
export function section(title: string, key: string | null, ...children: Child[]): HTMLElement {
  const heading = h("h2", {}, title);
  if (key) add(heading, " ", about(key));
  return h("section", {}, heading, ...children);
}

/** figure is one number with its name, its range and its explanation. */
export function figure(name: string, key: string, value: string, beside = ""): HTMLElement {
  return h("div", { class: "figure" }, h("dt", {}, name, " ", about(key)), h("dd", {}, h("b", {}, value), beside && h("span", {}, beside)));
}

/** restsOn says of how much an answer is, and when it was computed. */
export function restsOn(a: Head): HTMLElement {
  const parts: string[] = [];
  const { samples, runs, hours } = a.restsOn;
  if (samples !== null) parts.push(`${count(samples)} samples`);
  if (runs !== null) parts.push(`${count(runs)} runs`);
  if (hours !== null) parts.push(`${count(hours)} hours`);
  return h("p", { class: "rests" }, parts.length > 0 ? `Rests on ${parts.join(", ")}. ` : "", "Computed ", when(a.generated), ".");
}

/** note stands where there is nothing to show, and says why. */
export const note = (text: string): HTMLElement => h("p", { class: "note" }, text);

/** fault shows what went wrong, what to do, and a button to try again. */
export function fault(error: unknown, retry: () => void): HTMLElement {
  const refused = error instanceof Refused ? error : null;
  return h(
    "div",
    { class: "fault", role: "alert" },
    h("p", {}, h("b", {}, refused ? refused.message : "The page met a fault of its own.")),
    h("p", {}, refused ? refused.remedy : String(error)),
    h("button", { type: "button", click: retry }, "Try again"),
  );
}

/** later fills a place when its answer comes; a fault takes the place of that part alone. */
export function later(place: HTMLElement, fill: () => Promise<Child[]>): HTMLElement {
  const start = (): void => {
    place.setAttribute("aria-busy", "true");
    replace(place, note("Loading …"));
    fill()
      .then((children) => replace(place, ...children))
      .catch((error) => replace(place, fault(error, start)))
      .finally(() => place.removeAttribute("aria-busy"));
  };
  start();
  return place;
}
