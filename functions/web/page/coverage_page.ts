import { coverage as readCoverage, type Counts, type Coverage, type ProberCoverage } from "./answers_health.ts";
import { ask } from "./api.ts";
import type { Context } from "./context.ts";
import { add, h, replace, type Child } from "./dom.ts";
import { about, explain } from "./explain_dialog.ts";
import { absent, count, utc } from "./format.ts";
import { gridOf } from "./grid.ts";
import { sequential } from "./palette.ts";
import { choice, note, restsOn } from "./parts.ts";

const spans: [string, string][] = [["24h", "24 hours"], ["3d", "3 days"], ["7d", "7 days"], ["28d", "28 days"]];

interface Slice extends Counts {
  t: number;
}

export async function showCoverage(c: Context): Promise<Child[]> {
  const since = spans.some(([s]) => s === c.view.since) ? c.view.since : "24h";
  const all = await whole(since);
  const days = since === "7d" || since === "28d";
  const controls = h("div", { class: "controls" }, choice("since", "Time", spans, since, (s) => c.go({ since: s })));
  const title = h("h1", {}, "Coverage ", about("coverage"));
  if (all.probers.length === 0) return [title, controls, note("Nothing was planned in this time."), restsOn(all)];
  const sum = (pick: (p: ProberCoverage) => number): number => all.probers.reduce((n, p) => n + pick(p), 0);
  const parts = [`${count(sum((p) => p.planned))} runs planned`, `${count(sum((p) => p.received))} received, ${count(sum((p) => p.failed))} of them failed`, `${count(sum((p) => p.expired))} expired`, `${count(sum((p) => p.missed))} missed`, `${count(sum((p) => p.open))} awaited`];
  const detail = h("p", { class: "detail" }, "Arrows move, Enter shows the prober's row of the matrix, ? explains the figure.");
  return [title, controls, h("p", { class: "summary" }, parts.join(" · ")), h("div", { class: "sheet" }, grid(c, all, days, detail), detail), ...all.notes.map(note), restsOn(all)];
}

/** whole follows the pages of the answer to their end. */
async function whole(since: string): Promise<Coverage> {
  const all = readCoverage(await ask("coverage", { since }));
  for (let pages = 1; all.next && pages < 50; pages++) {
    const more = readCoverage(await ask("coverage", { since, next: all.next }));
    all.probers.push(...more.probers);
    all.next = more.next;
  }
  return all;
}

/** sliced adds hours up to the slices that are shown: counts may be added, unlike percentiles. */
function sliced(p: ProberCoverage, width: number): Map<number, Slice> {
  const out = new Map<number, Slice>();
  for (const hour of p.hours) {
    const t = Math.floor(hour.t / width) * width;
    const s = out.get(t) ?? { t, planned: 0, received: 0, failed: 0, expired: 0, missed: 0, open: 0, lost: 0 };
    for (const k of ["planned", "received", "failed", "expired", "missed", "open", "lost"] as const) s[k] += hour[k];
    out.set(t, s);
  }
  return out;
}

/** due are the runs whose document should be there by now: of those that are awaited nobody knows yet. */
const due = (s: Counts): number => Math.max(0, s.planned - s.open);

const share = (s: Counts): string => {
  const part = (100 * s.received) / due(s);
  return part >= 100 ? "100" : part > 99 ? ">99" : part.toFixed(0); // 99.9 is not all of it
};

function describe(prober: string, at: string, s: Counts | undefined): string {
  if (!s || s.planned === 0) return `${prober}, ${at}: nothing was planned`;
  const rest = (["failed", "expired", "missed", "open", "lost"] as const).filter((k) => s[k] > 0).map((k) => `${count(s[k])} ${k === "open" ? "awaited" : k}`);
  return `${prober}, ${at}: ${count(s.received)} of ${count(s.planned)} received${rest.length > 0 ? "; " + rest.join(", ") : ""}`;
}

function grid(c: Context, all: Coverage, days: boolean, detail: HTMLElement): HTMLElement {
  const width = days ? 86400 : 3600;
  const rows = all.probers.map((p) => ({ p, slices: sliced(p, width) }));
  const known = rows.flatMap((r) => [...r.slices.keys()]);
  const first = Math.floor((all.since ? all.since.getTime() / 1000 : known.reduce((a, b) => Math.min(a, b), Infinity)) / width) * width;
  const end = all.until ? all.until.getTime() / 1000 : known.reduce((a, b) => Math.max(a, b), -Infinity) + width;
  const n = Number.isFinite(first) && Number.isFinite(end) ? Math.max(0, Math.min(2000, Math.ceil((end - first) / width))) : 0;
  const columns = Array.from({ length: n }, (_, i) => first + i * width);
  const narrow = innerWidth < 600;
  const name = (t: number): string => (days ? utc(new Date(t * 1000)).slice(0, 10) : utc(new Date(t * 1000)));
  const el = gridOf({
    label: "Part of the planned runs that came in, in %, by prober and time",
    rows: rows.length, columns: [54, ...columns.map(() => (days ? 52 : 41))], leadWidth: narrow ? 112 : 170, rowHeight: 28, headHeight: 44,
    corner: (into) => add(into, h("span", {}, days ? "% by day" : "% by hour, UTC")),
    head(k, into) {
      if (k === 0) return add(into, h("b", {}, "all"));
      const t = columns[k - 1]!;
      const text = name(t);
      into.title = text;
      into.classList.add("stacked");
      add(into, h("span", {}, days || k === 1 || t % 86400 === 0 ? text.slice(5, 10) : ""), !days && h("span", {}, text.slice(11, 13)));
    },
    lead: (r, into) => add(into, h("span", { class: "cut", title: rows[r]!.p.prober }, rows[r]!.p.prober)),
    cell(r, k, into) {
      const s: Counts | undefined = k === 0 ? rows[r]!.p : rows[r]!.slices.get(columns[k - 1]!);
      if (!s || s.planned === 0) {
        into.classList.add("missing");
        add(into, absent);
        return;
      }
      if (due(s) === 0) {
        into.classList.add("missing");
        add(into, "…");
        return;
      }
      const lacking = 1 - s.received / due(s);
      add(into, share(s));
      if (lacking > 0) {
        const { fill, ink } = sequential(0.25 + 0.75 * lacking);
        into.style.background = fill;
        into.style.color = ink;
        into.classList.add("lacking");
      }
    },
    open(r) {
      if (r >= 0) c.go({ page: "matrix", find: rows[r]!.p.prober });
    },
    at(r, k) {
      if (r >= 0) replace(detail, describe(rows[r]!.p.prober, k <= 0 ? "all of the time" : name(columns[k - 1]!), k <= 0 ? rows[r]!.p : rows[r]!.slices.get(columns[k - 1]!)));
    },
    explain: () => explain("coverage"),
  });
  el.id = "coverage";
  return el;
}
