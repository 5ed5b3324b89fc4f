// The function key: asked for once, kept for as long as the tab is open, sent as a header and never in an
// address.

import { h } from "./dom.ts";
import { takeCode } from "./state.ts";

const place = "isochrone-key";
const header = /^[\x21-\x7e]+$/; // a header takes printable ASCII alone; anything else is no key
let refused = false;
let asking: Promise<string> | null = null;

/** takeFromAddress moves a key from #code= into the session, and removes it from address and history. */
export function takeFromAddress(): void {
  const found = takeCode(location.hash);
  if (!found) return;
  if (header.test(found.code)) sessionStorage.setItem(place, found.code);
  history.replaceState(null, "", found.rest);
}

/** forget drops a key that was refused, unless another has taken its place meanwhile. */
export function forget(used: string): void {
  if (sessionStorage.getItem(place) !== used) return;
  refused = true;
  sessionStorage.removeItem(place);
}

export function key(): Promise<string> {
  const has = sessionStorage.getItem(place);
  if (has !== null) return Promise.resolve(has);
  asking ??= prompt().finally(() => (asking = null));
  return asking;
}

function prompt(): Promise<string> {
  return new Promise((resolve) => {
    const input = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true, maxlength: 500, "aria-describedby": "key-about" });
    const dialog = h(
      "dialog",
      { class: "ask", "aria-labelledby": "key-title" },
      h(
        "form",
        { method: "dialog" },
        h("h2", { id: "key-title" }, "Function key"),
        refused && h("p", { class: "fault", role: "alert" }, "The key was not accepted. Enter another."),
        h("p", { id: "key-about" }, "The figures come from the function Query, which wants its key (in the portal: the app, Functions, Query, Function keys). It is kept until this tab is closed."),
        h("label", { for: "key" }, "Key"),
        input,
        h("p", { class: "buttons" }, h("button", { class: "main" }, "Show the figures")),
      ),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => {
      const entered = input.value.trim();
      dialog.remove();
      if (header.test(entered)) {
        sessionStorage.setItem(place, entered);
        refused = false;
        resolve(entered);
      } else {
        refused = true;
        resolve(prompt());
      }
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
