import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findWine } from "../../scripts/wine-machine.ts";

const script = join(import.meta.dirname, "../../scripts/wine.ts");
const LIMIT_MS = 900_000;

test("launch.cmd and always-up.cmd do on Windows what they promise (Wine)", {
  timeout: LIMIT_MS,
}, (context) => {
  if (!process.env["WINE_TESTS"]) context.skip("takes minutes: set WINE_TESTS=1");
  if (findWine() === undefined) context.skip("Wine is not installed");
  const { status, stdout } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  expect({ status, failed: stdout.match(/^FAIL .*$/gm) }, stdout).toEqual({
    status: 0,
    failed: null,
  });
});
