// Bundles the page into dist/: index.html, and the script, the style sheet and the notices of what is
// bundled, each named by its content, so that a browser may keep them for ever. The same sources give the
// same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

await mkdir(dist, { recursive: true });
for (const name of await readdir(dist)) {
  if (name !== ".gitignore") await rm(join(dist, name), { recursive: true });
}

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "page/main.ts", style: "page/style.css" },
  outdir: "dist",
  entryNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "linked",
  metafile: true,
  logLevel: "warning",
});

const outputs = Object.keys(result.metafile.outputs).map((name) => relative("dist", name));
const named = (pattern) => outputs.find((name) => pattern.test(name));

// The packages whose files are in the bundle, from the folders that the files came from.
const folders = new Set();
for (const output of Object.values(result.metafile.outputs)) {
  for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
    const found = input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/);
    if (found && bytesInOutput > 0) folders.add(found[0]);
  }
}
let notices = "What the page is bundled from, and under which terms.\n";
for (const folder of [...folders].sort()) {
  const about = JSON.parse(await readFile(join(here, folder, "package.json"), "utf8"));
  const file = (await readdir(join(here, folder))).sort().find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${about.name} has no licence file: its notice cannot be kept`);
  notices += `\n${"=".repeat(78)}\n${about.name} ${about.version} (${about.license})\n\n${(await readFile(join(here, folder, file), "utf8")).trim()}\n`;
}
const licences = `licences-${createHash("sha256").update(notices).digest("hex").slice(0, 8)}.txt`;
await writeFile(join(dist, licences), notices);

let html = await readFile(join(here, "page/index.html"), "utf8");
for (const [place, name] of [["app.js", named(/^app-.*\.js$/)], ["style.css", named(/^style-.*\.css$/)], ["licences.txt", licences]]) {
  if (!html.includes(`{${place}}`)) throw new Error(`page/index.html has no place {${place}}`);
  html = html.replaceAll(`{${place}}`, `/api/dashboard/${name}`);
}
await writeFile(join(dist, "index.html"), html);
