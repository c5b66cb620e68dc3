import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "../../src/shared/new-id.ts";
import { openDatabase } from "../../src/shared/store/sqlite.ts";
import { sleep } from "../../src/shared/time.ts";
import { noDetails, type Transaction } from "../../src/shared/transaction.ts";
import type { ConnectToBroker } from "../../src/supervisor/fleet/broker.ts";
import { FleetLink } from "../../src/supervisor/fleet/fleet-link.ts";
import { openFleetStore } from "../../src/supervisor/fleet/fleet-store.ts";
import { judge } from "../../src/supervisor/gateway/faults.ts";
import type { Gateway } from "../../src/supervisor/gateway/gateway-client.ts";
import type { Exchange } from "../../src/supervisor/gateway/http-connections.ts";
import { readOrderLookup } from "../../src/supervisor/gateway/lookup.ts";
import { orderAskedFor } from "../../src/supervisor/gateway/order-request.ts";
import { DeliveryWatch } from "../../src/supervisor/outbox/delivery-watch.ts";
import { Forwarder } from "../../src/supervisor/outbox/forwarder.ts";
import { OutboxStore } from "../../src/supervisor/outbox/outbox-store.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { checkTime } from "../../src/update/update-state.ts";
import { HerdClock } from "./herd-clock.ts";

/* Many kiosks in one process, before one gateway or broker that was down for an hour. */

const MINUTE = 60_000;
const OUTAGE_MS = 60 * MINUTE;
const AFTER_MS = 15 * MINUTE;

const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };

interface HerdCount {
  /** Requests in the first 15 minutes after the outage. */
  readonly requests: number;
  /** In the fullest 60 s of them, over their mean of a minute. */
  readonly peak: number;
}

/** The peak over the mean, of requests after `fromMs`. */
export function countOf(times: readonly number[], fromMs: number): HerdCount {
  const after = times.filter((ms) => ms >= fromMs && ms < fromMs + AFTER_MS).sort((a, b) => a - b);
  let most = 0;
  for (let end = 0, begin = 0; end < after.length; end++) {
    while ((after[end] ?? 0) - (after[begin] ?? 0) >= MINUTE) begin++;
    most = Math.max(most, end - begin + 1);
  }
  return { requests: after.length, peak: most / ((after.length * MINUTE) / AFTER_MS) };
}

/** Numbers from 0 to 1 that are the same in each run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The gateway in its outage. */
const outages = {
  "cannot be reached": { kind: "failed", cause: "socket", written: false, detail: "" },
  "loses its answers": { kind: "failed", cause: "timeout", written: true, detail: "" },
} as const satisfies Record<string, Exchange>;
type OutageName = keyof typeof outages;

interface Herd {
  readonly kiosks: number;
  readonly seed: number;
}

/** Orders that came during the outage, `orders` of each kiosk at any moment of it. */
export async function gatewayHerd({ kiosks, seed }: Herd, outage: OutageName, orders = 2) {
  const clock = new HerdClock();
  const random = seeded(seed);
  const times: number[] = [];
  const atGateway = new Map<string, number>();
  const gateway = gatewayWith(clock, outages[outage], times, atGateway);
  const folder = mkdtempSync(join(tmpdir(), "utc-herd-"));
  const made = join(folder, "made.db");
  openDatabase(made, supervisorMigrations).close();
  const all = Array.from({ length: kiosks }, (_, i) => {
    const path = join(folder, `${i}.db`);
    copyFileSync(made, path);
    const database = openDatabase(path, supervisorMigrations);
    database.exec("PRAGMA synchronous = OFF"); // the disk is not what is measured here
    const store = new OutboxStore(database, () => undefined);
    const watch = new DeliveryWatch(clock);
    return {
      database,
      store,
      forwarder: new Forwarder({ store, gateway, watch, clock, log, random }),
    };
  });
  try {
    for (const { forwarder } of all) forwarder.start();
    for (const { store, forwarder } of all) {
      for (let i = 0; i < orders; i++) {
        clock.startTimer("payment", random() * OUTAGE_MS, () => {
          const transaction = order();
          store.add(transaction, clock.now());
          forwarder.tryAtOnce(transaction.transactionId);
        });
      }
    }
    await clock.run(OUTAGE_MS + 3 * AFTER_MS);
    const sent = all.reduce((sum, { store }) => sum + store.counts().sent, 0);
    return {
      ...countOf(times, OUTAGE_MS),
      sent,
      once: [...atGateway.values()].every((n) => n === 1),
    };
  } finally {
    for (const { database } of all) database.close();
    rmSync(folder, { recursive: true });
  }
}

function order(): Transaction {
  const transactionId = newId();
  const money = { amountMinor: 899, currency: "EUR", exponent: 2 };
  const approvedAtMs = Date.UTC(2026, 0, 15);
  return {
    transactionId,
    orderId: transactionId,
    origin: "payment",
    ...money,
    approvedAtMs,
    ...noDetails,
  };
}

const answered = (httpStatus: number, body: object): Exchange => ({
  kind: "answered",
  httpStatus,
  retryAfter: null,
  body: JSON.stringify(body),
});
const accepted: Exchange = {
  kind: "answered",
  httpStatus: 200,
  retryAfter: null,
  body:
    '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>' +
    '<n:generateResponse xmlns:n="urn:x"><generateResult><redirectUrl></redirectUrl>' +
    "<code>0</code><description>N/A</description></generateResult></n:generateResponse>" +
    "</e:Body></e:Envelope>",
};

function gatewayWith(
  clock: HerdClock,
  during: Exchange,
  times: number[],
  atGateway: Map<string, number>,
): Gateway {
  const isDown = (): boolean => clock.monotonicMs() < OUTAGE_MS;
  const asked = async (): Promise<boolean> => {
    times.push(clock.monotonicMs());
    const down = isDown();
    await sleep(clock, "gateway answer", down ? 10_000 : 300);
    return down;
  };
  return {
    async generate(transaction) {
      // One whose answers are lost takes every order all the same.
      if (!isDown() || (during.kind === "failed" && during.written)) {
        const { transactionId } = transaction;
        atGateway.set(transactionId, (atGateway.get(transactionId) ?? 0) + 1);
      }
      const exchange = (await asked()) ? during : accepted;
      return { verdict: judge("generate", exchange, orderAskedFor(transaction)), notes: [] };
    },
    async findOrder(transaction) {
      const { transactionId, orderId } = transaction;
      const found = {
        id: orderId,
        amount: "8.99",
        currency: "EUR",
        custom_data: { transactionId },
      };
      const known = () =>
        atGateway.has(transactionId)
          ? answered(200, found)
          : answered(404, { code: 3_000_001, message: "Unknown Order" });
      return readOrderLookup((await asked()) ? during : known(), transaction);
    },
    close() {},
  };
}

/** Kiosks whose broker goes away together, and is back after an hour. */
export async function brokerHerd({ kiosks, seed }: Herd): Promise<HerdCount & { online: number }> {
  const clock = new HerdClock();
  const random = seeded(seed);
  const times: number[] = [];
  const losses: (() => void)[] = [];
  const BEFORE_MS = 10 * MINUTE;
  const isDown = (): boolean =>
    clock.monotonicMs() >= BEFORE_MS && clock.monotonicMs() < BEFORE_MS + OUTAGE_MS;
  const connect: ConnectToBroker = (_, __, listener) => {
    times.push(clock.monotonicMs());
    if (isDown()) return Promise.reject(new Error("no connection"));
    losses.push(() => listener.lost("failed", "the connection was lost"));
    const sent = () => Promise.resolve("taken" as const);
    return Promise.resolve({ window: 16, send: sent, close: () => Promise.resolve() });
  };
  const folder = mkdtempSync(join(tmpdir(), "utc-herd-"));
  const store = openFleetStore(join(folder, "fleet.db"), clock, log);
  const login = { user: undefined, password: undefined };
  const files = { certificate: undefined, key: undefined, trusted: [] };
  const links = Array.from({ length: kiosks }, (_, i) => {
    const broker = { url: "", kiosk: `kiosk-${i}`, ...login, commands: false };
    return new FleetLink({
      broker,
      files: () => files,
      connect,
      onRequest: () => {},
      labels: {},
      store,
      clock,
      log,
      random,
    });
  });
  try {
    for (const link of links) link.start();
    clock.startTimer("outage", BEFORE_MS, () => {
      for (const lose of losses.splice(0)) lose();
    });
    await clock.run(BEFORE_MS + OUTAGE_MS + AFTER_MS + MINUTE);
    const online = links.filter(({ isOnline }) => isOnline).length;
    return { ...countOf(times, BEFORE_MS + OUTAGE_MS), online };
  } finally {
    store.close();
    rmSync(folder, { recursive: true });
  }
}

/** The fullest minute of the checks for updates, over their mean of the hour that they come in. */
export function updateHerd({ kiosks, seed }: Herd): number {
  const random = seeded(seed);
  const minutes = new Map<string, number>();
  for (let i = 0; i < kiosks; i++) {
    const at = checkTime("03:30", `installation ${random()}`);
    minutes.set(at, (minutes.get(at) ?? 0) + 1);
  }
  return Math.max(...minutes.values()) / (kiosks / 61);
}
