import type { ChildProcess } from "node:child_process";
import { sleep, systemClock } from "../../src/shared/time.ts";

const LIMIT_MS = 300_000;

/** `mosquitto_sub` on the states and alarms of all kiosks. */
export class CrowdReader {
  readonly #states = new Map<string, string>();
  /** When each connection began, by kiosk and time. */
  readonly #births = new Map<string, number>();
  /** The times of the births that a night began after. */
  #known = 0;
  readonly #alarms = new Set<string>();
  /** Alarms that came more than once. */
  twice = 0;
  readonly #start: () => ChildProcess;
  #process: ChildProcess;
  #rest = "";
  #hears = false;

  constructor(start: (args: readonly string[]) => ChildProcess, port: number) {
    const args = ["-h", "127.0.0.1", "-p", String(port), "-V", "5", "-q", "1", "-F", "%t %p"];
    const own = ["-t", "connector/1/+/state", "-t", "connector/1/+/alarm"];
    const topics = [...own, "-t", "$SYS/broker/version"];
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

  /** All births: the most within any one second, and their peak. */
  get storm(): { mostInASecond: number; peak: number } {
    const times = [...this.#births.values()].toSorted((a, b) => a - b);
    this.#known = times.length;
    return { mostInASecond: mostWithin(times, 1_000), peak: peakOf(times) };
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
    return await reached(() => this.now[state] ?? 0, count);
  }

  async untilAlarms(count: number): Promise<number> {
    return await reached(() => this.#alarms.size, count);
  }

  /** Waits for births after the last call: the most within a minute of `minuteMs`, the peak. */
  async untilRestarted(count: number, minuteMs: number) {
    const restarted = await reached(() => this.#births.size - this.#known, count);
    const times = [...this.#births.values()].slice(this.#known).toSorted((a, b) => a - b);
    this.#known = this.#births.size;
    return { restarted, most: mostWithin(times, minuteMs), peak: peakOf(times) };
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#hears = true;
      const [topic = "", ...parts] = line.split(" ");
      if (!topic.startsWith("connector/")) continue;
      const { id, kiosk, connection, since } = JSON.parse(parts.join(" "));
      if (topic.endsWith("/alarm")) {
        if (this.#alarms.has(id)) this.twice++;
        this.#alarms.add(id);
        continue;
      }
      this.#states.set(kiosk, connection);
      if (connection === "online") this.#births.set(`${kiosk} ${since}`, Date.parse(since));
    }
  }
}

/** The fullest sixth of the time from the first to the last, over the mean of a sixth. */
function peakOf(times: readonly number[]): number {
  const sixthMs = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 6;
  return mostWithin(times, sixthMs) / (times.length / 6);
}

/** The most of some ascending times within any span of so long. */
function mostWithin(times: readonly number[], spanMs: number): number {
  let most = 0;
  for (let end = 0, begin = 0; end < times.length; end++) {
    while ((times[end] ?? 0) - (times[begin] ?? 0) >= spanMs && begin < end) begin++;
    most = Math.max(most, end - begin + 1);
  }
  return most;
}

async function reached(present: () => number, count: number): Promise<number> {
  const endMs = systemClock.monotonicMs() + LIMIT_MS;
  while (present() < count && systemClock.monotonicMs() < endMs) {
    await sleep(systemClock, "a crowd", 20);
  }
  return present();
}
