import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { smallMemoryOf } from "../../../src/launcher/processes/launch-process.ts";
import { createIpcClient, type IpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages, tpManagerMessages } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { asSlow, PATIENCE_MS } from "../clocks/patience.ts";
import { ChildProgram, until } from "./child-program.ts";
import { lineIn } from "./line-name.ts";
import {
  type Simulator,
  sandboxHere,
  simulatorProgram,
  type TerminalEndpoints,
  terminalHere,
} from "./simulators.ts";

export interface InstallationOptions {
  /** "own": the test brings its terminal, and names it in SERIAL_PORT. */
  readonly line?: "tcp" | "pty" | "own";
  /** tp-manager alone, without supervisor; nobody listens where the gateway should be. */
  readonly alone?: boolean;
  /** Further switches of the terminal simulator. */
  readonly terminalSwitches?: readonly string[];
  readonly sandboxSwitches?: readonly string[];
  /**
   * Terminal and gateway are programs too: for a test that ends them by kill -9 or keeps its own
   * process busy, and for measurements. Else they run in the test's process.
   */
  readonly simulatorPrograms?: boolean;
  /** Further switches of Node.js for tp-manager. */
  readonly nodeSwitches?: readonly string[];
  /** tp-manager and supervisor run with the launcher's settings of memory. */
  readonly asLaunched?: boolean;
  /** Further environment of tp-manager and supervisor, whose data folder is `data`. */
  readonly environment?: (data: string) => Readonly<Record<string, string>>;
  /** Further lines of config.txt. */
  readonly config?: Readonly<Record<string, string | number>>;
}

/** Times of the product that tests make short, with the longest that the setup file may have. */
const scaled: Readonly<Record<string, number>> = {
  PAYMENT_TIMEOUT: 900,
  ZVT_T1_MS: 1_000,
  ZVT_T2_MS: 30_000,
  ZVT_T3_MS: 60_000,
  ZVT_T4_MS: 900_000,
  GATEWAY_WAIT: 60_000,
  GATEWAY_TIMEOUT: 120_000,
};

/** On a slow machine nobody is late who would be in time on a fast one. */
function slowly(config: InstallationOptions["config"] = {}): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const max = scaled[name];
      return [name, max === undefined ? value : asSlow(Number(value), max)];
    }),
  );
}

/** `--t2-ms 200` and its kind, for the simulated terminal. */
function slowSwitches(switches: readonly string[]): string[] {
  return switches.map((argument, i) =>
    /^--t[1-4]-ms$/.test(switches[i - 1] ?? "") ? String(asSlow(Number(argument))) : argument,
  );
}

const noSettings = { switches: [], environment: {} };

/** One of many questions: one that finds nobody is asked again. */
const ATTEMPT_MS = 2_000;

const LOGIN = "kiosk";
const PASSWORD = "test-kiosk-password";
export const GATEWAY_LOGIN = "shop";
export const GATEWAY_PASSWORD = "test-gateway-password";
export const WEBSITE_ID = "123456";

/**
 * A whole installation: supervisor and tp-manager as real processes, a terminal simulator and a
 * gateway sandbox on real sockets and lines, and a data folder of its own. Every part can be ended
 * and started again.
 */
export class TestInstallation {
  readonly folder = mkdtempSync(join(tmpdir(), "utc-installation-"));
  readonly data = join(this.folder, "data");
  readonly #line = lineIn(this.folder);
  #options: InstallationOptions;
  #port = 0;
  #sandboxPort = 0;
  terminalEndpoints: TerminalEndpoints | undefined;
  terminal: Simulator<TerminalEndpoints> | undefined;
  sandbox: Simulator<{ url: string }> | undefined;
  supervisor: ChildProgram | undefined;
  tpManager: ChildProgram | undefined;

  constructor(options: InstallationOptions = {}) {
    this.#options = options;
  }

  /** Everything, in an order that a launcher would choose. Milliseconds until both were ready. */
  async start(): Promise<number> {
    const { alone = false } = this.#options;
    await Promise.all([this.startTerminal(), ...(alone ? [] : [this.startSandbox()])]);
    this.#port = await freePort();
    this.#writeConfig();
    const startedMs = systemClock.monotonicMs();
    await Promise.all([...(alone ? [] : [this.startSupervisor()]), this.startTpManager()]);
    return systemClock.monotonicMs() - startedMs;
  }

  async startTerminal(): Promise<void> {
    const { line = "tcp", terminalSwitches = [], simulatorPrograms } = this.#options;
    if (line === "own") return;
    // Of those that nobody else is given: it comes back after its death to the same place.
    const port = this.terminalEndpoints?.tcpPort ?? (await freePort());
    const way =
      line === "tcp" ? ["--tcp", `127.0.0.1:${port}`] : ["--no-tcp", "--pty-link", this.#line];
    const known = this.terminalEndpoints?.control;
    const control = known ? new URL(known).port : String(await freePort());
    const state = ["--state", join(this.folder, "terminal.db")];
    const given = [...way, "--control", control, ...state, ...slowSwitches(terminalSwitches)];
    // Programs inherit the pseudo-terminals of the process that starts them, which keeps a line up
    // that its terminal has closed.
    this.terminal = await (simulatorPrograms || line === "pty"
      ? simulatorProgram("terminal", given, join(this.folder, "terminal.ready"))
      : terminalHere(given));
    this.terminalEndpoints = this.terminal.ways;
  }

  /**
   * kill -9 of a program. The name of its line goes first: the system gives the device of a killed
   * terminal to the next one, be it another test's, and a connector that looks for its own would
   * find that.
   */
  async killTerminal(): Promise<void> {
    if (this.#options.line === "pty") rmSync(this.#line, { force: true });
    await this.terminal?.end("SIGKILL");
  }

  /**
   * Another terminal in the place of this one, and the settings for it: tp-manager starts again,
   * with its journal; supervisor and gateway run on.
   */
  async changeTerminal(options: InstallationOptions): Promise<void> {
    await Promise.all([this.tpManager?.end(), this.killTerminal()]);
    this.#options = options;
    this.terminalEndpoints = undefined;
    for (const end of ["", "-wal", "-shm"]) {
      rmSync(join(this.folder, `terminal.db${end}`), { force: true });
    }
    await this.startTerminal();
    this.#writeConfig();
    await this.startTpManager();
  }

  async startSandbox(): Promise<void> {
    this.#sandboxPort ||= await freePort();
    const { simulatorPrograms, sandboxSwitches = [] } = this.#options;
    const store = [
      "--port",
      String(this.#sandboxPort),
      "--database",
      join(this.folder, "sandbox.db"),
    ];
    const account = ["--login", GATEWAY_LOGIN, "--password", GATEWAY_PASSWORD];
    const given = [...store, ...account, "--website", WEBSITE_ID, ...sandboxSwitches];
    this.sandbox = await (simulatorPrograms
      ? simulatorProgram("gateway", given, join(this.folder, "sandbox.ready"))
      : sandboxHere(given));
  }

  async startSupervisor(): Promise<void> {
    const given = ["--data", this.data];
    this.supervisor = this.#program("supervisor/main.ts", given);
    await this.#answers(this.supervisor, this.#client("supervisor"));
  }

  async startTpManager(): Promise<void> {
    const given = ["--data", this.data];
    this.tpManager = this.#program("tp-manager/main.ts", given, this.#options.nodeSwitches);
    await this.#answers(this.tpManager, this.#client("tp-manager"));
  }

  /** Waits until the terminal is connected and registered. */
  async connected(): Promise<void> {
    const client = this.#client("tp-manager");
    await until("the terminal is connected", async () => {
      const answer = await client.call("status", {}, ATTEMPT_MS).catch(() => undefined);
      return answer?.terminal.link === "connected" || undefined;
    });
    client.close();
  }

  /**
   * Pays until one payment has succeeded, which gives the terminal a last transaction: an empty
   * storage proves nothing. On a busy machine the first payment may be late for the short timers.
   */
  async firstPaid(orderId: string): Promise<void> {
    let number = 0;
    await until("a first payment succeeds", async () => {
      const { one } = await this.pay(1, `${orderId}-${++number}`);
      return one.status === "Success" || undefined;
    });
  }

  call(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    more: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<Answer> {
    return fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method,
      headers: {
        authorization: `Basic ${btoa(`${LOGIN}:${PASSWORD}`)}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...more.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(more.signal ? { signal: more.signal } : {}),
    }).then(async (response) => ({
      http: response.status,
      headers: response.headers,
      one: ((await response.json()) as Array<Answer["one"]>)[0] as Answer["one"],
    }));
  }

  pay(amount: number, orderId: string, more: object = {}): Promise<Answer> {
    return this.call("POST", "/payment", { amount, orderId, ...more });
  }

  /** A call of the simulated terminal's control interface; rejects when that refuses it. */
  async control<T>(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.terminalEndpoints?.control}${path}`, {
      method,
      ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Arms a fault as the simulator's `--fault` writes it: `unplug:at=charged,ms=50`. */
  async arm(fault: string): Promise<void> {
    const [name, rest = ""] = fault.split(":");
    const pairs = rest === "" ? [] : rest.split(",").map((pair) => pair.split("="));
    await this.control("POST", "/faults", { name, ...Object.fromEntries(pairs) });
  }

  /** Takes all faults back; a customer who was held goes on. */
  async disarm(): Promise<void> {
    await this.control("DELETE", "/faults");
  }

  /** What the terminal's bank believes. */
  async ledger(): Promise<Ledger> {
    return await this.control<Ledger>("GET", "/ledger");
  }

  /** The orders the gateway has, newest first. */
  async orders(): Promise<SandboxOrder[]> {
    const response = await fetch(`${this.sandboxUrl}/sandbox/orders`);
    return (await response.json()) as SandboxOrder[];
  }

  /** Of the local API. */
  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  readonly password = PASSWORD;

  get sandboxUrl(): string {
    return `http://127.0.0.1:${this.#sandboxPort}`;
  }

  get secrets(): readonly string[] {
    return [PASSWORD, GATEWAY_PASSWORD];
  }

  async stop(): Promise<void> {
    const { tpManager, supervisor, sandbox, terminal } = this;
    await Promise.all(
      [tpManager, supervisor, sandbox, terminal].map((part) => part?.end("SIGKILL")),
    );
    rmSync(this.#line, { force: true });
    rmSync(this.folder, { recursive: true, force: true });
  }

  #program(main: string, args: readonly string[], more: readonly string[] = []): ChildProgram {
    const { switches, environment } = this.#options.asLaunched
      ? smallMemoryOf(dirname(main))
      : noSettings;
    const given = { ...environment, ...this.#environment };
    return new ChildProgram(main, args, [...switches, ...more], given);
  }

  get #environment(): Readonly<Record<string, string>> {
    return this.#options.environment?.(this.data) ?? {};
  }

  #client<P extends "supervisor" | "tp-manager">(program: P): IpcClient<typeof tpManagerMessages> {
    const messages = program === "supervisor" ? supervisorMessages : tpManagerMessages;
    const directory = openRunDirectory(this.data);
    return createIpcClient(directory, program, messages as typeof tpManagerMessages, systemClock);
  }

  async #answers(
    program: ChildProgram,
    client: IpcClient<{ readonly status: typeof tpManagerMessages.status }>,
  ): Promise<void> {
    const asked = async (): Promise<true | undefined> => {
      if (!program.running) throw new Error(`${program.name} ended: ${program.output}`);
      return await client.call("status", {}, ATTEMPT_MS).then(
        ({ pid }) => pid === program.pid || undefined,
        () => undefined,
      );
    };
    await until(`${program.name} answers`, asked, PATIENCE_MS, program.pid);
    client.close();
  }

  #writeConfig(): void {
    const { tcp } = this.terminalEndpoints ?? {};
    const { alone = false } = this.#options;
    const config = {
      SERIAL_PORT: tcp ?? this.#line,
      LOCAL_PORT: this.#port,
      CONSOLE_PORT: 0,
      TERMINAL_MANAGER_LOGIN: LOGIN,
      TERMINAL_MANAGER_PWD: PASSWORD,
      GATEWAY_URL: alone ? "http://127.0.0.1:1" : this.sandboxUrl,
      GATEWAY_LOGIN,
      GATEWAY_PWD: GATEWAY_PASSWORD,
      GATEWAY_WEBSITE_ID: WEBSITE_ID,
      GATEWAY_CATEGORY_ID: "1",
      GATEWAY_CALLBACK_URL: "http://127.0.0.1:1/notify",
      UPDATE_TIME: "03:30",
      ...slowly(this.#options.config),
    };
    const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\n`);
    openRunDirectory(this.data);
    writeFileSync(join(this.data, "config.txt"), lines.join(""), { mode: 0o600 });
  }
}

export interface Answer {
  readonly http: number;
  readonly headers: Headers;
  /** The one object of the answer. */
  readonly one: AnswerBody;
}

interface AnswerBody {
  readonly status: string;
  readonly error: {
    readonly code: string;
    readonly charged: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  } | null;
  readonly notificationGatewaySent: boolean;
  readonly transactionId: string;
  readonly amount: number;
  readonly receipt: Readonly<Record<string, string>>;
  readonly ticket: string;
  readonly cr: string;
  readonly call: string;
  readonly serialNumber: string;
  readonly terminalId: string;
}

export interface Ledger {
  readonly charged: number;
  readonly entries: ReadonlyArray<{
    /** Time of the entry, ISO 8601 in UTC. */
    readonly at: string;
    readonly kind: "charge" | "reversal";
    readonly amountMinor: number;
    readonly final: boolean;
  }>;
}

interface SandboxOrder {
  readonly merchantReference: string;
  readonly amount: string | number;
  readonly freeData: Readonly<Record<string, string>>;
}

/** No system gives these to a socket that names no port, and the demo takes higher ones. */
const FIRST_PORT = 12_000;
const END_OF_PORTS = 20_000;

const SHARES = 8;
const SHARE = (END_OF_PORTS - FIRST_PORT) / SHARES;
/** Each worker of a run has a share of its own, and goes through it in a circle. */
const ownFirst = FIRST_PORT + (Number(process.env["VITEST_POOL_ID"] ?? 0) % SHARES) * SHARE;
let given = randomInt(SHARE);

/** A port that nobody has: it stays free until the program that it is for takes it. */
export async function freePort(): Promise<number> {
  for (;;) {
    given = (given + 1) % SHARE;
    const port = ownFirst + given;
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
