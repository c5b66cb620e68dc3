import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { freePort } from "../../test/support/programs/installation.ts";

/* Many kiosks at one mosquitto, with real sockets, counted by a subscriber of others. */

const LIMIT_MS = 180_000;
const member = join(import.meta.dirname, "crowd-member.ts");

interface Crowd {
  readonly mosquitto: string;
  readonly kiosks: number;
  readonly processes: number;
  /** 1: the waits before a new try as they are; less shortens them for a test. */
  readonly spread: number;
}

interface CrowdCount {
  /** Kiosks of which the subscriber was given a birth, and until when. */
  readonly births: number;
  readonly bornMs: number;
  /** Kiosks of one process that was killed, their last wills, and until when. */
  readonly killed: number;
  readonly wills: number;
  readonly willsMs: number;
  /** After a kill -9 and a start of the broker: back, until when, most in one second. */
  readonly back: number;
  readonly backMs: number;
  readonly mostInASecond: number;
  /** States that a late subscriber is given, by how the kiosk is connected. */
  readonly retained: Readonly<Record<string, number>>;
}

/** Births, a process that is killed, a broker that is killed and starts again. */
export async function crowdAtBroker(crowd: Crowd): Promise<CrowdCount> {
  const folder = mkdtempSync(join(tmpdir(), "utc-crowd-"));
  const running: ChildProcess[] = [];
  const start = (program: string, args: readonly string[]): ChildProcess => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    running.push(child);
    return child;
  };
  try {
    const port = await freePort();
    const config = join(folder, "mosquitto.conf");
    const lines = [`listener ${port} 127.0.0.1`, "allow_anonymous true", "persistence false"];
    // Without this setting the broker keeps only few messages for a slow reader.
    writeFileSync(config, [...lines, "max_queued_messages 0", ""].join("\n"));
    const startBroker = () => start(crowd.mosquitto, ["-c", config]);
    const subscribe = () => new Subscriber((args) => start("mosquitto_sub", args), port);
    return await counted(crowd, { port, start, startBroker, subscribe });
  } finally {
    for (const child of running) child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

interface Means {
  readonly port: number;
  readonly start: (program: string, args: readonly string[]) => ChildProcess;
  readonly startBroker: () => ChildProcess;
  readonly subscribe: () => Subscriber;
}

async function counted(crowd: Crowd, means: Means): Promise<CrowdCount> {
  const { kiosks, processes, spread } = crowd;
  const each = kiosks / processes;
  const broker = means.startBroker();
  const first = means.subscribe();
  await first.isThere();
  const beganMs = systemClock.monotonicMs();
  const members = Array.from({ length: processes }, (_, i) =>
    means.start(process.execPath, [member, ...[means.port, i * each, each, spread].map(String)]),
  );
  const births = await first.until("online", kiosks);
  const bornMs = systemClock.monotonicMs() - beganMs;

  const killedMs = systemClock.monotonicMs();
  members[0]?.kill("SIGKILL");
  const wills = await first.until("lost", each);
  const willsMs = systemClock.monotonicMs() - killedMs;

  broker.kill("SIGKILL");
  await once(broker, "exit");
  const restartedMs = systemClock.monotonicMs();
  means.startBroker();
  const second = means.subscribe();
  await second.isThere();
  const back = await second.until("online", kiosks - each);
  const backMs = systemClock.monotonicMs() - restartedMs;
  const late = means.subscribe();
  await late.until("online", kiosks - each);
  return {
    births,
    bornMs,
    killed: each,
    wills,
    willsMs,
    back,
    backMs,
    mostInASecond: second.mostInASecond,
    retained: late.now,
  };
}

/** `mosquitto_sub` on the states of all kiosks. */
class Subscriber {
  readonly #states = new Map<string, string>();
  readonly #times: number[] = [];
  readonly #start: () => ChildProcess;
  #process: ChildProcess;
  #rest = "";
  #hears = false;

  constructor(start: (args: readonly string[]) => ChildProcess, port: number) {
    const args = ["-h", "127.0.0.1", "-p", String(port), "-V", "5", "-q", "1", "-F", "%t %p"];
    const topics = ["-t", "connector/1/+/state", "-t", "$SYS/broker/version"];
    this.#start = () => {
      const child = start([...args, ...topics]);
      child.stdout?.on("data", (chunk: Buffer) => this.#take(chunk.toString("utf8")));
      return child;
    };
    this.#process = this.#start();
  }

  /** How many kiosks are connected in which way, by their last states. */
  get now(): Record<string, number> {
    const found: Record<string, number> = {};
    for (const state of this.#states.values()) found[state] = (found[state] ?? 0) + 1;
    return found;
  }

  /** Births that began within any one second. */
  get mostInASecond(): number {
    const times = this.#times.toSorted((a, b) => a - b);
    return Math.max(...times.map((end, i) => i + 1 - times.findIndex((ms) => ms > end - 1_000)));
  }

  /** Begins again as long as the broker does not listen yet. */
  async isThere(): Promise<void> {
    while (!this.#hears) {
      if (this.#process.exitCode !== null) this.#process = this.#start();
      await sleep(systemClock, "a subscriber", 50);
    }
  }

  /** Waits until so many kiosks are in this state; the number that came within the limit. */
  async until(state: string, count: number): Promise<number> {
    const endMs = systemClock.monotonicMs() + LIMIT_MS;
    while ((this.now[state] ?? 0) < count && systemClock.monotonicMs() < endMs) {
      await sleep(systemClock, "a crowd", 20);
    }
    return this.now[state] ?? 0;
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#hears = true;
      const [topic = "", ...parts] = line.split(" ");
      if (!topic.endsWith("/state")) continue;
      const { kiosk, connection, since } = JSON.parse(parts.join(" "));
      this.#states.set(kiosk, connection);
      if (connection === "online") this.#times.push(Date.parse(since));
    }
  }
}
