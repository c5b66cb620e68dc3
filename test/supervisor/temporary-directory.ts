import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own for one test, removed with all it holds. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "supervisor-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
