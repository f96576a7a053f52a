// Builds one routine: bundles it with esbuild, and makes a component of it with componentize-qjs.
//
//   node build.mjs --project DIR --wit DIR --tools DIR --out FILE
//
// `stateous routine build` runs this. The tools (tools/package.json has their versions) are taken from the project's own
// node_modules where it has them, and else from --tools. The bindings of the contract are made by componentize-qjs from
// --wit at every build; none are kept.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const SDK = dirname(fileURLToPath(import.meta.url));
const options = { project: {}, wit: {}, tools: {}, out: {} };
for (const option of Object.values(options)) option.type = "string";
const { values: given } = parseArgs({ options });
for (const name of Object.keys(options)) {
  if (given[name] === undefined) stop(`--${name} is missing`);
  given[name] = resolve(given[name]);
}

const entry = entryOf(given.project);
const esbuild = await tool("esbuild");
const { componentize } = await tool("componentize-qjs");
const { TraceMap, decodedMappings } = await tool("@jridgewell/trace-mapping");

const bundled = await esbuild
  .build({
    stdin: {
      contents: `import routine from ${JSON.stringify(entry)};
import { serve } from "stateous-routine/wasm";
export const run = serve(routine, globalThis.__stateous_places);`,
      resolveDir: given.project,
      sourcefile: "stateous-routine:entry",
    },
    absWorkingDir: given.project,
    bundle: true,
    format: "esm",
    target: "es2023",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import", "module"],
    external: ["stateous:*"],
    // The SDK and what it needs, wherever the project has it from: one copy, this one.
    alias: {
      "stateous-routine": join(SDK, "src/index.js"),
      "stateous-routine/wasm": join(SDK, "src/wasm.js"),
    },
    keepNames: true,
    legalComments: "none",
    sourcemap: "external",
    sourcesContent: false,
    outfile: join(given.project, "routine.js"),
    write: false,
    logLevel: "silent",
  })
  .catch((error) => failed(error));

const [map, code] = ["routine.js.map", "routine.js"].map((name) => bundled.outputFiles.find((file) => file.path.endsWith(name)).text);
const jsSource = `globalThis.__stateous_places = ${JSON.stringify(placesOf(map))};\n${code}`;
const built = await componentize({ witPath: given.wit, world: "routine", jsSource, sync: true }).catch((error) =>
  stop(`the engine does not take the bundle: ${error.message}`),
);
writeFileSync(given.out, built.component);

/** The file that the project's package.json names as `main`, or the first usual one that is there. */
function entryOf(project) {
  const named = JSON.parse(readFileSync(join(project, "package.json"), "utf8")).main;
  for (const name of named === undefined ? ["routine.ts", "routine.js", "src/routine.ts", "src/routine.js"] : [named]) {
    const file = join(project, name);
    try {
      readFileSync(file);
      return file;
    } catch {
      // The next one, then.
    }
  }
  stop(`${project} has no routine.ts or routine.js; package.json may name another file as "main"`);
}

/** Where a package is: the project's own, or the one of the tools. */
function requires(name) {
  for (const folder of [given.project, given.tools]) {
    try {
      return createRequire(join(folder, "package.json")).resolve(name);
    } catch {
      // The next one, then.
    }
  }
  stop(`the package ${name} is not there: npm install --save-dev esbuild componentize-qjs @jridgewell/trace-mapping`);
}

async function tool(name) {
  const module = await import(pathToFileURL(requires(name)).href);
  return module.default ?? module;
}

/** What src/source_map.js reads: where in the author's files each place of the bundle stands. */
function placesOf(map) {
  const trace = new TraceMap(map);
  const own = trace.sources.map((source) => {
    const file = resolve(given.project, source);
    return !file.startsWith(join(SDK, "src")) && !source.includes("stateous-routine:");
  });
  const lines = {};
  decodedMappings(trace).forEach((segments, line) => {
    const kept = [];
    for (const segment of segments) {
      const isOwn = segment.length > 1 && own[segment[1]];
      if (isOwn) kept.push(segment.slice(0, 4));
      else if (kept.at(-1)?.length > 1) kept.push([segment[0]]);
    }
    // The table goes before the bundle on one line, so every place in the bundle is one line further down.
    if (kept.length > 0) lines[line + 1] = kept;
  });
  return { sources: trace.sources.map((source, at) => (own[at] ? relative(given.project, resolve(given.project, source)) : "")), lines };
}

function failed(error) {
  const messages = error.errors ?? [{ text: error.message }];
  for (const { text, location } of messages) {
    const place = location ? `${location.file}:${location.line}:${location.column + 1}: ` : "";
    process.stderr.write(`${place}${text}\n`);
  }
  process.exit(1);
}

function stop(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
