/**
 * Measures the cost that a hanging broker of the fleet has for a payment (docs/fleet.md 4.1):
 *   node scripts/bench-fleet.ts [--pairs 1000]
 * Two whole installations of real processes pay in turn, in changing order. One of them reports to
 * a fleet, whose broker accepts the connection and then answers nothing; the other has no fleet.
 * Prints the median of the ratios of the pairs, with the bounds of its two-sided 95 % interval.
 */
import { createServer, type Socket } from "node:net";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { Poster } from "./bench/poster.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({ options: { pairs: { type: "string", default: "1000" } } });
const pairs = Number(values.pairs);
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
const withFleet = await made(fleet);
const without = await made({});
const poster = new Poster(withFleet.at.password);
try {
  for (const { at } of [withFleet, without]) {
    await at.start();
    await at.connected();
  }
  await alternately("warm", WARM_UP);
  const times = await alternately("pair", pairs);
  const ratios = times.map(([one, other]) => one / other).sort((a, b) => a - b);
  const half = (1.96 * Math.sqrt(pairs)) / 2;
  const at = (position: number): string => (ratios[Math.round(position)] ?? Number.NaN).toFixed(4);
  const median = (which: 0 | 1): string => {
    const sorted = times.map((pair) => pair[which]).sort((a, b) => a - b);
    return (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(2);
  };
  process.stdout.write(
    `${pairs} pairs, ${connections} connections to the broker that hangs\n` +
      `POST to answer, median: ${median(0)} ms with it, ${median(1)} ms without a fleet\n` +
      `median of the ratios: ${at(pairs / 2)}, 95 % bounds ${at(pairs / 2 - half)} and ` +
      `${at(pairs / 2 + half)}\n`,
  );
} finally {
  poster.close();
  for (const { at, terminal } of [withFleet, without]) {
    await at.stop();
    terminal.close();
  }
  gateway.close();
  for (const socket of sockets) socket.destroy();
  broker.close();
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

/** Returns the milliseconds of each pair of payments, the one with a fleet first. */
async function alternately(name: string, count: number): Promise<[number, number][]> {
  const times: [number, number][] = [];
  const pay = ({ at }: typeof without, i: number) =>
    poster.pay(`${at.url}/payment`, `${name}-${i}`);
  for (let i = 0; i < count; i++) {
    const before = i % 2 === 0 ? undefined : await pay(without, i);
    const withTelemetry = await pay(withFleet, i);
    times.push([withTelemetry, before ?? (await pay(without, i))]);
  }
  return times;
}
