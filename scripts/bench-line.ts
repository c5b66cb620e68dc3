/**
 * Measures what the connector adds to a payment on a serial line of 9600 baud, for each family of
 * protocols:
 *   node scripts/bench-line.ts [--payments 20] [--speed 9600]
 * A line between connector and simulated terminal (scripts/bench/slow-line.ts) copies the bytes as
 * slowly as the wire would, and measures how long the wire is idle before each end sends. "In the
 * dialogue" is the connector's part of it after its first byte; "with POST and answer" also has the
 * time from the kiosk's POST to the first byte, and from the last byte to the answer. Prints the
 * median and the least of the payments. "Package" is what a program needs for the same dialogue
 * that only answers with the same bytes, by the same package for serial lines; "with commits" it
 * also makes a synced commit where the connector makes one. Below are the connector's answers in
 * order, each with its time; "*": after a commit.
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
  const folder = mkdtempSync(join(tmpdir(), "bench-line-"));
  const bare = await emptyMs(dialogue, { speed, stores: false, folder });
  const storing = await emptyMs(dialogue, { speed, stores: true, folder });
  rmSync(folder, { recursive: true });
  const wireMs = of((times) => times.wireMs);
  const percent = (ms: number) => `${((ms / wireMs) * 100).toFixed(2)} %`;
  const part = (what: (times: LineTimes) => number) => {
    const [middle, least] = [of(what), Math.min(...measured.map(what))];
    return `${middle.toFixed(1)} ms ${percent(middle)}, ${percent(least)}`;
  };
  print([
    name,
    of(({ bytes }) => bytes).toFixed(0),
    of(({ turns }) => turns).toFixed(0),
    `${wireMs.toFixed(0)} ms`,
    part(({ inDialogueMs }) => inDialogueMs),
    part(({ idleMs }) => idleMs.connector),
    ...[bare, storing].map((ms) => `${ms.toFixed(1)} ms ${percent(ms)}`),
    `${of(({ idleMs }) => idleMs.terminal).toFixed(1)} ms`,
  ]);
  const answers = dialogue.map(({ from, isStored }, i) => {
    const ms = of((times) => times.dialogue[i]?.idleMs ?? 0);
    return from === "connector" && i > 0 ? `${ms.toFixed(1)}${isStored ? "*" : ""}` : "";
  });
  process.stdout.write(`  its answers, ms: ${answers.filter(Boolean).join(" ")}\n`);
}

const WIDTHS = [10, 7, 10, 26, 26, 18, 18, 10];

function print([name = "", ...cells]: readonly string[]): void {
  const text = cells.map((one, i) => one.padStart(WIDTHS[i] ?? 0)).join("");
  process.stdout.write(`${name.padEnd(12)}${text}\n`);
}
