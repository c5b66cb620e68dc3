/**
 * Many kiosks before one gateway, broker and update server that were down for an hour, each with
 * the supervisor's own logic, in one process with a clock of its own:
 *   node scripts/fleet-herd.ts [--kiosks 1000] [--seeds 3] [--orders 2]
 * Prints the requests of the 15 minutes after the outage, and the fullest 60 s over their mean.
 */
import { readArguments } from "./command-line.ts";
import { brokerHerd, gatewayHerd, updateHerd } from "./herd/herds.ts";

const { values } = readArguments({
  options: {
    kiosks: { type: "string", default: "1000" },
    seeds: { type: "string", default: "3" },
    orders: { type: "string", default: "2" },
  },
});
const kiosks = Number(values.kiosks);
const orders = Number(values.orders);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

for (let seed = 1; seed <= Number(values.seeds); seed++) {
  for (const outage of ["cannot be reached", "loses its answers"] as const) {
    const { requests, peak, sent, once } = await gatewayHerd({ kiosks, seed }, outage, orders);
    const there = once ? "each order there once" : "AN ORDER IS THERE TWICE";
    print(
      `gateway that ${outage}: ${requests} requests, ${peak.toFixed(2)} x, ${sent} sent, ${there}`,
    );
  }
  const { requests, peak, online } = await brokerHerd({ kiosks, seed });
  print(`broker: ${requests} connections, ${peak.toFixed(2)} x, ${online} online`);
  print(`looks for updates: ${updateHerd({ kiosks, seed }).toFixed(2)} x`);
}
