// The page's frame: what stands in the address is shown, again whenever it changes.

import { overview as readOverview, type Overview } from "./answers.ts";
import { ask, forgetAnswers, onAnswer } from "./api.ts";
import type { Context } from "./context.ts";
import { showCoverage } from "./coverage_page.ts";
import { h, replace, type Child } from "./dom.ts";
import { showEvents } from "./events_page.ts";
import { takeFromAddress } from "./key.ts";
import { leave } from "./leave.ts";
import { showMatrix } from "./matrix_page.ts";
import { showPair } from "./pair_page.ts";
import { fault, note } from "./parts.ts";
import { showProbers } from "./probers_page.ts";
import { read, write, type Page, type View } from "./state.ts";

const top = document.getElementById("top")!;
const main = document.getElementById("main")!;

const shown: Record<Page, (c: Context) => Promise<Child[]>> = { matrix: showMatrix, pair: showPair, coverage: showCoverage, probers: showProbers, events: showEvents };
const names: [Page, string][] = [["matrix", "Matrix"], ["pair", "Pair"], ["coverage", "Coverage"], ["probers", "Probers"], ["events", "Events"]];

let turn = 0;

function context(view: View, overview: Overview): Context {
  const changed = (change: Partial<View>): string => write({ ...view, ...change });
  return {
    view,
    overview,
    link: changed,
    go(change) {
      const to = changed(change);
      if (change.page && change.page !== view.page) location.hash = to;
      else {
        history.replaceState(null, "", to); // switching within a page is no step to go back by
        void show();
      }
    },
  };
}

async function show(): Promise<void> {
  const mine = ++turn;
  const began = performance.now();
  const view = read(location.hash);
  if (view.theme) document.documentElement.dataset.theme = view.theme;
  else delete document.documentElement.dataset.theme;
  const focused = focus();
  banner.hidden = true;
  if (!top.hasChildNodes()) frame(view, null);
  if (!main.dataset.page) replace(main, note("Loading …"));
  main.setAttribute("aria-busy", "true");
  try {
    const overview = readOverview(await ask("overview"));
    if (mine !== turn) return;
    frame(view, overview);
    const children = await shown[view.page](context(view, overview));
    if (mine !== turn) return;
    leave();
    replace(main, ...children);
    document.title = `${main.querySelector("h1")?.textContent?.replace(/ \?$/, "") ?? ""} · Isochrone ${overview.environment}`;
    if (main.dataset.page && main.dataset.page !== view.page) scrollTo(0, 0);
    main.dataset.page = view.page;
  } catch (error) {
    if (mine !== turn) return;
    replace(main, fault(error, () => void show()));
  }
  main.removeAttribute("aria-busy");
  if (focused.id) refocus(focused, 30);
  performance.measure("show", { start: began, end: performance.now() });
}

/** refocus gives the focus back to what had it before the page was drawn anew, as soon as that is there again. */
function refocus(had: Focus, frames: number): void {
  const found = document.getElementById(had.id);
  if (found && document.activeElement !== found) {
    found.focus({ preventScroll: true });
    if (found instanceof HTMLInputElement && had.caret !== null) found.setSelectionRange(had.caret, had.caret);
  } else if (!found && frames > 0 && document.activeElement === document.body) requestAnimationFrame(() => refocus(had, frames - 1));
}

interface Focus {
  id: string;
  caret: number | null;
}

function focus(): Focus {
  const at = document.activeElement;
  return { id: at?.id ?? "", caret: at instanceof HTMLInputElement ? at.selectionStart : null };
}

function frame(view: View, overview: Overview | null): void {
  const go = (change: Partial<View>): void => {
    history.replaceState(null, "", write({ ...view, ...change }));
    void show();
  };
  const links = names.map(([page, name]) =>
    h("a", { href: write({ ...view, page }), id: `to-${page}`, "aria-current": view.page === page ? "page" : null }, name),
  );
  const themes: [string, string][] = [["", "Auto"], ["light", "Light"], ["dark", "Dark"]];
  const theme = h("select", { id: "theme", "aria-label": "Theme", change: () => go({ theme: theme.value }) });
  for (const [value, name] of themes) theme.append(h("option", { value, selected: value === view.theme }, name));
  replace(
    top,
    h(
      "div",
      { class: "bar" },
      h("span", { class: "name" }, "Isochrone"),
      overview && h("span", { class: "environment", title: "environment" }, overview.environment || "no environment"),
      h("nav", { "aria-label": "Pages" }, ...links),
      theme,
      h("button", { type: "button", id: "reload", title: "Ask for all figures anew", click: () => { forgetAnswers(); void show(); } }, "Reload"),
    ),
    banner,
  );
}

// The banner shows as soon as an answer that the view rests on has simulated rows in it.
const banner = h("p", { class: "simulated", role: "status", hidden: true }, h("b", {}, "Simulated data."), " Figures on this page come from a model, and were not measured.");
onAnswer((answer) => {
  if (answer?.simulated === true) banner.hidden = false;
});

takeFromAddress();
addEventListener("hashchange", () => {
  takeFromAddress();
  void show();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => void show());
document.getElementById("skip")!.addEventListener("click", (event) => {
  event.preventDefault(); // the address after the # is the view's
  main.focus();
});
void show();
