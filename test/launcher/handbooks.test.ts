import type { ChildProcess } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createIpcClient } from "../../src/shared/ipc/client.ts";
import { tpManagerMessages } from "../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { blocksOf, codeBlocks, pageText } from "../support/files/pages.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { freePort } from "../support/programs/installation.ts";
import { lineIn } from "../support/programs/line-name.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { run, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

/**
 * The commands of the handbooks, typed in a fresh checkout, in the order of a technician who
 * installs the connector and then operates it. The terminal and the gateway are the simulators,
 * started as the kiosk developer's book says.
 */

let checkout: TemporaryCheckout;
let environment: NodeJS.ProcessEnv;
let port: number;
let simulators: ChildProcess | undefined;
const blocks = [...blocksOf("launcher")];
const link = lineIn(temporaryFolder(afterAll));

beforeAll(async () => {
  checkout = new TemporaryCheckout("bundled", "own");
  environment = { ...process.env, PATH: `${crontabFolder()}:${process.env["PATH"]}` };
  port = await freePort();
  mkdirSync(join(checkout.root, "data"));
  copyFileSync("data/config.example.txt", join(checkout.root, "data/config.example.txt"));
});
afterAll(() => {
  if (simulators?.pid !== undefined) process.kill(-simulators.pid, "SIGKILL");
  rmSync(link, { force: true });
  checkout.remove();
});

/** A crontab of its own: the machine's stays as it is. */
function crontabFolder(): string {
  const folder = join(checkout.root, "bin");
  mkdirSync(folder);
  const script = `#!/bin/sh
    case $1 in -l) cat "${folder}/table" ;; -) cat > "${folder}/table" ;; esac`;
  writeFileSync(join(folder, "crontab"), script);
  writeFileSync(join(folder, "table"), "");
  chmodSync(join(folder, "crontab"), 0o755);
  return folder;
}

/** A block of the pages, which is then no longer one of those to be run. */
function block(beginning: string): string {
  const at = blocks.findIndex(({ code }) => code.startsWith(beginning));
  expect(at, `no block begins with ${beginning}`).toBeGreaterThanOrEqual(0);
  return blocks.splice(at, 1)[0]?.code ?? "";
}

/** Line by line; each has to succeed. */
async function typed(code: string): Promise<string> {
  const {
    code: exit,
    out,
    err,
  } = await run("sh", ["-ec", code.replaceAll(":8765", `:${port}`)], checkout.root, environment);
  expect(exit, `${err}${out}`).toBe(0);
  return out;
}

test("--help of the simulators lists their switches", async () => {
  const [help] = blocksOf("simulators").filter(({ code }) => code.includes("--help"));
  const output = await typed(help?.code ?? "");
  expect(output).toContain("--pty-link");
  expect(output).toContain("--website");
});

test("the simulators run in the place of hardware", async () => {
  const [start] = blocksOf("simulators").filter(({ code }) => code.includes("--pty-link"));
  const gatewayPort = await freePort();
  const code = (start?.code ?? "")
    .replaceAll("/tmp/terminal", link)
    .replaceAll("8770", String(gatewayPort));
  simulators = startProcess("sh", ["-ec", `${code}wait`], { cwd: checkout.root, detached: true });
  await expect.poll(() => existsSync(link), { timeout: PATIENCE_MS }).toBe(true);
  await typed(inline("docs/administrator.md", "cp data/config.example.txt"));
  // Passwords of its own, which are kept, because the books' commands have them.
  writeConfig({ TERMINAL_MANAGER_PWD: "secret", OPERATOR_PWD: "other-secret" });
  const gateway = [`http://127.0.0.1:${gatewayPort}`, "demo", "secret", "1000", "5"];
  const logins = ["https://shop.example/notify", "kiosk", "operator"];
  const answers = ["", link, "", ...gateway, ...logins].map((answer) => `${answer}\n`).join("");
  writeFileSync(join(checkout.root, "answers.txt"), answers);
  const configured = await typed(inline("docs/administrator.md", "./launch.sh configure <"));
  expect(configured).toMatch(/^The serial port .* exists and can be opened\./m);
  expect(configured).toMatch(/config\.txt is written\..*\nStart the connector with /);
  writeConfig({
    LOCAL_PORT: String(port),
    CONSOLE_PORT: String(await freePort()),
    KIOSK_PORT: String(await freePort()),
    KIOSK_APP: join(projectRoot, "examples/kiosk"),
  });
});

/** A command that stands within a sentence of a page. */
function inline(page: string, beginning: string): string {
  const [, command = ""] = new RegExp(`\`(${beginning}[^\`]*)\``).exec(pageText(page)) ?? [];
  expect(command).not.toBe("");
  return command;
}

function writeConfig(values: Readonly<Record<string, string>>): void {
  const file = join(checkout.root, "data/config.txt");
  const filled = Object.entries(values).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^#?${name}=.*$`, "m"), `${name}=${value}`),
    readFileSync(file, "utf8"),
  );
  writeFileSync(file, filled);
}

async function connected(): Promise<void> {
  const folder = openRunDirectory(join(checkout.root, "data"));
  const client = createIpcClient(folder, "tp-manager", tpManagerMessages, systemClock);
  await until("the terminal is connected", async () => {
    const status = await client.call("status", {}, 2_000).catch(() => undefined);
    return status?.terminal.link === "connected" || undefined;
  });
  client.close();
}

test("an installation starts, restarts and stops", async () => {
  const everyDay = block("./launch.sh   ");
  await typed(everyDay);
  await typed("./launch.sh");
  await connected();
  expect(await typed("./launch.sh status || test $? = 69")).toMatch(/^terminal +connected/m);
});

test("the operator's status commands run without a failure", async () => {
  const commands = block("./launch.sh status");
  expect(commands).toContain("curl -u operator:secret");
  await typed(commands.replaceAll("operator:secret", "operator:other-secret"));
  expect(await typed(block("./launch.sh kiosk"))).toContain("#ticket=");
});

test("a simulated nexo terminal runs in the place of hardware", async () => {
  const nexoPort = String(await freePort());
  const root = join(temporaryFolder(), "root.pem");
  const here = (text = ""): string =>
    text.replaceAll("8443", nexoPort).replaceAll("/tmp/terminal-root.pem", root);
  const [start] = blocksOf("simulators").filter(({ code }) => code.includes("--protocol nexo"));
  const terminal = startProcess("sh", ["-ec", `${here(start?.code)}wait`], {
    cwd: checkout.root,
    detached: true,
  });
  onTestFinished(() => {
    if (terminal.pid !== undefined) process.kill(-terminal.pid, "SIGKILL");
  });
  await expect.poll(() => existsSync(root), { timeout: PATIENCE_MS }).toBe(true);
  const [settings] = codeBlocks("docs/kiosk-developer.md", "").filter((code) =>
    code.includes("NEXO_POIID="),
  );
  const pairs = here(settings).trim().split("\n");
  const file = join(checkout.root, "data/config.txt");
  const before = readFileSync(file, "utf8");
  writeConfig(Object.fromEntries(pairs.map((line) => line.split("=", 2))));
  await typed("./launch.sh restart");
  await connected();
  writeFileSync(file, before);
  await typed("./launch.sh restart");
});

test("databases are restored", async () => {
  const [stop = "", ...others] = block("./launch.sh stop").split(/(?<=\n)/);
  await typed(stop);
  const data = join(checkout.root, "data");
  mkdirSync(join(data, "backup"), { recursive: true });
  for (const name of ["journal", "supervisor"]) {
    cpSync(join(data, `${name}.db`), join(data, "backup", `${name}-2026-01-31.db`));
  }
  await typed(others.join(""));
});

test("the machine's schedule gets its entry, and loses it again", async () => {
  const [install = "", uninstall = ""] = block("./always-up.sh --install").split(/(?<=\n)/);
  const table = (): string => readFileSync(join(checkout.root, "bin/table"), "utf8");
  await typed(install);
  expect(table()).toMatch(/^\*\/2 \* \* \* \* .*always-up\.sh/m);
  await typed(uninstall);
  expect(table()).not.toContain("always-up.sh");
});

test("on another machine the installation says that payments may be missing", async () => {
  const stick = temporaryFolder();
  const atStick = (code: string): string => code.replaceAll("/media/stick", stick);
  await typed(atStick(block("./always-up.sh --uninstall")));
  const [copy = ""] = readdirSync(stick).filter((name) => name.startsWith("backup-"));
  // The new machine has an installation without databases.
  mkdirSync(join(checkout.root, "data"), { recursive: true, mode: 0o700 });
  await typed(atStick(inline("docs/moving.md", "cp /media/stick/config.txt")));
  const restored = block("./launch.sh restore --from").replace(/backup-[\d-]+/, copy);
  expect(await typed(atStick(restored))).toMatch(/^journal\.db +has a gap .*found at .*put back/m);
  await typed("./launch.sh stop");
});

test("kiosks of a list are enrolled", async () => {
  const [list = ""] = codeBlocks("docs/fleet.md", "csv");
  writeFileSync(join(checkout.root, "kiosks.csv"), list);
  expect(await typed(block("./launch.sh fleet enrol"))).toMatch(/^kiosks +enrolled +3 new/m);
  expect(existsSync(join(checkout.root, "enrolled/kiosks/depot-1/fleet.txt"))).toBe(true);
});

test("every block of the handbooks has been typed", () => {
  expect(blocks).toEqual([]);
});
