import { h } from "./dom.ts";
import { absent, utc } from "./format.ts";

/** when shows a time in UTC, and that of this machine on hover. */
export function when(time: Date | null): HTMLElement {
  if (time === null) return h("span", {}, absent);
  return h("time", { datetime: time.toISOString(), title: "on this machine: " + time.toLocaleString() }, utc(time));
}
