/**
 * Measures a whole installation of real processes with an instant simulated terminal:
 *   npm run bench -- [--payments 1000] [--line tcp|pty]
 * Prints POST-to-answer times, resident memory of each process, and the time from launch to ready.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../src/shared/time.ts";
import { TestInstallation } from "../test/support/installation.ts";

const { values } = parseArgs({
  options: {
    payments: { type: "string", default: "1000" },
    line: { type: "string", default: "tcp" },
  },
});
const payments = Number(values.payments);
const { line } = values;
if (!Number.isInteger(payments) || payments < 1 || (line !== "tcp" && line !== "pty")) {
  process.stderr.write("usage: npm run bench -- [--payments N] [--line tcp|pty]\n");
  process.exit(64);
}

const at = new TestInstallation({ line, terminalSwitches: ["--instant"] });
try {
  const readyMs = await at.start();
  await at.connected();
  const idle = memory();
  const timesMs: number[] = [];
  for (let i = 0; i < payments; i++) {
    const startedMs = systemClock.monotonicMs();
    const { one } = await at.pay(10, `bench-${i}`);
    timesMs.push(systemClock.monotonicMs() - startedMs);
    if (one.status !== "Success" || !one.notificationGatewaySent) {
      throw new Error(`payment ${i} answered ${JSON.stringify(one)}`);
    }
  }
  timesMs.sort((a, b) => a - b);
  const { entries } = await at.ledger();
  const rows = [
    ["terminal line", line],
    ["payments", `${payments}, charged at the terminal ${entries.length}`],
    ["POST to answer, median", `${at1(quantile(timesMs, 0.5))} ms`],
    ["POST to answer, p99", `${at1(quantile(timesMs, 0.99))} ms`],
    ["POST to answer, longest", `${at1(timesMs.at(-1) ?? 0)} ms`],
    ["launch to both ready", `${at1(readyMs)} ms`],
    ["memory idle", idle],
    ["memory after", memory()],
  ];
  for (const [name = "", value] of rows) process.stdout.write(`${name.padEnd(26)}${value}\n`);
} finally {
  await at.stop();
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

function at1(ms: number): string {
  return ms.toFixed(1);
}

function memory(): string {
  return [at.tpManager, at.supervisor]
    .map((program) => {
      const megabytes = (program?.residentBytes() ?? 0) / 1024 / 1024;
      return `${program?.name.split("/")[0]} ${megabytes.toFixed(0)} MB`;
    })
    .join(", ");
}
