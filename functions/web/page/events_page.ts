import { alerts as readAlerts, seriesChanges, type Alert, type SeriesChange } from "./answers_health.ts";
import { ask, Refused } from "./api.ts";
import type { Context } from "./context.ts";
import { plainTable } from "./data_table.ts";
import { add, h, replace, type Child } from "./dom.ts";
import { count, plural, signed, withMs } from "./format.ts";
import { choice, later, note, restsOn, section } from "./parts.ts";
import { when } from "./when.ts";

const spans: [string, string][] = [["7d", "7 days"], ["28d", "28 days"], ["90d", "90 days"]];

/** showEvents is what departed from the usual: alerts, where the app has them, and change points of all series. */
export async function showEvents(c: Context): Promise<Child[]> {
  const since = spans.some(([s]) => s === c.view.since) ? c.view.since : "28d";
  const alerts = h("div", { id: "alerts" });
  later(alerts, async () => {
    try {
      const found = readAlerts(await ask("alerts"));
      return [section("Alerts", "alerts", alertsTable(c, found.alerts), found.next ? note("Older ones are left out: sweep alerts lists them all.") : null)];
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return []; // this app raises none
      throw error;
    }
  });
  const list = later(h("div", { class: "place", id: "changes" }), () => changesOf(c, since));
  return [h("h1", {}, "Events"), h("div", { class: "controls" }, choice("since", "Time", spans, since, (s) => c.go({ since: s }))), alerts, section("Change points", "changes", list)];
}

function alertsTable(c: Context, alerts: Alert[]): HTMLElement {
  if (alerts.length === 0) return note("Nothing was raised.");
  const order = [...alerts.filter((a) => a.ended === null), ...alerts.filter((a) => a.ended !== null)];
  return plainTable(
    ["state", "kind", "about", "found", "over", "what"],
    order.map((a) => [a.ended === null ? "▲ lasts" : "ended", a.kind, subject(c, a), when(a.raised), when(a.ended), a.endMessage ? `${a.message}; over: ${a.endMessage}` : a.message]),
  );
}

/** subject is what an alert is about: a series, whose page is linked, or a prober or objective by name. */
function subject(c: Context, a: Alert): string | Node {
  if (!a.source || !a.target) return a.series;
  return h("a", { href: c.link({ page: "pair", source: a.source, target: a.target, path: a.path, probe: a.probe }) }, `${a.source} → ${a.target}, ${a.path}, ${a.probe}`);
}

async function changesOf(c: Context, since: string): Promise<Child[]> {
  const first = seriesChanges(await ask("changes", { since }));
  if (first.changes.length === 0) return [note("No series changed its level in this time."), looked(first), restsOn(first)];
  const body = h("div", {});
  const found: SeriesChange[] = [];
  const show = (next: string, more: SeriesChange[]): void => {
    found.push(...more);
    const button = next && h("button", { type: "button", id: "more", click: () => void follow(next) }, "More");
    replace(body, table(c, found), button || null);
  };
  const follow = async (token: string): Promise<void> => {
    try {
      const page = seriesChanges(await ask("changes", { since, next: token }));
      show(page.next, page.changes);
    } catch (error) {
      add(body, h("p", { class: "fault", role: "alert" }, error instanceof Refused ? `${error.message} ${error.remedy}` : String(error)));
    }
  };
  show(first.next, first.changes);
  return [body, looked(first), restsOn(first)];
}

function looked(a: ReturnType<typeof seriesChanges>): HTMLElement | null {
  if (a.series === null) return null;
  return h("p", { class: "caption" }, `${plural(a.series, "series was", "series were")} looked at`, a.tooShort ? `; ${count(a.tooShort)} have too few hours to tell.` : ".");
}

function table(c: Context, found: SeriesChange[]): HTMLElement {
  return plainTable(
    ["from", "pair", "path", "probe", "before", "after", "difference", "what it was"],
    found.map((x) => [
      when(x.t), h("a", { href: c.link({ page: "pair", source: x.source, target: x.target, path: x.path, probe: x.probe }) }, `${x.source} → ${x.target}`), x.path, x.probe,
      withMs(x.before), withMs(x.after), x.before === null || x.after === null ? "–" : `${signed((x.after - x.before) / 1000)} ms`, x.kind || "–",
    ]),
  );
}
