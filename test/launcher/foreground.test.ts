import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, test as alone, beforeAll, expect } from "vitest";
import { startProcess } from "../support/programs/own-processes.ts";
import { TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

/** Most of the time is waiting for processes, each test with a data folder of its own. */
const test = alone.concurrent;

let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

interface Foreground {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
  /** Resolves when the text has been printed. */
  printed(text: string): Promise<void>;
}

function foreground(data: string): Foreground {
  const child = startProcess(join(checkout.root, "launch.sh"), ["--foreground", "--data", data]);
  let text = "";
  const collect = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  return {
    child,
    ended: new Promise((resolve) => child.once("close", resolve)),
    output: () => text,
    printed: (wanted) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!text.includes(wanted)) return;
          child.stdout.off("data", check);
          resolve();
        };
        child.stdout.on("data", check);
        check();
      }),
  };
}

async function ready(data: string): Promise<Foreground> {
  const started = foreground(data);
  await started.printed("tp-manager is ready");
  await started.printed("supervisor is ready");
  return started;
}

test("refuses a second start; a signal stops both programs in order and ends with 0", async () => {
  const data = checkout.dataFolder("signal");
  const { child, ended, output } = await ready(data);
  const second = foreground(data);
  expect(await second.ended).toBe(75);
  expect(second.output()).toContain("tp-manager is already running");
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  const lines = output().split("\n");
  expect(lines.filter((line) => !/^(tp-manager|supervisor) \| |^$/.test(line))).toEqual([]);
  const stopped = ["tp-manager has stopped", "supervisor has stopped"].map((text) =>
    lines.findIndex((line) => line.includes(text)),
  );
  expect(stopped[0]).toBeGreaterThan(0);
  expect(stopped[1]).toBeGreaterThan(stopped[0] as number);
});

test("when one program ends, the other is stopped and the launcher fails", async () => {
  const data = checkout.dataFolder("one-ends");
  const { ended } = await ready(data);
  const [supervisor] = checkout.running("supervisor", data);
  process.kill(supervisor as number, "SIGKILL");
  expect(await ended).toBe(70);
  expect(checkout.running("tp-manager", data)).toEqual([]);
});

test("a program that does not start gives its exit code to the launcher", async () => {
  const data = checkout.dataFolder("refuses");
  writeFileSync(join(data, "config.txt"), "LOCAL_PORT=8765\n");
  const { ended, output } = foreground(data);
  expect(await ended).toBe(78);
  expect(output()).toMatch(/^supervisor \| .*GATEWAY_URL is missing/m);
});

// It is waited for as long as the first one ran: neighbours would make that the machine's time.
alone("the other program may report its own fault, however slowly it is loaded", async () => {
  const data = checkout.dataFolder("slow-loads", "LOCAL_PORT=8765\n");
  writeFileSync(join(data, "tp-manager.behaviour"), "load for 1600 ms");
  writeFileSync(join(data, "supervisor.behaviour"), "load for 3000 ms");
  const { ended, output } = foreground(data);
  expect(await ended).toBe(78);
  expect(output()).toMatch(/^tp-manager \| .* is missing/m);
  expect(output()).toMatch(/^supervisor \| .*GATEWAY_URL is missing/m);
});
