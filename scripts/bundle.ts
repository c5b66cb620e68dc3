/**
 * Bundles the programs, so that they start faster and need less memory than from their sources:
 *   npm run bundle -- [--out dist/bundle]
 * The folder lies like the sources: package.json, docs, `src` with the files that programs read,
 * `programs/NAME.js` with source maps. Native packages stay outside, in node_modules.
 */
import {
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import { packageFiles } from "../src/shared/process/page-packages.ts";
import { programEntries, projectRoot } from "../src/shared/version-files.ts";
import { readArguments } from "./command-line.ts";

/** The packages that stay outside of bundles, because they load machine code by a path. */
export const nativePackages = ["@serialport/bindings-cpp", "@lydell/node-pty"];

/** Whether a module is a native package or a file of one. */
export function isNative(id: string): boolean {
  return nativePackages.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * The programs that a kiosk runs all the time. Each is a single script of its own, which starts
 * faster than forty files that other programs import as well.
 */
const permanent = ["tp-manager", "supervisor"] as const;

/** The files that programs read at run time (src/shared/version-files.ts). */
const assets = [
  "package.json",
  "docs/openapi.json",
  "src/supervisor/gateway/wsdl/*.wsdl",
  "src/launcher/{demo,schedule}/*.{service,txt,xml}",
  "examples/kiosk/*.{html,css,js}",
  "examples/terminal-acceptance/*.{js,json}",
  "src/simulator/gateway/pages/*.css",
  "src/simulator/terminal/page/*.{html,css,js}",
  "src/tp-manager/console/pages/**/*.{html,css,js,json}",
];

interface Bundle {
  readonly files: number;
  readonly bytes: number;
  /** The sorted folders, below node_modules, of the packages in the bundle. */
  readonly packages: readonly string[];
}

/** Writes the bundle to an emptied folder. Rejects when a program cannot be bundled. */
export async function makeBundle(out: string): Promise<Bundle> {
  rmSync(out, { recursive: true, force: true });
  for (const file of globSync(assets, { cwd: projectRoot })) {
    mkdirSync(dirname(join(out, file)), { recursive: true });
    cpSync(join(projectRoot, file), join(out, file));
  }
  for (const [path, inPackage] of Object.entries(packageFiles)) {
    mkdirSync(dirname(join(out, "src", path)), { recursive: true });
    cpSync(join(projectRoot, "node_modules", inPackage), join(out, "src", path));
  }
  const entries = Object.entries(programEntries);
  const others = entries.filter(([name]) => !permanent.some((one) => one === name));
  const output = (
    await Promise.all([
      buildParts(others, out),
      ...permanent.flatMap((name) => [
        buildFile(join("src", programEntries[name]), `${name}.script.js`, out),
        buildFile("scripts/delivery/compiled-program.ts", `${name}.js`, out),
      ]),
    ])
  ).flat();
  const chunks = output.filter((part) => part.type === "chunk");
  await layOutFleetPack(out);
  for (const { fileName, code } of chunks) {
    const text = oneByte(withoutImports(code));
    const isScript = fileName.endsWith(".script.js");
    writeFileSync(join(out, "programs", fileName), isScript ? asScript(text) : text);
  }
  for (const map of globSync("programs/*.map", { cwd: out })) {
    writeFileSync(join(out, map), withoutPackages(readFileSync(join(out, map), "utf8")));
  }
  const files = Object.values(packageFiles).map((path) => `node_modules/${path}`);
  const modules = [...chunks.flatMap(({ moduleIds }) => moduleIds), ...files];
  const packages = new Set(modules.flatMap((id) => packageOf(id) ?? []));
  return {
    files: output.length,
    bytes: chunks.reduce((sum, { code }) => sum + code.length, 0),
    packages: [...packages].sort(),
  };
}

/** Writes the pack of a fleet's operator with its bridge, which runs where only Node.js is. */
export async function layOutFleetPack(out: string): Promise<void> {
  const pack = "examples/fleet-pack";
  for (const file of globSync(`${pack}/**/*.*`, { cwd: projectRoot })) {
    mkdirSync(dirname(join(out, file)), { recursive: true });
    cpSync(join(projectRoot, file), join(out, file));
  }
  const build = await rolldown({ ...common, input: "scripts/fleet-pack/bridge.ts" });
  const file = join(out, pack, "bridge.js");
  const { output } = await build.write({ file, format: "esm", codeSplitting: false });
  await build.close();
  writeFileSync(file, oneByte(output[0].code));
}

type Entry = readonly [name: string, entry: string];

const common = {
  cwd: projectRoot,
  platform: "node",
  external: isNative,
  logLevel: "warn",
} as const;

const installed = realpathSync(join(projectRoot, "node_modules"));

/** Source maps name a source by its place in the project, wherever the project lies. */
const maps = {
  sourcemap: true,
  sourcemapPathTransform: (source: string, map: string) => {
    const path = resolve(dirname(map), source);
    const inPackages = relative(installed, path);
    const isPackage = !inPackages.startsWith("..");
    const inProject = isPackage ? join("node_modules", inPackages) : relative(projectRoot, path);
    return `../${inProject}`.replaceAll("\\", "/");
  },
} as const;

/** The source map without the texts of packages, which are published anyway. */
function withoutPackages(map: string): string {
  const read = JSON.parse(map) as { sources: string[]; sourcesContent?: unknown[] };
  const isPackage = (at: number): boolean => read.sources[at]?.includes("/node_modules/") === true;
  const sourcesContent = read.sourcesContent?.map((text, at) => (isPackage(at) ? null : text));
  return JSON.stringify({ ...read, sourcesContent });
}

/** Bundles programs to one file for each, and files that they share or load when needed. */
async function buildParts(entries: readonly Entry[], out: string) {
  const input = entries.map(([name, entry]) => [name, join(projectRoot, "src", entry)]);
  const build = await rolldown({ ...common, input: Object.fromEntries(input) });
  const { output } = await build.write({
    dir: join(out, "programs"),
    format: "esm",
    ...maps,
    entryFileNames: "[name].js",
    chunkFileNames: "part-[name]-[hash].js",
    codeSplitting: {
      // The keep-alive loads its entry and one further file.
      groups: [
        {
          name: "look",
          test: /launcher\/\w+\/(keep-alive|probe|deliberate-stop)\.ts|version-files/,
        },
      ],
    },
  });
  await build.close();
  return output;
}

/** Bundles a module and all that it imports to a single file. */
async function buildFile(entry: string, name: string, out: string) {
  const build = await rolldown({ ...common, input: entry });
  const { output } = await build.write({
    file: join(out, "programs", name),
    format: "esm",
    ...maps,
    codeSplitting: false,
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await build.close();
  return output;
}

/**
 * A module as a script, whose value is a function that runs the module. The function gets what
 * `import.meta` and `import()` are in a module. In a script, `import()` prints a warning of Node.
 */
function asScript(code: string): string {
  const body = code
    .replaceAll("import.meta", "importMeta")
    .replace(/(?<!\.)\bimport\(/g, "importModule(")
    .replace(/^export \{\};$/m, "");
  if (/^(?:import|export)\b|[^\0-\x7f]/m.test(body)) throw new Error("cannot run as a script");
  // No line break after the first brace: the lines stay as in the source map.
  return `(async function (importMeta, importModule) { "use strict"; ${body}\n})`;
}

/**
 * The same program, which gets Node's own modules without an `import`. For an `import`, Node reads
 * all exports of the module, and some exports load further modules that no program uses.
 */
function withoutImports(code: string): string {
  return code.replace(
    /^import (?:(?:\* as )?([\w$]+))?(?:, )?(?:\{ (.*) \})? from "([\w:/]+)";$/gm,
    (all, whole: string | undefined, names: string | undefined, id: string) => {
      if (!isBuiltin(id)) return all;
      const module = `globalThis.process.getBuiltinModule("${id}")`;
      const parts = [
        ...(whole === undefined ? [] : [`${whole} = ${module}`]),
        ...(names === undefined ? [] : [`{ ${names.replaceAll(" as ", ": ")} } = ${module}`]),
      ];
      return `const ${parts.join(", ")};`;
    },
  );
}

/**
 * The same program in ASCII: V8 keeps the text of a module with a single character above U+00FF at
 * two bytes for each of its characters, which were 2 MB of tp-manager. Throws where the characters
 * `\u2026` would be another text than the one that they stand for.
 */
function oneByte(code: string): string {
  const escaped = code.replace(/(\\*)([^\0-\x7f])/g, (_, before: string, character: string) => {
    if (before.length % 2 === 1) throw new Error(`a backslash before ${character}`);
    return `${before}\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  for (const [raw] of code.matchAll(/String\.raw`[^`]*`/g)) {
    if (!escaped.includes(raw)) throw new Error(`characters above ASCII in ${raw}`);
  }
  // A table of characters stays as it is, because its escaped form is far longer.
  return escaped.length < 2 * code.length ? escaped : code;
}

/** Returns the package folder of a module, such as `node_modules/a/node_modules/@b/c`. */
function packageOf(id: string): string | undefined {
  return /(?:^|[\\/])(node_modules[\\/](?:.*[\\/]node_modules[\\/])?(?:@[^\\/]+[\\/])?[^\\/]+)/
    .exec(id)?.[1]
    ?.replaceAll("\\", "/");
}

if (import.meta.main) {
  const { values } = readArguments({
    options: { out: { type: "string", default: "dist/bundle" } },
  });
  const out = resolve(projectRoot, values.out);
  const { files, bytes } = await makeBundle(out);
  process.stdout.write(`${basename(out)}: ${files} files, ${bytes} bytes of programs\n`);
}
