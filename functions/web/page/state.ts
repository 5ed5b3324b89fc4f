// The whole state of the view stands in the address, behind the #: a link to the page shows what its
// sender saw, and the server never gets to see it.

export const pages = ["matrix", "pair", "coverage", "probers", "events"] as const;
export type Page = (typeof pages)[number];

const defaults = {
  path: "",
  probe: "",
  stat: "p50",
  as: "grid",
  sort: "",
  dir: "",
  find: "",
  source: "",
  target: "",
  since: "",
  zone: "utc",
  other: "",
  zero: "",
  rate: "20MB/s",
  size: "2TB",
  window: "4h",
  outage: "30m",
  theme: "",
};

export type Key = keyof typeof defaults;
export type View = { page: Page } & Record<Key, string>;

const longest = 200; // of a value; longer ones are not ours

export function read(hash: string): View {
  const [place, query] = split(hash);
  const view: View = { page: "matrix", ...defaults };
  const name = place.replace(/^\//, "");
  if ((pages as readonly string[]).includes(name)) view.page = name as Page;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key in defaults && value.length <= longest) view[key as Key] = value;
  }
  return view;
}

export function write(view: View): string {
  const query = new URLSearchParams();
  for (const key of Object.keys(defaults) as Key[]) {
    if (view[key] !== defaults[key]) query.set(key, view[key]);
  }
  const text = query.toString();
  return `#/${view.page}${text && "?" + text}`;
}

/** takeCode takes the function key out of the address (#code=…), and gives the address without it. */
export function takeCode(hash: string): { code: string; rest: string } | null {
  const [place, query] = split(hash);
  const parameters = new URLSearchParams(query);
  const code = parameters.get("code");
  if (code === null) return null;
  parameters.delete("code");
  const text = parameters.toString();
  return { code, rest: `#${place || "/matrix"}${text && "?" + text}` };
}

function split(hash: string): [place: string, query: string] {
  const text = hash.replace(/^#/, "");
  if (!text.startsWith("/")) return ["", text];
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
