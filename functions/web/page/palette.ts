// Colours of figures. One hue whose lightness runs one way, so that every kind of colour vision, and a
// grey print, sees the same order; two hues, blue and orange, about a middle. The figure itself always
// stands in the cell.

type Rgb = [number, number, number];

const light: Rgb[] = [[0xf0, 0xf5, 0xfa], [0xc9, 0xde, 0xf0], [0x8f, 0xbd, 0xe0], [0x4a, 0x90, 0xc4], [0x1b, 0x62, 0x9c], [0x08, 0x3a, 0x66]];
const dark: Rgb[] = [[0x1a, 0x25, 0x31], [0x1d, 0x3b, 0x58], [0x20, 0x56, 0x86], [0x36, 0x7f, 0xb8], [0x72, 0xb0, 0xde], [0xc2, 0xe2, 0xf8]];
const lightApart: Rgb[] = [[0x1b, 0x62, 0x9c], [0x8f, 0xbd, 0xe0], [0xf4, 0xf4, 0xf2], [0xf2, 0xb1, 0x6f], [0xa8, 0x4b, 0x05]];
const darkApart: Rgb[] = [[0x72, 0xb0, 0xde], [0x20, 0x56, 0x86], [0x1f, 0x25, 0x2b], [0x8a, 0x4b, 0x14], [0xf0, 0xa6, 0x5a]];

const explicit = (): string => document.documentElement.dataset.theme ?? "";
export const isDark = (): boolean => (explicit() ? explicit() === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

export interface Paint {
  fill: string;
  ink: string;
}

/** sequential paints 0 to 1, weakest to strongest. */
export const sequential = (t: number): Paint => paint(isDark() ? dark : light, t);

/** diverging paints −1 to 1, with 0 close to the page's own colour. */
export const diverging = (t: number): Paint => paint(isDark() ? darkApart : lightApart, (t + 1) / 2);

function paint(stops: Rgb[], t: number): Paint {
  const at = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [stops[i]!, stops[i + 1]!];
  const mixed = a.map((v, k) => Math.round(v + (b[k]! - v) * (at - i))) as Rgb;
  return { fill: `rgb(${mixed.join(" ")})`, ink: luminance(mixed) > 0.179 ? "#0b0f14" : "#ffffff" };
}

/** luminance is WCAG's relative luminance; at 0.179 black and white text have equal contrast. */
function luminance(c: Rgb): number {
  const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** css is a colour of the style sheet as a canvas takes it. */
export function css(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
