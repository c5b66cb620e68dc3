/**
 * Runs the public conformance suite for TUF clients with scripts/tuf-client (docs/updates.md 2.6):
 *   TUF_CONFORMANCE=FOLDER npm run acceptance -- --part conformance
 * FOLDER is a checkout of theupdateframework/tuf-conformance; python3 finds the packages it needs.
 * Exits with the code of pytest; 77, which means skipped, when TUF_CONFORMANCE names no suite.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";

const suite = process.env["TUF_CONFORMANCE"];
if (suite === undefined || !existsSync(join(suite, "tuf_conformance"))) {
  process.stdout.write("TUF_CONFORMANCE names no checkout of theupdateframework/tuf-conformance\n");
  process.exit(77);
}
const entrypoint = join(projectRoot, "scripts", "tuf-client");
const args = ["-m", "pytest", "--no-header", "tuf_conformance", "--entrypoint", entrypoint];
process.exit(spawnSync("python3", args, { cwd: suite, stdio: "inherit" }).status ?? 1);
