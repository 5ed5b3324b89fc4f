// Questions to the Query function. An answer is kept until the page is reloaded or asked anew, so that
// sorting and switching ask nothing twice; the browser itself revalidates by ETag.

import { forget, key } from "./key.ts";

export class Refused extends Error {
  constructor(readonly status: number, message: string, readonly remedy: string) {
    super(message);
  }
}

const base = new URL("../query/", import.meta.url);
const kept = new Map<string, Promise<unknown>>();
let heard: (answer: any) => void = () => {};

/** onAnswer is told of every answer that is shown, whether it was kept or just came. */
export function onAnswer(hear: (answer: any) => void): void {
  heard = hear;
}
const patience = 60_000; // ms

export function forgetAnswers(): void {
  kept.clear();
}

export function ask(question: string, parameters: Record<string, string> = {}): Promise<unknown> {
  const url = new URL(question, base);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "") url.searchParams.set(name, value);
  }
  let answer = kept.get(url.href);
  if (!answer) {
    answer = send(url);
    kept.set(url.href, answer);
    answer.catch(() => kept.delete(url.href));
  }
  return answer.then((body) => {
    heard(body);
    return body;
  });
}

async function send(url: URL): Promise<unknown> {
  const used = await key();
  const headers = { "x-functions-key": used, accept: "application/json" };
  let response: Response;
  try {
    response = await fetch(url, { headers, signal: AbortSignal.timeout(patience), credentials: "omit", redirect: "error" });
  } catch {
    throw new Refused(0, "The Query function could not be reached.", "Look whether this machine is connected and the app runs, then try again.");
  }
  if (response.status === 401) {
    forget(used);
    return send(url); // which asks for another
  }
  let body: any;
  try {
    body = await response.json();
  } catch {
    throw new Refused(response.status, `The answer (status ${response.status}) is not JSON.`, "Try again; if it stays so, look into the app's log.");
  }
  if (!response.ok) {
    const said = body?.error;
    throw new Refused(response.status, text(said?.message) || `The Query function answered with status ${response.status}.`, text(said?.remedy));
  }
  return body;
}

const text = (value: unknown): string => (typeof value === "string" ? value.slice(0, 2000) : "");
