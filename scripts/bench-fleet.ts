/**
 * Measures the cost that a hanging broker of the fleet has for a payment (docs/fleet.md 4.1):
 *   node scripts/bench-fleet.ts [--runs 3] [--pairs 1000] [--null]
 * Two whole installations of real processes pay in turn, in changing order. One of them reports to
 * a fleet, whose broker accepts the connection and then answers nothing; the other has no fleet.
 * Prints the median of the ratios of the pairs, with the bounds of its two-sided 95 % interval, and
 * the processor time of both programs.
 * Two equal installations differ from start to start by more than these bounds, and the one that
 * was started first takes longer. So a run starts all programs anew twice, with a full compile
 * cache, each installation once as the first one, and its result is the geometric mean of both.
 * --null: neither has a fleet, which shows how far the runs scatter.
 */
import { createServer, type Socket } from "node:net";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { cpuMsOf, median, quantile } from "./bench/figures.ts";
import { Poster } from "./bench/poster.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    runs: { type: "string", default: "3" },
    pairs: { type: "string", default: "1000" },
    null: { type: "boolean", default: false },
  },
});
const [runs, pairs] = [Number(values.runs), Number(values.pairs)];
if (![runs, pairs].every((n) => Number.isInteger(n) && n > 0)) misused();
const WARM_UP = 500;

/** The bytes of a CONNACK of MQTT without properties. */
const accepted = Buffer.from("2003000000", "hex");
let connections = 0;
const sockets = new Set<Socket>();
const broker = createServer((socket) => {
  sockets.add(socket);
  connections++;
  socket.on("error", () => {});
  socket.once("data", () => socket.write(accepted));
});
await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
const { port } = broker.address() as { port: number };

const gateway = await startFakeGateway();
const fleet = { FLEET_URL: `mqtt://127.0.0.1:${port}`, FLEET_ID: "kiosk-7" };
type House = Awaited<ReturnType<typeof made>>;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  await fillCache();
  const ratios: number[] = [];
  for (let i = 0; i < runs; i++) ratios.push(Math.sqrt((await run(true)) * (await run(false))));
  const bounds = [quantile(ratios, 0), quantile(ratios, 1)].map((ratio) => ratio.toFixed(4));
  print(`median of the ${runs} runs: ${median(ratios).toFixed(4)}, ${bounds.join(" to ")}`);
} finally {
  gateway.close();
  for (const socket of sockets) socket.destroy();
  broker.close();
}

/** Starts everything anew, and returns the median of the ratios of the pairs. */
async function run(isFleetFirst: boolean): Promise<number> {
  const withFleet = await made(values.null ? {} : fleet);
  const without = await made({});
  const both = [withFleet, without];
  const poster = new Poster(withFleet.at.password);
  connections = 0;
  try {
    for (const { at } of isFleetFirst ? both : both.toReversed()) {
      await at.start();
      await at.connected();
    }
    await alternately(both, poster, "warm", WARM_UP);
    const before = both.map(processorMs);
    const times = await alternately(both, poster, "pair", pairs);
    const used = both.map((house, at) => (processorMs(house) - (before[at] ?? 0)) / pairs);
    const ratios = times.map(([one = 0, other = 0]) => one / other);
    const half = 0.98 / Math.sqrt(pairs);
    const [ratio, low, high] = [0.5, 0.5 - half, 0.5 + half].map((part) => quantile(ratios, part));
    const [one, other] = [0, 1].map((at) => median(times.map((pair) => pair[at] ?? 0)).toFixed(2));
    print(
      `${pairs} pairs, ${connections} connections to the broker that hangs: POST to answer ` +
        `${one} ms with it, ${other} ms without a fleet (medians); median of the ratios ` +
        `${ratio?.toFixed(4)}, 95 % bounds ${low?.toFixed(4)} and ${high?.toFixed(4)}; processor ` +
        `time ${used.map((ms) => ms.toFixed(2)).join(" and ")} ms`,
    );
    return ratio ?? Number.NaN;
  } finally {
    poster.close();
    for (const house of both) await end(house);
  }
}

/** Returns the processor time of tp-manager and supervisor, in milliseconds. */
function processorMs({ at: { tpManager, supervisor } }: House): number {
  return [tpManager, supervisor].reduce((sum, one) => sum + cpuMsOf(one?.pid ?? 0), 0);
}

/** Starts an installation with a fleet and stops it: the first start would compile everything. */
async function fillCache(): Promise<void> {
  const house = await made(fleet);
  try {
    await house.at.start();
    await house.at.connected();
    await house.at.tpManager?.end("SIGTERM");
    await house.at.supervisor?.end("SIGTERM");
  } finally {
    await end(house);
  }
}

async function end({ at, terminal }: House): Promise<void> {
  await at.stop();
  terminal.close();
}

async function made(config: Readonly<Record<string, string>>) {
  const terminal = await startFakeTerminal();
  const at = new TestInstallation({
    line: "own",
    asLaunched: true,
    simulatorPrograms: true,
    config: {
      SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`,
      GATEWAY_URL: gateway.url,
      ...config,
    },
  });
  return { at, terminal };
}

/** Returns the milliseconds of each pair of payments, in the order of the installations. */
async function alternately(
  houses: readonly House[],
  poster: Poster,
  name: string,
  count: number,
): Promise<number[][]> {
  const times: number[][] = [];
  for (let i = 0; i < count; i++) {
    const pair: number[] = [];
    for (const which of i % 2 === 0 ? [0, 1] : [1, 0]) {
      pair[which] = await poster.pay(`${houses[which]?.at.url}/payment`, `${name}-${i}`);
    }
    times.push(pair);
  }
  return times;
}
