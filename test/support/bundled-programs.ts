import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { makeBundle } from "../../scripts/bundle.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runFolder } from "./run-folder.ts";

/** Before the tests of a run: its programs are bundled once, as a delivery has them. */
export default async function setup(): Promise<void> {
  if (process.env["TEST_BUNDLE"] !== undefined) return; // by another project of the run
  const folder = join(runFolder, "bundle");
  await makeBundle(folder);
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  process.env["TEST_BUNDLE"] = folder;
}
