import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { makeBundle, nativePackages } from "../../scripts/bundle.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { bundledStandIn, runFolder } from "./run-folder.ts";

/** Before the tests of a run: its programs are bundled once, as a delivery has them. */
export default async function setup(): Promise<void> {
  if (process.env["TEST_BUNDLE"] !== undefined) return; // by another project of the run
  const folder = join(runFolder, "bundle");
  await Promise.all([makeBundle(folder), bundleStandIn()]);
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  process.env["TEST_BUNDLE"] = folder;
}

/** One file that lies like a source, for the checkouts of test/launcher. */
async function bundleStandIn(): Promise<void> {
  const input = join(projectRoot, "test/launcher/fixtures/stand-in.ts");
  const build = await rolldown({ input, platform: "node", external: nativePackages });
  await build.write({ file: bundledStandIn, format: "esm" });
  await build.close();
}
