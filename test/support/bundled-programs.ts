import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { makeBundle, nativePackages } from "../../scripts/bundle.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { bundledLauncher, runFolder } from "./run-folder.ts";

/** Before the tests of a run: its programs are bundled once, as a delivery has them. */
export default async function setup(): Promise<void> {
  if (process.env["TEST_BUNDLE"] !== undefined) return; // by another project of the run
  const folder = join(runFolder, "bundle");
  await Promise.all([makeBundle(folder), bundleLauncher()]);
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  process.env["TEST_BUNDLE"] = folder;
}

/** The launcher and its tests' stand-ins, in files that lie and are named like the sources. */
async function bundleLauncher(): Promise<void> {
  const input = {
    main: join(projectRoot, "src/launcher/main.ts"),
    "stand-in": join(projectRoot, "test/launcher/fixtures/stand-in.ts"),
  };
  const build = await rolldown({ input, platform: "node", external: nativePackages });
  await build.write({
    dir: bundledLauncher,
    format: "esm",
    entryFileNames: "[name].ts",
    chunkFileNames: "part-[name]-[hash].ts",
  });
  await build.close();
}
