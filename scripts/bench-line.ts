/**
 * Measures what the connector adds to a payment on a serial line of 9600 baud, for each family of
 * protocols:
 *   node scripts/bench-line.ts [--payments 20] [--speed 9600]
 * A line between connector and simulated terminal (scripts/bench/slow-line.ts) copies the bytes as
 * slowly as the wire would, and measures how long the wire is idle before each end sends. "In the
 * dialogue" is the connector's part of it after its first byte; "with POST and answer" also has the
 * time from the kiosk's POST to the first byte, and from the last byte to the answer. Prints the
 * median and the least of the payments. "Echoes" is what a program would add that only sends back
 * what it receives, with the same package for serial lines, as often as the connector answers.
 * TEST_BUNDLE=dist/bundle runs the bundled programs.
 */
import { loadavg } from "node:os";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { lineIn } from "../test/support/programs/line-name.ts";
import { median } from "./bench/figures.ts";
import { echoMs, type LineTimes, SlowLine } from "./bench/slow-line.ts";
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
print([...heads, "in the dialogue", "with POST and answer", "echoes", "terminal"]);
const oneEcho = await echoMs();
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
  const wireMs = of((times) => times.wireMs);
  const part = (what: (times: LineTimes) => number) => {
    const [middle, least] = [of(what), Math.min(...measured.map(what))];
    const percent = (ms: number) => `${((ms / wireMs) * 100).toFixed(2)} %`;
    return `${middle.toFixed(1)} ms ${percent(middle)}, ${percent(least)}`;
  };
  print([
    name,
    of(({ bytes }) => bytes).toFixed(0),
    of(({ turns }) => turns).toFixed(0),
    `${wireMs.toFixed(0)} ms`,
    part(({ inDialogueMs }) => inDialogueMs),
    part(({ idleMs }) => idleMs.connector),
    `${(of(({ answers }) => answers) * oneEcho).toFixed(1)} ms`,
    `${of(({ idleMs }) => idleMs.terminal).toFixed(1)} ms`,
  ]);
}

function print([name = "", ...cells]: readonly string[]): void {
  process.stdout.write(
    `${name.padEnd(12)}${cells.map((one, i) => one.padStart(i < 3 || i > 4 ? 10 : 25)).join("")}\n`,
  );
}
