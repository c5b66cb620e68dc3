import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");

/** Everything a file loads before its first line runs; types cost nothing. */
function loads(file: string, seen = new Set<string>()): Set<string> {
  const text = readFileSync(join(source, file), "utf8");
  for (const [, target = ""] of text.matchAll(/^import (?!type )[^;]*?from "([^"]+)";/gm)) {
    const path = target.startsWith(".") ? join(file, "..", target) : target;
    if (seen.has(path)) continue;
    seen.add(path);
    if (target.startsWith(".")) loads(path, seen);
  }
  return seen;
}

test("a look when all is well loads three small files and three cheap modules of Node", () => {
  // node:http or zod alone would cost more than an empty start of Node (docs/design.md 9.2).
  expect([...loads("launcher/main.ts")]).toEqual(["node:path"]);
  expect([...loads("launcher/keep-alive.ts")].sort()).toEqual([
    "launcher/probe.ts",
    "node:fs",
    "node:net",
    "node:path",
  ]);
});
