import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createIpcClient } from "../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../src/shared/time.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { scriptOf } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { PASSWORD } from "./supervisor-rig.ts";

const MAIN = "supervisor/main.ts";

/** Writes a setup file into a data folder. */
export function writeConfig(
  data: string,
  gatewayUrl: string,
  more: Readonly<Record<string, string>> = {},
): void {
  mkdirSync(data, { recursive: true });
  const settings = {
    GATEWAY_URL: gatewayUrl,
    GATEWAY_LOGIN: "login",
    GATEWAY_PWD: PASSWORD,
    GATEWAY_WEBSITE_ID: "107",
    GATEWAY_CATEGORY_ID: "5",
    GATEWAY_CALLBACK_URL: "https://shop.example/notify",
    UPDATE_TIME: "03:30",
    ...more,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  writeFileSync(join(data, "config.txt"), lines.join("\n"), { mode: 0o600 });
}

/** A real supervisor process on a data folder, and the client that tp-manager would have. */
export class SupervisorProcess {
  readonly #data: string;
  readonly #process: ChildProcess;
  readonly #client;
  output = "";

  constructor(data: string, nodeOptions: readonly string[] = [], main = scriptOf(MAIN)) {
    this.#data = data;
    this.#process = startProcess(process.execPath, [...nodeOptions, main, "--data", data], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString("utf8")));
    }
    const runDirectory = openRunDirectory(data);
    this.#client = createIpcClient(runDirectory, "supervisor", supervisorMessages, systemClock);
    onTestFinished(async () => {
      this.#client.close();
      await this.kill();
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Waits until this very process answers. */
  async ready(): Promise<void> {
    const answering = () => this.call("status", {}, PATIENCE_MS).then(({ pid }) => pid);
    await expect.poll(answering).toBe(this.pid);
  }

  call: ReturnType<typeof createIpcClient<typeof supervisorMessages>>["call"] = (...message) =>
    this.#client.call(...message);

  /** kill -9, unless it has ended already. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** The exit code, after a signal or by itself. */
  async ended(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal) this.#process.kill(signal);
    if (this.#process.exitCode === null) await once(this.#process, "exit");
    return this.#process.exitCode;
  }

  log(): string {
    return readFileSync(join(this.#data, "logs/supervisor.log"), "utf8");
  }
}
