import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createLogger } from "../../src/shared/process/logger.ts";
import { openDatabase } from "../../src/shared/store/sqlite.ts";
import { WriteProof } from "../../src/shared/store/write-proof.ts";
import type { Transaction } from "../../src/shared/transaction.ts";
import { AlarmStore } from "../../src/supervisor/alarms/alarm-store.ts";
import type { Gateway, OperationGateway } from "../../src/supervisor/gateway/gateway-client.ts";
import { createGatewayClient } from "../../src/supervisor/gateway/gateway-client.ts";
import { HttpTransport } from "../../src/supervisor/gateway/http-transport.ts";
import { Intake } from "../../src/supervisor/intake/intake.ts";
import { statusReader } from "../../src/supervisor/intake/supervisor-status.ts";
import { NotificationTally } from "../../src/supervisor/notifications/notification-tally.ts";
import { OperationExecutor } from "../../src/supervisor/operations/operation-executor.ts";
import { OperationStore } from "../../src/supervisor/operations/operation-store.ts";
import { DeliveryWatch } from "../../src/supervisor/outbox/delivery-watch.ts";
import { Forwarder } from "../../src/supervisor/outbox/forwarder.ts";
import { OutboxAdmin } from "../../src/supervisor/outbox/outbox-admin.ts";
import { openStores, storeMessages } from "../../src/supervisor/stores/supervisor-stores.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { newStore } from "../support/files/new-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { PASSWORD } from "./gateway-password.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import { OutboxWithTries } from "./outbox-with-tries.ts";
import { RecordingGateway } from "./recording-gateway.ts";
import { sampleTransaction } from "./sample-transaction.ts";

export { PASSWORD } from "./gateway-password.ts";

const RUNNING_GRACE_MS = 100;

export interface RigOptions {
  readonly path?: string;
  readonly clock?: TestClock;
  readonly server?: RecordingGateway;
  /** Another gateway than the recording one. */
  readonly url?: string;
  /** One without a network. */
  readonly gateway?: Gateway & OperationGateway;
  readonly callbackUrl?: string;
  /** As GATEWAY_CA_FILE gives them. */
  readonly certificates?: readonly string[];
}

/**
 * All parts of the supervisor in this process, put together as main.ts does, with a clock that
 * stands still and without jitter: every delay is half of its ceiling.
 */
export async function openRig(options: RigOptions = {}) {
  const server = options.server ?? (await RecordingGateway.start());
  const clock = options.clock ?? new TestClock();
  const path = options.path ?? join(temporaryFolder(), "supervisor.db");
  const lines: Array<Record<string, unknown>> = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const database = openDatabase(newStore(path, supervisorMigrations), supervisorMigrations);
  const alarmStore = new AlarmStore(database, clock);
  const log = alarmStore.tap(createLogger({ program: "supervisor", level: "debug", stream }));
  const { losses, exchange, store: ownStore } = openStores(database, path, clock, log);
  const store = new OutboxWithTries(database, () => exchange.remember());
  const admin = new OutboxAdmin(database);
  const { certificates = [], url = server.url, callbackUrl } = options;
  const settings = gatewaySettings(url, {
    GATEWAY_PWD: PASSWORD,
    ...(callbackUrl === undefined ? {} : { GATEWAY_CALLBACK_URL: callbackUrl }),
  });
  const transport = new HttpTransport(clock, { certificates });
  const gateway = options.gateway ?? createGatewayClient(settings, transport, log);
  const watch = new DeliveryWatch(clock);
  const forwarder = new Forwarder({ store, gateway, watch, clock, log, random: () => 0.5 });
  const { signal } = new AbortController();
  const intake = new Intake({ store, losses, forwarder, clock, log });
  const aboutStores = storeMessages({ database, store, losses, gateway, signal, clock, log });

  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      watch.close();
      const ended = Promise.all([
        operations.stop(RUNNING_GRACE_MS),
        forwarder.stop(RUNNING_GRACE_MS),
      ]);
      await clock.advance(RUNNING_GRACE_MS);
      await ended;
      gateway.close();
      database.close();
      expect(clock.running).toEqual([]);
    })();
    return stopped;
  };
  onTestFinished(stop);

  const requeued = (transactionId: string) => forwarder.requeued(transactionId);
  const operationStore = new OperationStore(database);
  const parts = { store: operationStore, losses, gateway, clock, log };
  const operations = new OperationExecutor(parts);
  const tally = new NotificationTally(database, clock);
  const { notifications } = operationStore;
  const atGateway = { operationStore, notifications, operations, tally };
  const outbox = { store, admin, watch, forwarder, intake, requeued, alarmStore };
  const stores = { storeMessages: aboutStores, losses, exchange, ownStore };
  const proof = new WriteProof(database, path, clock);
  const figures = { tally, proof, version: "1.2.3" };
  const status = statusReader({ store, admin, forwarder, operationStore, ...figures, clock });
  const base = { server, clock, path, database, lines, log, proof };
  const rig = { ...base, ...outbox, ...atGateway, ...stores, status, stop };
  return { ...rig, ...conveniences(rig) };
}

interface Parts {
  readonly clock: TestClock;
  readonly lines: ReadonlyArray<Record<string, unknown>>;
  readonly store: OutboxWithTries;
  readonly intake: Intake;
}

function conveniences({ clock, lines, store, intake }: Parts) {
  const ended = (transactionId: string) => store.attempts(transactionId);
  return {
    /** Hands a transaction of this order over; returns its id. */
    handOver(orderId: string, given: Partial<Transaction> = {}): string {
      const transaction = sampleTransaction({ orderId, ...given });
      intake.store(transaction);
      return transaction.transactionId;
    },
    /** Waits until so many tries of a transaction have ended; returns their classes. */
    async tries(transactionId: string, count: number): Promise<string[]> {
      await expect
        .poll(() => ended(transactionId).length, { interval: 2 })
        .toBeGreaterThanOrEqual(count);
      // The clock does not move: whatever could run has run, one turn later.
      await clock.advance(0);
      return ended(transactionId).map((attempt) => attempt.class);
    },
    /** Waits until nothing is pending any more. */
    async drained(): Promise<void> {
      await expect.poll(() => store.counts().pending, { interval: 5 }).toBe(0);
      await clock.advance(0);
    },
    /** Moves the clock in steps, letting every try that begins end before the next step. */
    async advanceInSteps(stepMs: number, isEnough: () => boolean): Promise<void> {
      for (let steps = 0; !isEnough(); steps++) {
        expect(steps).toBeLessThan(5_000);
        await clock.advance(stepMs);
        await expect.poll(() => clock.running, { interval: 1 }).not.toContain("gateway answer");
      }
    },
    alarms: (): unknown[] => lines.map((line) => line["alarm"]).filter((name) => name),
  };
}
