/**
 * Writes the documents of a fleet's kiosks from an MQTT broker to Prometheus, by remote write:
 *   node bridge.js bridge.json
 * docs/fleet-pack.md describes the file. The broker gets the PUBACK of a document after Prometheus
 * has taken its figures, so a bridge or a Prometheus that is away for a while loses none.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import mqtt from "mqtt";
import { readEntries } from "../../src/shared/config/config-file.ts";
import { remoteWrite, type Sample } from "./remote-write.ts";
import { documentOf, type Figure, figuresOf, type KioskDocument, labelsOf } from "./series.ts";

interface Setup {
  /** The folder with fleet.txt, and with certificates, that `fleet enrol` makes for a reader. */
  readonly access: string;
  /** The address of Prometheus' remote-write receiver, and headers that it needs. */
  readonly write: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Kiosk {
  readonly labels: Readonly<Record<string, string>>;
  readonly figures: readonly Figure[];
}

/** The time after which what kiosks said last is written again; Prometheus forgets in 5 minutes. */
const REPEAT_MS = 30_000;
const AGAIN_MS = 5_000;
/** How far a kiosk's clock may be ahead: Prometheus would refuse all that comes before. */
const AHEAD_MS = 60_000;
/** Kiosks whose states are written in one request. */
const TOGETHER = 100;
const names = ["state", "metrics", "alarm", "reconciliation"];

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("name a file: node bridge.js bridge.json");
const folder = dirname(resolve(file));
const setup = JSON.parse(readFileSync(file, "utf8")) as Setup;
const access = resolve(folder, setup.access);
const lines = readEntries(readFileSync(join(access, "fleet.txt"), "utf8")).entries;
const { FLEET_URL: broker = "", ...login } = Object.fromEntries(
  lines.map(({ name, value }) => [name, value]),
);
/** Returns a file of the access; an empty object: there is none. */
const own = (key: string, name: string) =>
  existsSync(join(access, name)) ? { [key]: readFileSync(join(access, name)) } : {};
const said = (text: string): void =>
  void process.stdout.write(`${new Date().toISOString()} ${text}\n`);

/** What each kiosk said last, as long as the broker is connected. */
const kiosks = new Map<string, Kiosk>();
const counts = { documents: 0, refused: 0, ahead: 0 };
/** The kiosks whose clocks are ahead. */
const ahead = new Set<string>();
const lasting = new Set(["connector_trouble", "connector_payments_in_doubt"]);
let lastMs = 0;

/** The present time, later with each call: a series has one value for a time. */
function nowMs(): number {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return lastMs;
}

async function write(samples: readonly Sample[]): Promise<void> {
  if (samples.length === 0) return;
  const refused = await remoteWrite(setup.write, setup.headers ?? {}, samples);
  if (refused === "") return;
  counts.refused += 1;
  said(`Prometheus refused ${samples[0]?.labels["kiosk"] ?? "figures"}: ${refused}`);
}

const samplesOf = (kiosk: string, { labels, figures }: Kiosk, atMs: number): readonly Sample[] =>
  figures.map((one) => ({ ...one, labels: { ...one.labels, ...labels, kiosk }, atMs }));

/** Returns the ends of the series that a kiosk had and has no longer. */
function endsOf(kiosk: string, before: Kiosk, after: Kiosk | undefined): readonly Sample[] {
  const atMs = nowMs();
  const keyOf = ({ name, labels }: Sample) => JSON.stringify([name, Object.entries(labels).sort()]);
  const present = new Set(after ? samplesOf(kiosk, after, atMs).map(keyOf) : []);
  const ended = samplesOf(kiosk, before, atMs).filter((one) => !present.has(keyOf(one)));
  return ended.map((one) => ({ ...one, value: null }));
}

async function take(topic: string, payload: string): Promise<void> {
  const [, , kiosk = "", name] = topic.split("/");
  if (name === "state" && payload === "") return await forget(kiosk);
  const found = documentOf(topic, payload);
  if (!found) {
    counts.refused += 1;
    return said(`not a document of a kiosk: ${JSON.stringify(topic)}`);
  }
  counts.documents += 1;
  if (name === "state") await takeState(kiosk, found[1]);
  else await takeFigures(kiosk, ...found);
}

async function takeState(kiosk: string, document: KioskDocument): Promise<void> {
  const before = kiosks.get(kiosk);
  const figures = figuresOf("state", document);
  // Of a kiosk that is away nobody knows whether what waits for a person has ended.
  const isAway = document["now"] === null;
  const kept = isAway ? before?.figures.filter(({ name }) => lasting.has(name)) : [];
  const after = { labels: labelsOf(document), figures: [...figures, ...(kept ?? [])] };
  kiosks.set(kiosk, after);
  if (before) await finish(kiosk, before, after);
  await write(samplesOf(kiosk, after, nowMs()));
}

/** Writes figures at the time of measuring; when an alarm was is the value of its series. */
async function takeFigures(kiosk: string, name: string, document: KioskDocument): Promise<void> {
  const measuredMs = name === "metrics" ? Date.parse(document.at) : nowMs();
  const isAhead = measuredMs > Date.now() + AHEAD_MS;
  if (isAhead) {
    counts.ahead += 1;
    if (!ahead.has(kiosk))
      said(`the clock of ${kiosk} is ahead: its figures are of ${document.at}`);
    ahead.add(kiosk);
  } else ahead.delete(kiosk);
  const one = { labels: labelsOf(document), figures: figuresOf(name, document) };
  await write(samplesOf(kiosk, one, isAhead ? nowMs() : measuredMs));
}

/** Ends the series that a kiosk has no longer, as 0, because rules look an hour back. */
async function finish(kiosk: string, before: Kiosk, after: Kiosk | undefined): Promise<void> {
  const ends = endsOf(kiosk, before, after);
  await write(ends.map((one) => ({ ...one, value: 0 })));
  const atMs = nowMs();
  await write(ends.map((one) => ({ ...one, atMs })));
}

/** Forgets a kiosk whose retained state was deleted. */
async function forget(kiosk: string): Promise<void> {
  const before = kiosks.get(kiosk);
  if (!before) return;
  kiosks.delete(kiosk);
  await finish(kiosk, before, undefined);
}

async function repeat(): Promise<void> {
  const atMs = nowMs();
  const own = {
    bridge_up: 1,
    ...Object.fromEntries(Object.entries(counts).map(([k, v]) => [`bridge_${k}_total`, v])),
  };
  await write(
    Object.entries(own).map(([name, value]) => ({
      name: `connector_${name}`,
      labels: {},
      value,
      atMs,
    })),
  );
  const all = [...kiosks];
  for (let from = 0; from < all.length; from += TOGETHER) {
    await write(
      all.slice(from, from + TOGETHER).flatMap(([kiosk, one]) => samplesOf(kiosk, one, atMs)),
    );
  }
}

/** Reads from the broker until it or Prometheus is away; returns why. */
function read(): Promise<string> {
  const { promise, resolve: end } = Promise.withResolvers<string>();
  const client = mqtt.connect(broker, {
    protocolVersion: 5,
    clientId: basename(access),
    clean: false,
    properties: { sessionExpiryInterval: 86_400 },
    reconnectPeriod: 0,
    ...(login["FLEET_USER"] === undefined ? {} : { username: login["FLEET_USER"] }),
    ...(login["FLEET_PASSWORD"] === undefined ? {} : { password: login["FLEET_PASSWORD"] }),
    ...own("ca", "fleet-ca.pem"),
    ...own("cert", "fleet.pem"),
    ...own("key", "fleet.key"),
  });
  // Documents and repeats are written one after the other, so that none overtakes a newer one.
  let last = Promise.resolve();
  let isOver = false;
  const next = (work: () => Promise<void>): Promise<void> => {
    last = last.then(() => (isOver ? Promise.reject(new Error("over")) : work()));
    last.catch((error: Error) => end(`Prometheus: ${error.message} ${error.cause ?? ""}`));
    return last;
  };
  client.handleMessage = ({ topic, payload }, done) => {
    // Without `done` the broker gets no PUBACK, and sends the document again.
    next(() => take(topic, payload.toString())).then(
      () => done(),
      () => {},
    );
  };
  client.on("error", ({ message }) => end(`broker: ${message}`));
  client.on("close", () => end("broker: the connection was closed"));
  client.on("connect", () => {
    said(`reads from ${broker}`);
    client.subscribe(
      names.map((name) => `connector/1/+/${name}`),
      { qos: 1 },
    );
    void next(repeat).catch(() => {});
  });
  const timer = setInterval(() => next(repeat).catch(() => {}), REPEAT_MS);
  return promise.finally(() => {
    isOver = true;
    clearInterval(timer);
    client.end(true);
    return last.catch(() => {});
  });
}

for (;;) {
  said(await read());
  // Without the broker nobody knows how the kiosks are.
  const ends = [...kiosks].flatMap(([kiosk, before]) => endsOf(kiosk, before, undefined));
  kiosks.clear();
  await write(ends).catch(() => {});
  await new Promise((go) => setTimeout(go, AGAIN_MS));
}
