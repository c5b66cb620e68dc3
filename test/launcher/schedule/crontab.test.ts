import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, test as alone, beforeAll, expect } from "vitest";
import { readArguments } from "../../../src/launcher/arguments.ts";
import { crontabLine } from "../../../src/launcher/schedule/schedule.ts";
import { isWhole } from "../../support/run/scope.ts";
import { run, TemporaryCheckout } from "../fixtures/temporary-checkout.ts";

/** Most of the time is waiting for processes, each test with a machine of its own. */
const test = alone.concurrent;
const wholeTest = isWhole ? test : test.skip;

let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

/** A machine with a crontab of its own. */
class Machine {
  readonly folder = mkdtempSync(join(checkout.home, "crontab-"));
  readonly table = join(this.folder, "table");

  /** Its crontab program keeps the table in a file, as cron's own does. */
  constructor() {
    this.crontab(`case $1 in
      -l) [ -f "${this.table}" ] || { echo "no crontab for kiosk" >&2; exit 1; }
        cat "${this.table}" ;;
      -) cat > "${this.table}" ;;
      *) exit 64 ;;
    esac`);
  }

  crontab(script: string): void {
    writeFileSync(join(this.folder, "crontab"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(this.folder, "crontab"), 0o755);
  }

  run(script: string, args: readonly string[], PATH = `${this.folder}:/usr/bin:/bin`) {
    return run(join(checkout.root, script), args, "/", { PATH });
  }

  alwaysUp(...args: string[]) {
    return this.run("always-up.sh", args);
  }

  get text(): string {
    return readFileSync(this.table, "latin1");
  }

  /** What the shell files need, and no crontab of this machine. */
  bareFolder(): string {
    const bare = join(this.folder, "bare");
    mkdirSync(bare);
    for (const tool of ["sh", "readlink", "find"]) {
      writeFileSync(join(bare, tool), `#!/bin/sh\nexec /usr/bin/env ${tool} "$@"\n`);
      chmodSync(join(bare, tool), 0o755);
    }
    return bare;
  }
}

const ownLine = (): string => `*/2 * * * * '${checkout.root}/always-up.sh'`;
/** A text of UTF-8 as {@link Machine.text} has it, byte by byte. */
const bytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

test("--install adds one line, again changes nothing, and --uninstall removes it", async () => {
  const machine = new Machine();
  const first = await machine.alwaysUp("--install");
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toBe(`keep-alive          installed       ${ownLine()}\n`);
  expect(machine.text).toBe(bytes(`${ownLine()}\n`));
  expect((await machine.alwaysUp("--install")).out).toContain("was installed already");
  expect(machine.text).toBe(bytes(`${ownLine()}\n`));
  expect(await machine.alwaysUp("--uninstall")).toMatchObject({ code: 0, err: "" });
  expect(machine.text).toBe("");
  expect((await machine.alwaysUp("--uninstall")).out).toContain("was not installed");
});

// always-up.sh calls it in the same way.
wholeTest("launch.sh keep-alive --install adds the same line", async () => {
  const machine = new Machine();
  expect(await machine.run("launch.sh", ["keep-alive", "--install"])).toMatchObject({
    code: 0,
    err: "",
  });
  expect(machine.text).toBe(bytes(`${ownLine()}\n`));
  expect(await machine.run("launch.sh", ["keep-alive", "--uninstall"])).toMatchObject({ code: 0 });
  expect(machine.text).toBe("");
});

test("other lines stay byte by byte, with foreign encodings and a missing line end", async () => {
  const machine = new Machine();
  const own = bytes(ownLine());
  const others = `# mine\nMAILTO=""\n#${own}\n\n0 3 * * * echo "\xe9 \\% always-up.sh" `;
  writeFileSync(machine.table, others, "latin1");
  expect((await machine.alwaysUp("--install")).code).toBe(0);
  expect(machine.text).toBe(`${others}\n${own}\n`);
  expect((await machine.alwaysUp("--uninstall")).code).toBe(0);
  expect(machine.text).toBe(`${others}\n`);
});

test("a line written by hand is replaced, that of another data folder is left alone", async () => {
  const machine = new Machine();
  const other = `*/5 * * * * "${checkout.root}/always-up.sh" --data /srv/second`;
  const escaped = checkout.root.replaceAll(/[ &]/g, "\\$&");
  writeFileSync(machine.table, `${other}\n@reboot cd /; ${escaped}/always-up.sh >/dev/null\n`);
  expect((await machine.alwaysUp("--install")).code).toBe(0);
  expect(machine.text).toBe(bytes(`${other}\n${ownLine()}\n`));
});

test("the line starts the programs of its data folder in cron's empty environment", async () => {
  const machine = new Machine();
  const data = checkout.dataFolder("50 % of it's data");
  expect(await machine.alwaysUp("--install", "--data", data)).toMatchObject({ code: 0, err: "" });
  // crontab(5): everything after an unescaped % would be standard input.
  const line = Buffer.from(machine.text, "latin1").toString("utf8");
  const command = line.trim().slice("*/2 * * * * ".length).replaceAll("\\%", "%");
  const world = { PATH: "/usr/bin:/bin", HOME: "/", SHELL: "/bin/sh" };
  const started = await run("/bin/sh", ["-c", command], "/", world);
  expect(started).toMatchObject({ code: 0, err: "" });
  expect(started.out).toContain("tp-manager");
  expect((await machine.run("launch.sh", ["status", "--data", data])).code).toBe(0);
  expect((await machine.run("launch.sh", ["stop", "--data", data])).code).toBe(0);
});

test("the line keeps a path to Node that only this shell's PATH knows", () => {
  const entry = { script: "/opt/kiosk/always-up.sh", dataDirectory: "/d", args: ["--data", "/d"] };
  expect(crontabLine({ ...entry, runtimeFolder: "/opt/my node/bin" })).toBe(
    "*/2 * * * * PATH='/opt/my node/bin':/usr/local/bin:/usr/bin:/bin " +
      "/opt/kiosk/always-up.sh --data /d",
  );
});

test("a crontab that cannot be read is never overwritten, and the reason is printed", async () => {
  const machine = new Machine();
  machine.crontab(
    `[ "$1" = - ] && touch "${machine.table}"; echo "kiosk is not allowed to use it" >&2; exit 1`,
  );
  const { code, err } = await machine.alwaysUp("--install");
  expect(code).toBe(69);
  expect(err).toContain("crontab refused: kiosk is not allowed to use it");
  expect(err).toContain("cron.allow");
  expect(existsSync(machine.table)).toBe(false);
});

test("without crontab the launcher says what to install, and names systemd", async () => {
  const machine = new Machine();
  const bare = machine.bareFolder();
  const { code, err } = await machine.run("always-up.sh", ["--install"], bare);
  expect(code).toBe(69);
  expect(err).toContain("there is no crontab on this machine");
  expect(err).toContain("./launch.sh systemd-unit");
  expect(await machine.run("always-up.sh", ["--uninstall"], bare)).toMatchObject({
    code: 0,
    out: "keep-alive          was not installed there is no crontab on this machine\n",
    err: "",
  });
});

test("a crontab that this user may not run is reported as such, by the doctor too", async () => {
  const machine = new Machine();
  machine.crontab("exit 0");
  chmodSync(join(machine.folder, "crontab"), 0o644);
  const only = `${machine.folder}:${machine.bareFolder()}`;
  const { code, err } = await machine.run("always-up.sh", ["--install"], only);
  expect(code).toBe(69);
  expect(err).toContain("may not run crontab");
  const { out } = await machine.run("launch.sh", ["doctor"], only);
  expect(out).toMatch(/^schedule +warn .* may not run crontab, .* -> log in as this user/m);
});

test("the options are refused for commands where they have no meaning", async () => {
  const machine = new Machine();
  expect((await machine.alwaysUp("--install", "--uninstall")).code).toBe(64);
  for (const args of [
    ["start", "--install"],
    ["status", "--bundle", "x"],
    ["keep-alive", "--json"],
    ["start", "--answer-within", "3"],
  ]) {
    expect(() => readArguments(args), args.join(" ")).toThrow(
      expect.objectContaining({ exitCode: 64 }),
    );
    if (isWhole) expect((await machine.run("launch.sh", args)).code).toBe(64);
  }
});
