import { h } from "./dom.ts";

/** fitted draws a chart as wide as there is room for, and again when the room changes. */
export function fitted(draw: (width: number) => Element): HTMLElement {
  const box = h("div", { class: "fitted" });
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width === last || width === 0) return;
    last = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}

/** svg takes a chart of Observable Plot as the policy of the page has it: without a style element of its own. */
export function svg(chart: Element): Element {
  chart.querySelectorAll("style").forEach((style) => style.remove());
  return chart;
}
