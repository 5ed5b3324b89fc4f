// Figures and times as text. What is absent is "–", never 0.

export const absent = "–";

export type Figure = number | null;

/** digits keeps about three significant digits, and the text short whatever the number. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1);
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return value.toFixed(3);
}

/** signed has its sign always, so that it is not colour alone that tells more from less. */
export function signed(value: number): string {
  return value > 0 ? "+" + digits(value) : value < 0 ? "−" + digits(-value) : "0";
}

export const ms = (us: Figure): string => (us === null ? absent : digits(us / 1000));
export const withMs = (us: Figure): string => (us === null ? absent : digits(us / 1000) + " ms");
export const percent = (ratio: Figure): string => (ratio === null ? absent : digits(ratio * 100));
export const withPercent = (ratio: Figure): string => (ratio === null ? absent : digits(ratio * 100) + " %");

export function rate(bps: Figure): string {
  if (bps === null) return absent;
  if (Math.abs(bps) >= 1e9) return digits(bps / 1e9) + " Gbit/s";
  return digits(bps / 1e6) + " Mbit/s";
}

export function count(n: Figure): string {
  if (n === null) return absent;
  if (Math.abs(n) >= 1e9) return n.toExponential(1);
  return n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

export function seconds(s: Figure): string {
  if (s === null) return absent;
  if (s < 1) return digits(s * 1000) + " ms";
  if (s < 120) return digits(s) + " s";
  if (s < 2 * 3600) return digits(s / 60) + " min";
  if (s < 2 * 86400) return digits(s / 3600) + " h";
  return digits(s / 86400) + " days";
}

/** range is an interval in the unit of the figure before it; empty when an end is unknown. */
export function range(low: Figure, high: Figure, show: (v: Figure) => string): string {
  return low === null || high === null ? "" : `${show(low)} to ${show(high)}`;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** utc writes a time by the minute; the day is left out where it is the same as that of `beside`. */
export function utc(time: Date | null): string {
  if (time === null) return absent;
  return `${time.getUTCFullYear()}-${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())} ${two(time.getUTCHours())}:${two(time.getUTCMinutes())} UTC`;
}

export const clock = (hour: number): string => two(hour) + ":00";

/** ago is an age, no finer than a reader wants it. */
export function ago(s: Figure): string {
  if (s === null) return absent;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 2 * 3600) return `${Math.round(s / 60)} min`;
  if (s < 2 * 86400) return `${Math.round(s / 3600)} h`;
  return s < 1e9 ? `${Math.round(s / 86400)} days` : digits(s / 86400) + " days";
}

/** tick is a figure at an axis: no digits that say nothing. */
export const tick = (v: number): string => (Math.abs(v) >= 1e6 ? v.toExponential(0) : String(Number(v.toPrecision(5))));

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** day is a day at an axis, with the year where the year begins. */
export function day(time: Date): string {
  const text = `${time.getUTCDate()} ${months[time.getUTCMonth()]}`;
  return time.getUTCMonth() === 0 && time.getUTCDate() === 1 ? `${text} ${time.getUTCFullYear()}` : text;
}

export function plural(n: number, one: string, many: string): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
