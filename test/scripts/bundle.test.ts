import { existsSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runToEnd } from "../support/own-processes.ts";

/** The bundled programs in a folder of their own, with a blank and an umlaut in its path. */
const folder = join(mkdtempSync(join(tmpdir(), "bundle-")), "ein Kiösk");
const data = join(folder, "data");
const launcher = join(folder, "programs", "launcher.js");

function launch(...words: string[]): Promise<{ readonly stdout: string }> {
  return runToEnd(process.execPath, [launcher, ...words]);
}

beforeAll(async () => {
  await runToEnd(process.execPath, [join(projectRoot, "scripts/bundle.ts"), "--out", folder]);
  // The packages with machine code stay outside of bundles.
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => launch("stop", "--data", data));

test("the bundled launcher starts bundled programs, which take a payment", async () => {
  const { stdout } = await launch("--demo", "--data", data);
  expect(stdout).toContain('"status": "Success"');
  expect(stdout).toContain('"notificationGatewaySent": true');
});

test("of the examples, the kiosk alone is in the bundle", () => {
  expect(readdirSync(join(folder, "examples"))).toEqual(["kiosk"]);
});

/** The packages in a program and in what it imports, by the source maps. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const path = join(folder, "programs", file);
  // One of the bundler's own has no map.
  const map = existsSync(`${path}.map`) ? JSON.parse(readFileSync(`${path}.map`, "utf8")) : {};
  const sources: string[] = map.sources ?? [];
  const packages = new Set(sources.flatMap((one) => /node_modules\/([^/]+)/.exec(one)?.[1] ?? []));
  const imports = readFileSync(path, "utf8").matchAll(/(?:from|import) ?"\.\/([^"]+)"/g);
  for (const [, other = ""] of imports) {
    if (seen.has(other)) continue;
    seen.add(other);
    for (const name of packagesOf(other, seen)) packages.add(name);
  }
  return packages;
}

test("MQTT is in the thread with the broker, and not in the supervisor", () => {
  expect([...packagesOf("fleet-broker.js")]).toContain("mqtt");
  expect([...packagesOf("supervisor.js")]).toContain("zod");
  expect([...packagesOf("supervisor.js")]).not.toContain("mqtt");
});

test("a bundled program is read with one byte for each character", () => {
  const programs = join(folder, "programs");
  const files = readdirSync(programs).filter((file) => file.endsWith(".js"));
  const others = files.filter((file) =>
    /[^\0-\x7f]/.test(readFileSync(join(programs, file), "utf8")),
  );
  // The tables of the character sets are shorter as they are.
  expect(others.filter((file) => !file.startsWith("part-zvt-"))).toEqual([]);
});

test("the terminal's page and its modules are in the bundle", async () => {
  const { stdout } = await launch("simulate", "--data", data);
  const control = /in a browser: (\S+)/.exec(stdout)?.[1];
  for (const path of ["", "page/terminal.js", "page/vendor/htm-preact.js"]) {
    const answer = await fetch(`${control}${path}`, { headers: { accept: "text/html" } });
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test("status, audit, page and document find their files in the bundle", async () => {
  const { stdout } = await launch("status", "--data", data);
  expect(stdout).toMatch(/tp-manager +running/);
  const audit = JSON.parse((await launch("audit", "--json", "--data", data)).stdout);
  expect(audit).toMatchObject({ attempts: 1, faults: [] });
  const config = readFileSync(join(data, "config.txt"), "utf8");
  const value = (name: string): string => new RegExp(`^${name}=(.+)`, "m").exec(config)?.[1] ?? "";
  const login = `${value("TERMINAL_MANAGER_LOGIN")}:${value("TERMINAL_MANAGER_PWD")}`;
  for (const [port, path, type] of [
    ["CONSOLE_PORT", "/", "text/html"],
    ["CONSOLE_PORT", "/vendor/htm-preact.js", "text/javascript"],
    ["LOCAL_PORT", "/openapi.json", "application/json"],
  ] as const) {
    const answer = await fetch(`http://localhost:${value(port)}${path}`, {
      headers: { authorization: `Basic ${btoa(login)}` },
    });
    expect([answer.status, answer.headers.get("content-type")]).toMatchObject([
      200,
      expect.stringContaining(type),
    ]);
  }
});
