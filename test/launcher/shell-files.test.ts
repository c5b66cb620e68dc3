import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rowsOf } from "../support/run/scope.ts";
import { run, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

const repository = join(import.meta.dirname, "../..");

/** For tests that leave it as it is. */
let shared: TemporaryCheckout;
let elsewhere: string;
/** A PATH of our own: only what a test puts there, and the shell's own tools. */
let bin: string;

const shellTools = execFileSync(
  "sh",
  ["-c", "for tool in sh readlink find ln; do command -v $tool; done"],
  { encoding: "utf8" },
)
  .trim()
  .split("\n");

beforeAll(() => {
  shared = new TemporaryCheckout();
});
afterAll(() => shared.remove());
beforeEach(() => {
  elsewhere = temporaryFolder();
  bin = join(elsewhere, "bin");
  mkdirSync(bin);
  for (const path of shellTools) symlinkSync(path, join(bin, basename(path)));
});

/** For a test that changes it. */
function ownCheckout(): TemporaryCheckout {
  const checkout = new TemporaryCheckout("stand-ins", "own");
  onTestFinished(() => checkout.remove());
  return checkout;
}

function tool(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** Runs launch.sh with nothing but our own tools on the PATH. */
const launcherOf =
  (checkout: TemporaryCheckout) =>
  (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(join(checkout.root, "launch.sh"), args, {
      cwd: elsewhere,
      env: { PATH: bin },
      encoding: "utf8",
    });
    return { code: status, out: stdout, err: stderr };
  };

const version = `${JSON.parse(readFileSync(join(repository, "package.json"), "utf8")).version}\n`;

test("launch.sh works from any folder, through links, and with a space in its path", async () => {
  const direct = join(shared.root, "launch.sh");
  symlinkSync(direct, join(elsewhere, "absolute"));
  symlinkSync("absolute", join(elsewhere, "link-to-link"));
  const good = { code: 0, out: version, err: "" };
  const calls: ReadonlyArray<readonly [file: string, given: string[], cwd?: string]> = [
    [direct, [], elsewhere],
    ["./launch.sh", [], shared.root],
    ["sh", ["launch.sh"], shared.root],
    ["../launch.sh", [], join(shared.root, "src")],
    [join(elsewhere, "absolute"), []],
    ["./link-to-link", [], elsewhere],
    ["sh", ["link-to-link"], elsewhere],
  ];
  for (const [file, given, cwd] of rowsOf(calls, 3)) {
    expect([file, await run(file, [...given, "--version"], cwd)]).toEqual([file, good]);
  }
});

test("always-up.sh works through a link and passes its arguments on", async () => {
  symlinkSync(join(shared.root, "always-up.sh"), join(elsewhere, "watch"));
  const data = join(elsewhere, "data");
  mkdirSync(join(data, "run"), { recursive: true });
  writeFileSync(join(data, "stopped"), "");
  expect(await run("sh", ["watch", "--data", "data"], elsewhere)).toMatchObject({ code: 0 });
  expect(await run("./watch", ["--frob"], elsewhere)).toMatchObject({ code: 64 });
});

test("a relative data folder starts at the operator's working folder", async () => {
  mkdirSync(join(elsewhere, "my data"));
  const { out } = await run(
    join(shared.root, "launch.sh"),
    ["status", "--json", "--data", "my data"],
    elsewhere,
  );
  expect(JSON.parse(out).dataDirectory).toBe(join(elsewhere, "my data"));
});

test("missing packages are installed with npm ci, and a line says so", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  rmSync(join(checkout.root, "node_modules"));
  tool("node", "echo v20.1.0");
  tool("npm", `echo "npm $* in $PWD"; ln -s "${repository}/node_modules" node_modules`);
  const { code, out, err } = launchWith("--version");
  expect({ code, out }).toEqual({ code: 0, out: version });
  expect(err).toContain("Installing the packages of package-lock.json (npm ci)");
  expect(err).toContain(`npm ci --no-audit --no-fund --loglevel=error in ${checkout.root}`);
});

test("without npm, or with a Node that is too old for it, it says what to install", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  rmSync(join(checkout.root, "node_modules"));
  expect(launchWith()).toMatchObject({ code: 69, out: "" });
  expect(launchWith().err).toContain("are not installed, and Node 0 is too old or missing");
  tool("node", "echo v18.20.4");
  tool("npm", "exit 1");
  expect(launchWith().err).toContain("Node 18.20.4 is too old or missing");
  expect(launchWith().err).toContain("install Node 20 or newer with npm");
  tool("node", "echo v20.0.0");
  expect(launchWith()).toMatchObject({ code: 69 });
  expect(launchWith().err).toContain("npm ci has failed");
  rmSync(join(bin, "npm"));
  expect(launchWith().err).toContain("are not installed, and npm is missing");
});

test("packages that fit are not installed again because of a newer date", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  tool("npm", "exit 1");
  utimesSync(join(checkout.root, "package-lock.json"), new Date(), new Date());
  expect(launchWith("--version")).toEqual({ code: 0, out: version, err: "" });
});

test("packages that do not fit are installed again, but not by stop, status, keep-alive", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  const lock = join(checkout.root, "package-lock.json");
  const changed = readFileSync(lock, "utf8").replace(
    /("node_modules\/zod": \{\s*"version": )"[^"]*"/,
    '$1"99.0.0"',
  );
  writeFileSync(lock, changed);
  tool("node", "echo v20.1.0");
  tool("npm", "echo called");
  expect(launchWith("--version").err).toContain("called");
  for (const command of rowsOf(["stop", "status", "doctor", "keep-alive"], 3)) {
    expect(launchWith(command, "--data", elsewhere).err).not.toContain("called");
  }
});

test("the runtime is the pinned one, else the system's if new enough", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  const speak = (name: string) => `#!/bin/sh\necho "${name} $*"\n`;
  const putNode = (path: string, name: string): void => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, speak(name));
    chmodSync(path, 0o755);
  };
  const { root } = checkout;
  rmSync(join(root, "node_modules"));
  mkdirSync(join(root, "node_modules"));
  writeFileSync(join(root, "node_modules/.package-lock.json"), "{}");
  const system = (version: string): void =>
    tool("node", `[ "$1" = --version ] && echo v${version} || echo "system $*"`);
  tool("npm", "exit 1");
  for (const version of ["20.20.2", "22.9.0", "22.22.1", "23.11.1", "24.9.0", "24.14.1"]) {
    system(version);
    expect(launchWith("status").err).toContain("no Node runtime for this machine");
  }
  const main = `${root}/src/launcher/main.ts status\n`;
  for (const version of ["22.22.2", "22.23.0", "24.15.0", "24.21.0", "25.0.0", "26.1.0"]) {
    system(version);
    expect(launchWith("status").out).toBe(`system ${main}`);
  }
  putNode(join(root, "node_modules/.bin/node"), "pinned");
  expect(launchWith("status").out).toBe(`pinned ${main}`);
});

test("compiled code is kept below the data folder, which keeps starts fast", () => {
  const checkout = ownCheckout();
  const launchWith = launcherOf(checkout);
  expect(launchWith("--version").code).toBe(0);
  expect(existsSync(join(checkout.root, "data/compile-cache"))).toBe(true);
});

/** Of a checkout, and of the root and the versions of a delivery. */
const homes = ["", "scripts/delivery/"];
const shellFiles = [
  ...homes.flatMap((home) => [`${home}launch.sh`, `${home}always-up.sh`]),
  "scripts/delivery/version/launch.sh",
];
const windowsFiles = shellFiles.map((file) => file.replace(/sh$/, "cmd"));
windowsFiles.push("scripts/delivery/install.cmd");

test("shellcheck finds no fault in the shell files", (context) => {
  if (spawnSync("shellcheck", ["--version"]).error) context.skip("shellcheck is not installed");
  const { stdout, status } = spawnSync(
    "shellcheck",
    ["-x", "-P", "SCRIPTDIR", ...shellFiles, "scripts/delivery/verify-release.sh", ".ci/run"],
    {
      cwd: repository,
      encoding: "utf8",
    },
  );
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
});

test("the Windows files end their lines with CR LF and call the same launcher", () => {
  for (const name of windowsFiles) {
    const text = readFileSync(join(repository, name), "latin1");
    expect(
      text
        .split("\n")
        .slice(0, -1)
        .every((line) => line.endsWith("\r")),
    ).toBe(true);
    expect(/^[\x20-\x7e\r\n]*$/.test(text)).toBe(true);
  }
  const launch = readFileSync(join(repository, "launch.cmd"), "utf8");
  expect(launch).toContain('"%ROOT%src\\launcher\\main.ts" %*');
  expect(readFileSync(join(repository, "always-up.cmd"), "utf8")).toContain(
    '\r\n"%~dp0launch.cmd" keep-alive %*\r\n',
  );
});
