import {
  copyFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { isWhole } from "../support/run/scope.ts";

/*
 * The files of the bundle; test/delivery/release.test.ts runs the programs in it. In the whole
 * scope the script makes a bundle of its own, elsewhere it is the one that all tests of a run use.
 */
let folder = process.env["TEST_BUNDLE"] ?? "";

beforeAll(async () => {
  if (!isWhole) return;
  folder = join(mkdtempSync(join(tmpdir(), "bundle-")), "ein Kiösk");
  await runToEnd(process.execPath, [join(projectRoot, "scripts/bundle.ts"), "--out", folder]);
});

test("of the examples, those that a program starts and the fleet pack are in the bundle", () => {
  const examples = join(folder, "examples");
  expect(readdirSync(examples)).toEqual(["fleet-pack", "kiosk", "terminal-acceptance"]);
  // The operator's machine has no package, so the bridge imports modules of Node.js only.
  const bridge = readFileSync(join(examples, "fleet-pack/bridge.js"), "utf8");
  const imports = [...bridge.matchAll(/^import [^"]*"([^"]+)";$/gm)].map(([, id = ""]) => id);
  expect([imports.length > 2, imports.filter((id) => !isBuiltin(id))]).toEqual([true, []]);
});

/** The packages in a program and in what it imports, by the source maps. */
function packagesOf(file: string, visited = new Set<string>()): Set<string> {
  const path = join(folder, "programs", file);
  // One of the bundler's own has no map.
  const map = existsSync(`${path}.map`) ? JSON.parse(readFileSync(`${path}.map`, "utf8")) : {};
  const sources: string[] = map.sources ?? [];
  const packages = new Set(sources.flatMap((one) => /node_modules\/([^/]+)/.exec(one)?.[1] ?? []));
  const imports = readFileSync(path, "utf8").matchAll(/(?:from|import) ?"\.\/([^"]+)"/g);
  for (const [, other = ""] of imports) {
    if (visited.has(other)) continue;
    visited.add(other);
    for (const name of packagesOf(other, visited)) packages.add(name);
  }
  return packages;
}

test("MQTT is in the thread with the broker, and not in the supervisor", () => {
  expect([...packagesOf("fleet-broker.js")]).toContain("mqtt");
  expect([...packagesOf("supervisor.script.js")]).toContain("zod");
  expect([...packagesOf("supervisor.script.js")]).not.toContain("mqtt");
});

test("a source map has the texts of our sources, and of no package", () => {
  for (const name of ["supervisor.script.js.map", "fleet-broker.js.map"]) {
    const map = JSON.parse(readFileSync(join(folder, "programs", name), "utf8"));
    const sources: string[] = map.sources;
    const texts = sources.filter((_, at) => map.sourcesContent[at] !== null);
    expect(texts).toEqual(sources.filter((source) => !source.includes("node_modules")));
  }
});

test("a bundled program gets the modules of Node.js without an import", () => {
  const programs = join(folder, "programs");
  const files = readdirSync(programs).filter((file) => file.endsWith(".js"));
  const importing = files.filter((file) =>
    /^(?:import|export|\}).* from "(?:node:.*|[a-z_]+)";$/m.test(
      readFileSync(join(programs, file), "utf8"),
    ),
  );
  expect(importing).toEqual([]);
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

test("a program starts with the whole code that was kept of this text", async () => {
  const own = mkdtempSync(join(tmpdir(), "compiled-"));
  const script = join(own, "supervisor.script.js");
  copyFileSync(join(folder, "programs/supervisor.js"), join(own, "supervisor.js"));
  writeFileSync(join(own, "package.json"), '{"type":"module"}');
  const says = (text: string): void => {
    const body = `importMeta.keepCompiled();
      (await importModule("node:process")).stdout.write("${text}");`;
    writeFileSync(script, `(async function (importMeta, importModule) { ${body} })`);
  };
  const cache = join(own, "cache");
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  /** Runs the program; returns what it says and which file keeps its code. */
  const run = async () => {
    const said = await runToEnd(process.execPath, [join(own, "supervisor.js")], { env });
    const [file = ""] = globSync("*/*.compiled", { cwd: cache });
    return { ...said, file: join(cache, file), inode: statSync(join(cache, file)).ino };
  };
  says("one");
  const first = await run();
  expect(first).toMatchObject({ stdout: "one", stderr: "" });
  expect(await run()).toEqual(first);
  says("two"); // of the same length, which is all that V8 compares
  const second = await run();
  expect(second.stdout).toBe("two");
  expect(second.inode).not.toBe(first.inode);
  const kept = readFileSync(second.file);
  for (const damaged of [kept.subarray(0, -1), kept.with(100, 1), Buffer.alloc(0)]) {
    writeFileSync(second.file, damaged);
    expect((await run()).stdout).toBe("two");
    expect(readFileSync(second.file).length).toBe(kept.length);
  }
});
