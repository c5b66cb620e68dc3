/**
 * Checks the dashboards of examples/fleet-pack against the types of `@grafana/schema`, which npm
 * installs in a folder that is removed afterwards:
 *   node scripts/fleet-pack/grafana-check.ts
 * Exits with 1 and the compiler's words when a dashboard is not one, with 77 without the package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../../src/shared/version-files.ts";
import { dashboards } from "./dashboards.ts";

const skipped = 77;
const folder = mkdtempSync(join(tmpdir(), "grafana-check-"));
try {
  process.exitCode = check();
} finally {
  rmSync(folder, { recursive: true });
}

function check(): number {
  const once = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"];
  const options = { cwd: folder, stdio: "ignore", timeout: 60_000 } as const;
  const { status } = spawnSync("npm", ["install", ...once, "@grafana/schema"], options);
  if (status !== 0) {
    process.stdout.write("npm cannot install @grafana/schema\n");
    return skipped;
  }
  const boards = Object.entries(dashboards());
  const lines = boards.map(
    ([name, board]) => `export const ${name}: Dashboard = ${JSON.stringify(board, null, 1)};`,
  );
  const type = 'import type { Dashboard } from "@grafana/schema";';
  writeFileSync(join(folder, "boards.ts"), [type, ...lines, ""].join("\n"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const tsc = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--types", ""];
  try {
    execFileSync(process.execPath, [tsc, ...flags, "boards.ts"], { cwd: folder, stdio: "pipe" });
  } catch (error) {
    process.stdout.write(`${(error as { stdout: Buffer }).stdout}`);
    return 1;
  }
  process.stdout.write(`${boards.length} dashboards are dashboards of @grafana/schema\n`);
  return 0;
}
