/**
 * Many kiosks at one mosquitto, with the supervisor's own link and real sockets: births, the last
 * wills of a tenth that is killed, and a broker that is killed and starts again, counted by
 * `mosquitto_sub`:
 *   node scripts/fleet-crowd.ts [--kiosks 1000]
 */
import { readArguments } from "./command-line.ts";
import { crowdAtBroker } from "./herd/crowd.ts";

const { values } = readArguments({ options: { kiosks: { type: "string", default: "1000" } } });
const mosquitto = "/usr/sbin/mosquitto";
const kiosks = Number(values.kiosks);
const counts = await crowdAtBroker({ mosquitto, kiosks, processes: 10, spread: 1 });
process.stdout.write(`${JSON.stringify(counts, null, 2)}\n`);
