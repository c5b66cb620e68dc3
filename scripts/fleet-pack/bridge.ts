/**
 * Writes the documents of a fleet's kiosks from an MQTT broker to Prometheus, by remote write:
 *   node bridge.js bridge.json
 * docs/fleet-pack.md describes the file. The broker gets the PUBACK of a document after Prometheus
 * has taken its figures, so a bridge or a Prometheus that is away for a while loses none.
 */
import { TLSSocket } from "node:tls";
import mqtt, { type MqttClient } from "mqtt";
import { endWrong, readSetup, sessionOptions } from "./bridge-setup.ts";
import { FleetSeries } from "./fleet-series.ts";
import { remoteWrite, type Sample } from "./remote-write.ts";

/** The time after which what kiosks said last is written again; Prometheus forgets in 5 minutes. */
const REPEAT_MS = 30_000;
const AGAIN_MS = 5_000;
/** The most documents that are written in one request. */
const TOGETHER_MAX = 200;
/** The largest packet: a document of 64 KiB, the limit in mosquitto.conf, and its topic. */
const PACKET_BYTES_MAX = 66_560;

const setup = readSetup(process.argv[2]);
const said = (text: string): void =>
  void process.stdout.write(`${new Date().toISOString()} ${text}\n`);
const fleet = new FleetSeries(Date.now, said);
/** How many documents are written in one request: fewer where Prometheus is too slow for more. */
let together = TOGETHER_MAX;

/** Writes what some documents say; what Prometheus refuses for good is counted. */
async function write(documents: readonly (readonly Sample[])[]): Promise<void> {
  const samples = documents.flat();
  if (samples.length === 0) return;
  const refused = await remoteWrite(setup.write, setup.headers ?? {}, samples);
  if (refused === "") return;
  if (documents.length === 1) return fleet.refuse(`${samples[0]?.labels["kiosk"]}: ${refused}`);
  const half = documents.length >> 1;
  await write(documents.slice(0, half));
  await write(documents.slice(half));
}

/** Writes the states again, and after them what is known of the bridge, which is up. */
async function repeat(certificateEnds: number | undefined): Promise<void> {
  const all = fleet.present();
  for (let from = 0; from < all.length; from += TOGETHER_MAX) {
    await write(all.slice(from, from + TOGETHER_MAX));
  }
  await write([fleet.own(certificateEnds)]);
}

/** Begins a session at the broker. */
function begun(access: string): MqttClient {
  const { url, ...options } = sessionOptions(access);
  try {
    const client = mqtt.connect({
      ...options,
      protocolVersion: 5,
      clean: false,
      properties: {
        sessionExpiryInterval: 86_400,
        maximumPacketSize: PACKET_BYTES_MAX,
      },
      reconnectPeriod: 0,
    });
    return client.on("connect", () => said(`${options.clientId} reads from ${url}`));
  } catch (error) {
    return endWrong(
      `a certificate or key in ${access} cannot be used: ${(error as Error).message}`,
    );
  }
}

/** Reads from the broker until it or Prometheus is away; returns why. */
function read(): Promise<string> {
  const { promise, resolve: end } = Promise.withResolvers<string>();
  // Documents and repeats are written one after the other, so that none overtakes a newer one.
  let last = Promise.resolve();
  let isOver = false;
  const next = (work: () => Promise<void>): void => {
    last = last.then(() => (isOver ? undefined : work()));
    last.catch((error: Error) => end(`Prometheus: ${error.message} ${error.cause ?? ""}`));
  };
  const waiting: { topic: string; text: string; done: () => void }[] = [];
  const flush = async (): Promise<void> => {
    const some = waiting.splice(0, together);
    await write(some.map(({ topic, text }) => fleet.take(topic, text)));
    together = Math.min(together + 1, TOGETHER_MAX);
    for (const { done } of some) done();
  };
  let certificateEnds: number | undefined;
  const subscribed = new Set<MqttClient>();
  let timer: NodeJS.Timeout | undefined;
  const session = (access: string, names: readonly string[]): MqttClient => {
    const client = begun(access);
    client.handleMessage = ({ topic, payload }, done) => {
      waiting.push({ topic, text: payload.toString(), done });
      next(flush);
      // With an error the package goes on to the next document, and sends no PUBACK yet. mosquitto
      // 2.0.11 sends all that waits at once, so that from some documents on nothing more is read.
      if (waiting.length < together) done(new Error("not written yet"));
    };
    client.on("error", ({ message }) => end(`broker: ${message}`));
    client.on("close", () => end("broker: the connection was closed"));
    client.on("connect", () => {
      const { stream } = client;
      if (stream instanceof TLSSocket)
        certificateEnds = Date.parse(stream.getPeerCertificate().valid_to) / 1_000;
      const topics = names.map((name) => `connector/1/+/${name}`);
      client.subscribe(topics, { qos: 1 }, (error) => {
        if (error) return end(`broker: ${error.message}`);
        // Whose connection ends again and again is not up: this needs one that is kept.
        if (subscribed.add(client).size === clients.length)
          timer = setInterval(() => next(() => repeat(certificateEnds)), REPEAT_MS);
      });
    });
    return client;
  };
  const clients = [
    session(setup.access, ["state", "alarm", "reconciliation"]),
    session(setup.figures, ["metrics"]),
  ];
  return promise.finally(() => {
    isOver = true;
    clearInterval(timer);
    for (const client of clients) client.end(true);
    return last.catch(() => {});
  });
}

for (;;) {
  said(await read());
  together = Math.ceil(together / 2);
  await write(fleet.lose()).catch(() => {});
  await new Promise((go) => setTimeout(go, AGAIN_MS));
}
