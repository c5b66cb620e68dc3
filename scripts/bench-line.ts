/**
 * Measures what the connector adds to a payment on a serial line of 9600 baud, for each family of
 * protocols:
 *   node scripts/bench-line.ts [--payments 20] [--speed 9600]
 * A line between connector and simulated terminal (scripts/bench/slow-line.ts) copies the bytes as
 * slowly as the wire would, and measures how long the wire is idle before each end sends. "In the
 * dialogue" is the connector's part of it after its first byte; "with POST and answer" also has the
 * time from the kiosk's POST to the first byte, and from the last byte to the answer. "Package" is
 * what a program needs for the same dialogue that only answers with the same bytes, by the same
 * package for serial lines; "with commits" it also makes a synced commit where the connector makes
 * one. Prints the median of the payments and, as other work on the machine makes answers late, the
 * sum of the least time of each answer. Below are the medians of the connector's answers in order;
 * "*": after a commit.
 * TEST_BUNDLE=dist/bundle runs the bundled programs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { lineIn } from "../test/support/programs/line-name.ts";
import { median } from "./bench/figures.ts";
import { emptyMs, type LineTimes, SlowLine } from "./bench/slow-line.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    payments: { type: "string", default: "20" },
    speed: { type: "string", default: "9600" },
  },
});
const [payments, speed] = [Number(values.payments), Number(values.speed)];
if (![payments, speed].every((n) => Number.isInteger(n) && n > 0)) misused();

/** The columns after the first. */
const WIDTHS = [7, 7, 9, 33, 33, 33, 33, 10];

/** The payments before the measured ones: Node.js compiles code that runs often. */
const WARM_UP = 5;

const families = [
  { name: "ZVT", switches: [], config: {} },
  {
    name: "Concert",
    switches: ["--protocol", "concert"],
    config: { TERMINAL_PROTOCOL: "concert" },
  },
  {
    name: "Caisse-AP",
    switches: ["--protocol", "caisse-ap", "--session"],
    config: { TERMINAL_PROTOCOL: "caisse-ap", CAISSE_AP_LINK: "session" },
  },
];

const heads = ["", "bytes", "turns", "wire"];
print([...heads, "in the dialogue", "with POST and answer", "package", "with commits", "terminal"]);
for (const family of families) await measure(family);
print(["programs", process.env["TEST_BUNDLE"] ? "bundle" : "sources"]);
print(["load", loadavg()[0]?.toFixed(1) ?? ""]);

async function measure({ name, switches, config }: (typeof families)[number]): Promise<void> {
  let terminalPath = "";
  const line = await SlowLine.open(speed, () => terminalPath);
  const at = new TestInstallation({
    line: "pty",
    asLaunched: true,
    terminalSwitches: [...switches, "--instant"],
    config: { ...config, SERIAL_PORT: line.path, SERIAL_BAUD: speed, GATEWAY_WAIT: 0 },
  });
  terminalPath = lineIn(at.folder);
  line.journal = join(at.data, "journal.db");
  const measured: LineTimes[] = [];
  try {
    await at.start();
    await at.connected();
    for (let i = -WARM_UP; i < payments; i++) {
      line.begin();
      const { one } = await at.pay(5, `line-${i}`);
      const times = line.end();
      if (one.status !== "Success") throw new Error(JSON.stringify(one));
      if (i >= 0) measured.push(times);
    }
  } finally {
    await at.stop();
    line.close();
  }
  const of = (what: (times: LineTimes) => number) => median(measured.map(what));
  const dialogue = measured.at(-1)?.dialogue ?? [];
  // Now and then a status of the terminal makes a dialogue longer.
  const alike = measured.filter((one) => one.dialogue.length === dialogue.length);
  const answers = dialogue.flatMap(({ from }, i) => (from === "connector" && i > 0 ? [i] : []));
  const inDialogue = alike.map((one) => answers.map((i) => one.dialogue[i]?.idleMs ?? 0));
  const folder = mkdtempSync(join(tmpdir(), "bench-line-"));
  const bare = await emptyMs(dialogue, { speed, stores: false, folder });
  const storing = await emptyMs(dialogue, { speed, stores: true, folder });
  rmSync(folder, { recursive: true });
  const wireMs = of((times) => times.wireMs);
  const text = (ms: number) => `${ms.toFixed(1)} ms ${((ms / wireMs) * 100).toFixed(2)} %`;
  const part = (times: readonly number[][]) => {
    const least = sumOf(times[0]?.map((_, i) => Math.min(...column(times, i))) ?? []);
    return `${text(median(times.map(sumOf)))}, ${text(least)}`;
  };
  print([
    name,
    of(({ bytes }) => bytes).toFixed(0),
    of(({ turns }) => turns).toFixed(0),
    `${wireMs.toFixed(0)} ms`,
    ...[inDialogue, measured.map(({ idleMs }) => [idleMs.connector]), bare, storing].map(part),
    `${of(({ idleMs }) => idleMs.terminal).toFixed(1)} ms`,
  ]);
  const each = answers.map((at, i) => {
    return median(column(inDialogue, i)).toFixed(1) + (dialogue[at]?.isStored ? "*" : "");
  });
  process.stdout.write(`  its answers, ms: ${each.join(" ")}\n`);
}

function column(rows: readonly number[][], i: number): number[] {
  return rows.map((row) => row[i] ?? Number.NaN);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function print([name = "", ...cells]: readonly string[]): void {
  const text = cells.map((one, i) => one.padStart(WIDTHS[i] ?? 0)).join("");
  process.stdout.write(`${name.padEnd(10)}${text}\n`);
}
