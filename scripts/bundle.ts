/**
 * Bundles the programs, so that they start faster and need less memory than from their sources:
 *   npm run bundle -- [--out dist/bundle]
 * The folder lies like the sources: package.json, docs, `src` with the files that programs read,
 * `programs/NAME.js` with source maps. Native packages stay outside, in node_modules.
 */
import { cpSync, globSync, mkdirSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { programEntries, projectRoot } from "../src/shared/version-files.ts";

/** They load machine code that is chosen by a path of their own. */
const nativePackages = ["@serialport/bindings-cpp", "@lydell/node-pty"];
/** The files that programs read at run time (src/shared/version-files.ts). */
const assets = [
  "package.json",
  "docs/openapi.json",
  "src/supervisor/gateway/wsdl/*.wsdl",
  "src/tp-manager/http/page/*.{html,css,js}",
];

const { values } = parseArgs({ options: { out: { type: "string", default: "dist/bundle" } } });
const out = resolve(projectRoot, values.out);
rmSync(out, { recursive: true, force: true });

for (const file of globSync(assets, { cwd: projectRoot })) {
  mkdirSync(dirname(join(out, file)), { recursive: true });
  cpSync(join(projectRoot, file), join(out, file));
}

const build = await rolldown({
  cwd: projectRoot,
  input: Object.fromEntries(
    Object.entries(programEntries).map(([name, entry]) => [name, join(projectRoot, "src", entry)]),
  ),
  platform: "node",
  external: nativePackages,
  logLevel: "warn",
});
const { output } = await build.write({
  dir: join(out, "programs"),
  format: "esm",
  sourcemap: true,
  entryFileNames: "[name].js",
  chunkFileNames: "part-[name]-[hash].js",
  codeSplitting: {
    groups: [{ name: "look", test: /launcher\/(keep-alive|probe)\.ts|version-files/ }],
  },
});
const bytes = output.reduce((sum, part) => sum + (part.type === "chunk" ? part.code.length : 0), 0);
process.stdout.write(`${basename(out)}: ${output.length} files, ${bytes} bytes of programs\n`);
