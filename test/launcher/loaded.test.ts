import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");

/** What the imports of a file name; types cost nothing. */
function loadsItself(file: string): string[] {
  const text = readFileSync(join(source, file), "utf8");
  const imports = text.matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)";/gm);
  return [...imports].map(([, target = ""]) =>
    target.startsWith(".") ? join(file, "..", target) : target,
  );
}

/** Everything a file loads before its first line runs. */
function loads(file: string, visited = new Set<string>()): Set<string> {
  for (const path of loadsItself(file)) {
    if (visited.has(path)) continue;
    visited.add(path);
    if (path.endsWith(".ts")) loads(path, visited);
  }
  return visited;
}

test("a check when all is well loads five small files and three cheap modules of Node", () => {
  // node:http or zod alone would cost more than an empty start of Node (docs/design.md 9.2), and an
  // import of node:fs loads fourteen modules that its exports need.
  const files = [
    "launcher/processes/deliberate-stop.ts",
    "launcher/commands/keep-alive.ts",
    "launcher/processes/probe.ts",
    "shared/version-files.ts",
  ];
  expect([...loads("launcher/main.ts")].sort()).toEqual([...files, "node:path"].sort());
  const bare = ["launcher/main.ts", ...files].flatMap((file) => [
    ...readFileSync(join(source, file), "utf8").matchAll(/getBuiltinModule\("([^"]+)"\)/g),
  ]);
  expect(new Set(bare.map(([, name]) => name))).toEqual(new Set(["node:fs", "node:net"]));
});

const packages = (file: string): string[] =>
  [...loads(file)].filter((path) => !/^(node:|[\w-]+\/)/.test(path)).sort();

test("the two programs start with few packages, and none that only some installations need", () => {
  expect(packages("tp-manager/main.ts")).toEqual([
    "@fastify/basic-auth",
    "currency-codes",
    "fastify",
    "pino",
    "prom-client",
    "zod",
  ]);
  expect(packages("supervisor/main.ts")).toEqual([
    "currency-codes",
    "fast-xml-parser",
    "pino",
    "zod",
  ]);
  // Neither the machine code of serial ports nor soap.
  for (const file of [
    "tp-manager/terminal/zvt/zvt-driver.ts",
    "tp-manager/terminal/transport/open-transport.ts",
    "tp-manager/terminal/zvt/zvt-terminal.ts",
    "supervisor/gateway/gateway-client.ts",
  ]) {
    expect(packages(file), file).not.toContain("serialport");
    expect(packages(file), file).not.toContain("soap");
  }
});

test("an operator's command loads what it needs; help and wrong arguments load little", () => {
  expect(packages("launcher/launch.ts")).toEqual([]);
  for (const file of [
    "launcher/commands/status.ts",
    "launcher/commands/start.ts",
    "launcher/commands/keep-alive-repair.ts",
  ]) {
    expect(packages(file)).toEqual(["zod"]);
    expect([...loads(file)]).not.toContain("shared/config/schema.ts");
  }
});

test("without FLEET_URL the supervisor loads nothing of the fleet, and no MQTT", () => {
  const loaded = [...loads("supervisor/main.ts")];
  expect(loaded.length).toBeGreaterThan(50);
  expect(loaded.filter((path) => /mqtt|fleet\/|start-fleet|support-bundle/.test(path))).toEqual([]);
  // With it the package is in a thread of its own only.
  expect([...loads("supervisor/start-fleet.ts")]).not.toContain("mqtt");
  expect([...loads("supervisor/fleet/broker-thread.ts")]).toContain("mqtt");
});

test("the supervisor loads nothing that verifies signatures, nor does the launcher at once", () => {
  for (const file of ["supervisor/main.ts", "launcher/commands/update.ts"]) {
    const all = [...loads(file)];
    expect(
      all.filter((path) => /tuf|check-for-update/.test(path)),
      file,
    ).toEqual([]);
  }
});

test("nothing imports node:http, which would load undici with it", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" });
  const importing = files.filter(
    (file) => file.endsWith(".ts") && loadsItself(file).includes("node:http"),
  );
  expect(importing).toEqual([]);
  const script = `await import(${JSON.stringify(join(source, "shared/ipc/client.ts"))});
    console.log(process.moduleLoadList.filter((name) => name.includes("undici")).join());`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  expect(stdout.toString()).toBe("\n");
});
