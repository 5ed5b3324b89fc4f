import { h } from "./dom.ts";
import { explanations } from "./explain.ts";

/** about is a button that opens the explanation of a figure. */
export function about(key: string): HTMLElement {
  const e = explanations[key];
  if (!e) throw new Error(`no explanation of ${key}`);
  return h("button", { type: "button", class: "about", "data-about": key, "aria-label": `What is this: ${e.title}`, title: "What is this?", click: () => explain(key) }, "?");
}

export function explain(key: string): void {
  const e = explanations[key];
  if (!e) return;
  const part = (name: string, text: string): HTMLElement => h("div", {}, h("h3", {}, name), h("p", {}, text));
  const dialog = h(
    "dialog",
    { class: "explanation", "aria-labelledby": "explanation-title" },
    h("h2", { id: "explanation-title" }, e.title),
    part("What it is", e.what),
    part("When to trust it", e.trust),
    part("Where it comes from", e.source),
    h("form", { method: "dialog", class: "buttons" }, h("button", { class: "main" }, "Close")),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
