import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { isNative, makeBundle } from "../../../scripts/bundle.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { runToEnd } from "../programs/own-processes.ts";
import { bundledLauncher, runFolder } from "./run-folder.ts";

/** Before the tests of a run: its programs are bundled once, as a delivery has them. */
export default async function setup(): Promise<void> {
  if (process.env["TEST_BUNDLE"] !== undefined) return; // by another project of the run
  const folder = join(runFolder, "bundle");
  await Promise.all([makeBundle(folder), bundleLauncher(), compileSources()]);
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  process.env["TEST_BUNDLE"] = folder;
}

/** The launcher and its tests' stand-ins, in files that lie and are named like the sources. */
async function bundleLauncher(): Promise<void> {
  const input = {
    main: join(projectRoot, "src/launcher/main.ts"),
    "stand-in": join(projectRoot, "test/launcher/fixtures/stand-in.ts"),
  };
  const build = await rolldown({ input, platform: "node", external: isNative });
  await build.write({
    dir: bundledLauncher,
    format: "esm",
    entryFileNames: "[name].ts",
    chunkFileNames: "part-[name]-[hash].ts",
  });
  await build.close();
}

/** With what these files import, most of what the tests load. */
const manyImports = [
  "test/simulator/gateway/sandbox-for-test.ts",
  "test/support/house/two-store-kiosk.ts",
  "test/tp-manager/http/api-with-supervisor.ts",
  "test/tp-manager/terminal/zvt/driver.ts",
];

/** Fills the run's cache of compiled modules before all workers compile the same at once. */
async function compileSources(): Promise<void> {
  const urls = manyImports.map((file) => pathToFileURL(join(projectRoot, file)).href);
  const code = urls.map((url) => `import ${JSON.stringify(url)};`).join("\n");
  // A file that cannot be loaded fails in the tests that load it.
  await runToEnd(process.execPath, ["--input-type=module", "--eval", code]).catch(() => {});
}
