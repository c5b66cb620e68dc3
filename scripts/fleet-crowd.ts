/**
 * Many kiosks at one mosquitto, with the supervisor's own link and real sockets: births, the return
 * after an outage of the broker, alarms of a ninth at once, nights of updates by rollout share, the
 * last wills of a tenth that is killed, counted by `mosquitto_sub`; and the return after an outage
 * of an hour on a simulated clock:
 *   node scripts/fleet-crowd.ts [--kiosks 1000] [--outage SECONDS] [--minute MS]
 * --minute: how long a minute of the hour of updates takes. Prints a table. Exits with 1 if
 * something is missing, comes twice, or comes back with a peak of more than twice the mean (of at
 * least 500 kiosks, because that of fewer is random), with 77 where mosquitto is missing.
 */
import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { readArguments } from "./command-line.ts";
import { crowdAtBroker } from "./herd/crowd.ts";
import { brokerHerd } from "./herd/herds.ts";

const { values } = readArguments({
  options: {
    kiosks: { type: "string", default: "1000" },
    outage: { type: "string", default: "60" },
    minute: { type: "string", default: "1000" },
  },
});
const mosquitto = "/usr/sbin/mosquitto";
const PEAK_MAX = 2;
const MANY = 500;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
if (!existsSync(mosquitto)) {
  print("not installed: mosquitto");
  process.exit(77);
}
const kiosks = Number(values.kiosks);
const [outageMs, minuteMs] = [Number(values.outage) * 1_000, Number(values.minute)];
const crowd = { mosquitto, kiosks, processes: 10, spread: 1, outageMs, minuteMs };
const found = await crowdAtBroker(crowd);
const hour = await brokerHerd({ kiosks, seed: 1 });

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
/** The peak; that of few kiosks is random. */
const over = (count: number, peak: number): string =>
  count < MANY ? "" : `; the fullest sixth is ${peak.toFixed(2)} x the mean`;
const [empty, full] = found.memory;
const rows: (readonly [string, number, number, string])[] = [
  ["connected at the first start", kiosks, found.births, `within ${seconds(found.bornMs)}`],
  [
    `back after ${values.outage} s without broker`,
    kiosks,
    found.back,
    `within ${seconds(found.backMs)}; at most ${found.mostInASecond} in a second` +
      over(kiosks, found.peak),
  ],
  [
    "back after an hour (simulated clock)",
    kiosks,
    hour.online,
    `within 15 minutes; the fullest minute is ${hour.peak.toFixed(2)} x the mean`,
  ],
  [
    "alarms at once",
    found.raised,
    found.alarms,
    `within ${seconds(found.alarmsMs)}; ${found.twice} twice`,
  ],
  ...found.nights.map(
    ({ share, reached, restarted, most, peak }) =>
      [
        `updated in the night of ${share} %`,
        reached,
        restarted,
        `at most ${most} in a minute${over(reached, peak)}`,
      ] as const,
  ),
  ["last wills of a killed tenth", found.killed, found.wills, `within ${seconds(found.willsMs)}`],
];
print(`${kiosks} kiosks, load ${(loadavg()[0] ?? 0).toFixed(0)}`);
print("");
print("| what | expected | came | how |");
print("| --- | ---: | ---: | --- |");
for (const row of rows) print(`| ${row.join(" | ")} |`);
print("");
print(`The broker's memory: ${empty} kB without kiosks, ${full} kB with ${kiosks}.`);

const isWhole = rows.every(([, expected, came]) => expected === came) && found.twice === 0;
const peaks = [found.peak, hour.peak, found.nights.at(-1)?.peak ?? 0];
const isEven = kiosks < MANY || Math.max(...peaks) <= PEAK_MAX;
print(isWhole ? "All came, once." : "SOMETHING IS MISSING OR CAME TWICE.");
if (!isEven) print(`A PEAK IS ABOVE ${PEAK_MAX} x THE MEAN.`);
process.exitCode = isWhole && isEven ? 0 : 1;
