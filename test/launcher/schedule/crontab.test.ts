import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { crontabLine } from "../../../src/launcher/schedule/crontab.ts";
import { TemporaryCheckout } from "../fixtures/temporary-checkout.ts";

let checkout: TemporaryCheckout;
/** Holds a crontab program that keeps its table in a file, as cron's own does. */
let folder: string;
let table: string;

beforeEach(() => {
  checkout = new TemporaryCheckout();
  folder = mkdtempSync(join(tmpdir(), "crontab-"));
  table = join(folder, "table");
  program(`case $1 in
    -l) [ -f "${table}" ] || { echo "no crontab for kiosk" >&2; exit 1; }; cat "${table}" ;;
    -) cat > "${table}" ;;
    *) exit 64 ;;
  esac`);
});
afterEach(() => {
  checkout.remove();
  rmSync(folder, { recursive: true, force: true });
});

function program(script: string): void {
  writeFileSync(join(folder, "crontab"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "crontab"), 0o755);
}

function run(script: string, args: readonly string[], PATH = `${folder}:/usr/bin:/bin`) {
  const { status, stdout, stderr } = spawnSync(join(checkout.root, script), args, {
    cwd: "/",
    env: { PATH },
    encoding: "utf8",
  });
  return { code: status, out: stdout, err: stderr };
}

/** What the shell files need, and no crontab of this machine. */
function bareFolder(): string {
  const bare = join(folder, "bare");
  mkdirSync(bare);
  for (const tool of ["sh", "readlink", "find"]) {
    writeFileSync(join(bare, tool), `#!/bin/sh\nexec /usr/bin/env ${tool} "$@"\n`);
    chmodSync(join(bare, tool), 0o755);
  }
  return bare;
}

const alwaysUp = (...args: string[]) => run("always-up.sh", args);
const tableText = (): string => readFileSync(table, "latin1");
const ownLine = (): string => `*/2 * * * * '${checkout.root}/always-up.sh'`;

test("--install adds one line, again changes nothing, --uninstall takes it away", () => {
  const first = alwaysUp("--install");
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toBe(`keep-alive          installed       ${ownLine()}\n`);
  expect(tableText()).toBe(`${ownLine()}\n`);
  expect(alwaysUp("--install").out).toContain("was installed already");
  expect(tableText()).toBe(`${ownLine()}\n`);
  expect(alwaysUp("--uninstall")).toMatchObject({ code: 0, err: "" });
  expect(tableText()).toBe("");
  expect(alwaysUp("--uninstall").out).toContain("was not installed");
});

test("launch.sh keep-alive --install does the same", () => {
  expect(run("launch.sh", ["keep-alive", "--install"])).toMatchObject({ code: 0, err: "" });
  expect(tableText()).toBe(`${ownLine()}\n`);
  expect(run("launch.sh", ["keep-alive", "--uninstall"])).toMatchObject({ code: 0 });
  expect(tableText()).toBe("");
});

test("other lines stay byte by byte, with foreign encodings and a missing line end", () => {
  const others = `# mine\nMAILTO=""\n#${ownLine()}\n\n0 3 * * * echo "\xe9 \\% always-up.sh" `;
  writeFileSync(table, others, "latin1");
  expect(alwaysUp("--install").code).toBe(0);
  expect(tableText()).toBe(`${others}\n${ownLine()}\n`);
  expect(alwaysUp("--uninstall").code).toBe(0);
  expect(tableText()).toBe(`${others}\n`);
});

test("a line written by hand is replaced, that of another data folder is left alone", () => {
  const other = `*/5 * * * * "${checkout.root}/always-up.sh" --data /srv/second`;
  const escaped = checkout.root.replaceAll(" ", "\\ ");
  writeFileSync(table, `${other}\n@reboot cd /; ${escaped}/always-up.sh >/dev/null\n`);
  expect(alwaysUp("--install").code).toBe(0);
  expect(tableText()).toBe(`${other}\n${ownLine()}\n`);
});

test("the line starts the programs in the empty world of cron, with its own data folder", () => {
  const data = checkout.dataFolder("50 % of it's data");
  expect(alwaysUp("--install", "--data", data)).toMatchObject({ code: 0, err: "" });
  // crontab(5): everything behind an unescaped % would be standard input.
  const command = tableText().trim().slice("*/2 * * * * ".length).replaceAll("\\%", "%");
  const started = spawnSync("/bin/sh", ["-c", command], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", HOME: "/", SHELL: "/bin/sh" },
    encoding: "utf8",
  });
  expect(started).toMatchObject({ status: 0, stderr: "" });
  expect(started.stdout).toContain("tp-manager");
  expect(run("launch.sh", ["status", "--data", data]).code).toBe(0);
  expect(run("launch.sh", ["stop", "--data", data]).code).toBe(0);
});

test("a Node that only this shell's PATH knows travels in the line", () => {
  const entry = { script: "/opt/kiosk/always-up.sh", dataDirectory: "/d", args: ["--data", "/d"] };
  expect(crontabLine({ ...entry, runtimeFolder: "/opt/my node/bin" })).toBe(
    "*/2 * * * * PATH='/opt/my node/bin':/usr/local/bin:/usr/bin:/bin " +
      "/opt/kiosk/always-up.sh --data /d",
  );
});

test("a crontab that cannot be read is never overwritten, and the reason is told", () => {
  program(`[ "$1" = - ] && touch "${table}"; echo "kiosk is not allowed to use it" >&2; exit 1`);
  const { code, err } = alwaysUp("--install");
  expect(code).toBe(69);
  expect(err).toContain("crontab has refused: kiosk is not allowed to use it");
  expect(err).toContain("cron.allow");
  expect(existsSync(table)).toBe(false);
});

test("without crontab it says what to install, and names systemd", () => {
  const { code, err } = run("always-up.sh", ["--install"], bareFolder());
  expect(code).toBe(69);
  expect(err).toContain("there is no crontab on this machine");
  expect(err).toContain("./launch.sh systemd-unit");
});

test("a crontab that this user may not run is told as that, also by the doctor", () => {
  program("exit 0");
  chmodSync(join(folder, "crontab"), 0o644);
  const only = `${folder}:${bareFolder()}`;
  const { code, err } = run("always-up.sh", ["--install"], only);
  expect(code).toBe(69);
  expect(err).toContain("may not run crontab");
  const { out } = run("launch.sh", ["doctor"], only);
  expect(out).toMatch(/^schedule +warn .* may not run crontab, .* -> log in as this user/m);
});

test("the options are refused where they have no meaning", () => {
  expect(alwaysUp("--install", "--uninstall").code).toBe(64);
  for (const args of [
    ["start", "--install"],
    ["status", "--bundle", "x"],
    ["keep-alive", "--json"],
    ["start", "--answer-within", "3"],
  ]) {
    expect(run("launch.sh", args).code).toBe(64);
  }
});
