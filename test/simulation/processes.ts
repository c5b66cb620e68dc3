import { join } from "node:path";
import { type AlarmLog, createLogger, type Logger } from "../../src/shared/process/logger.ts";
import { openDatabase } from "../../src/shared/store/sqlite.ts";
import { StoreExchange } from "../../src/shared/store/store-exchange.ts";
import type { Clock } from "../../src/shared/time.ts";
import { AlarmStore } from "../../src/supervisor/alarms/alarm-store.ts";
import { Intake } from "../../src/supervisor/intake/intake.ts";
import { supervisorHandlers } from "../../src/supervisor/intake/message-handlers.ts";
import { statusReader } from "../../src/supervisor/intake/supervisor-status.ts";
import { NotificationHandler } from "../../src/supervisor/notifications/notification-handler.ts";
import { NotificationTally } from "../../src/supervisor/notifications/notification-tally.ts";
import { OperationExecutor } from "../../src/supervisor/operations/operation-executor.ts";
import { OperationStore } from "../../src/supervisor/operations/operation-store.ts";
import { DeliveryWatch } from "../../src/supervisor/outbox/delivery-watch.ts";
import { Forwarder } from "../../src/supervisor/outbox/forwarder.ts";
import { OutboxAdmin } from "../../src/supervisor/outbox/outbox-admin.ts";
import { openStores, storeMessages } from "../../src/supervisor/stores/supervisor-stores.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { ClosingKeeper } from "../../src/tp-manager/arbiter/closing-keeper.ts";
import { TerminalArbiter } from "../../src/tp-manager/arbiter/terminal-arbiter.ts";
import { migrations } from "../../src/tp-manager/journal/database/migrations.ts";
import { Journal } from "../../src/tp-manager/journal/journal.ts";
import { AfterSale } from "../../src/tp-manager/orders/after-sale.ts";
import { Orders } from "../../src/tp-manager/orders/orders.ts";
import { GatewayOperations } from "../../src/tp-manager/supervisor/gateway-operations.ts";
import { HandOff } from "../../src/tp-manager/supervisor/hand-off.ts";
import { returnPoll } from "../../src/tp-manager/supervisor/polls.ts";
import { Resync } from "../../src/tp-manager/supervisor/resync.ts";
import { StoreGuard } from "../../src/tp-manager/supervisor/store-guard.ts";
import type { SupervisorLink } from "../../src/tp-manager/supervisor/supervisor-link.ts";
import type { Terminal } from "../../src/tp-manager/terminal/terminal.ts";
import { secrets } from "../supervisor/notifications/mapi.ts";
import { OutboxWithTries } from "../supervisor/outbox-with-tries.ts";
import { newStore } from "../support/files/new-store.ts";
import { defaultSettings, matcherFor } from "../support/house/payment-house.ts";
import { onDisk } from "./disk.ts";
import type { Life } from "./life.ts";
import type { ModelGateway } from "./model-gateway.ts";

export const journalPath = (folder: string): string => join(folder, "journal.db");

/** The way to the other program. */
interface LocalMessages {
  linkFor(life: Life, stores: StoreExchange): SupervisorLink;
}

/** The money side of tp-manager, put together as its main.ts does it. */
export function startTpManager(
  life: Life,
  folder: string,
  parts: { terminal: Terminal; ipc: LocalMessages; log: AlarmLog; pollsReturns: boolean },
) {
  const { terminal, ipc, log, pollsReturns } = parts;
  const { clock } = life;
  const path = newStore(journalPath(folder), migrations);
  const journal = onDisk(life.disk, () => new Journal(path, clock));
  const isDoubted = onDisk(life.disk, () => beginSession(journal, clock));
  const { handOffs, returns } = journal;
  const matcher = matcherFor(journal, terminal, clock, {});
  const exchange = new StoreExchange(
    journal.store,
    () => guard.begin("the supervisor remembers more of it than it holds"),
    () => resync.begin(),
  );
  handOffs.marks = exchange;
  const link = ipc.linkFor(life, exchange);
  const resync = new Resync(journal.resync, link, clock, log, () => guard.open === undefined);
  const guard = new StoreGuard({
    journal,
    matcher,
    link,
    clock,
    log,
    isShared: false,
    onSupervisorLacks: () => resync.beginOnce(),
  });
  const handOff = new HandOff(handOffs, link, clock, log);
  const shared = { journal, matcher, guard, clock, log, settings: defaultSettings };
  const settled = (): void => handOff.nudge();
  const arbiter = new TerminalArbiter({ ...shared, terminal, settled, proof: undefined });
  const orders = new Orders({ ...shared, arbiter, handOff });
  const afterSale = new AfterSale({ ...shared, arbiter, orders });
  const closing = new ClosingKeeper(arbiter, journal, clock, log);
  const gateway = new GatewayOperations({ journal, guard, link, clock, log });
  const poll = returnPoll(returns, link, clock, log);
  const start = (): void => {
    resync.start();
    guard.start(isDoubted);
    arbiter.start();
    handOff.nudge();
    closing.start();
    if (!pollsReturns) return;
    gateway.start();
    poll.start();
  };
  const stop = async (): Promise<void> => {
    closing.close();
    await poll.close();
    gateway.close();
    await arbiter.stop();
    await handOff.close();
    await guard.close();
    await resync.close();
  };
  const close = (): void => journal.close();
  return {
    life,
    journal,
    matcher,
    handOff,
    guard,
    arbiter,
    orders,
    afterSale,
    gateway,
    poll,
    start,
    stop,
    close,
  };
}
export type TpManager = ReturnType<typeof startTpManager>;

/** true: the journal was found to be lost, or an older or another one. */
function beginSession({ store, gaps }: Journal, clock: Clock): boolean {
  let isDoubted = false;
  store.begin((finding) => {
    if (finding.kind === "whole") return;
    isDoubted = true;
    gaps.begin(`journal.db: ${finding.because}`, false, clock.now());
  });
  return isDoubted;
}

/** The supervisor, put together as its main.ts does it. */
export function startSupervisor(life: Life, folder: string, gateway: ModelGateway, plain: Logger) {
  const { clock } = life;
  const path = join(folder, "supervisor.db");
  newStore(path, supervisorMigrations);
  const database = onDisk(life.disk, () => openDatabase(path, supervisorMigrations));
  const alarmStore = new AlarmStore(database, clock);
  const log = alarmStore.tap(plain);
  const stores = onDisk(life.disk, () => openStores(database, path, clock, log));
  const store = new OutboxWithTries(database, () => stores.exchange.remember());
  const watch = new DeliveryWatch(clock);
  const client = gateway.clientFor(life);
  const random = (): number => 0.5;
  const forwarder = new Forwarder({ store, gateway: client, watch, clock, log, random });
  forwarder.endInterrupted();
  forwarder.start();
  const intake = new Intake({ store, losses: stores.losses, forwarder, clock, log });
  const admin = new OutboxAdmin(database);
  const aboutStores = storeMessages({
    ...stores,
    database,
    store,
    gateway: client,
    signal: new AbortController().signal,
    clock,
    log,
  });
  const operationStore = new OperationStore(database);
  const operations = new OperationExecutor({
    store: operationStore,
    losses: stores.losses,
    clock,
    log,
    gateway: gateway.operationsFor(life),
  });
  const tally = new NotificationTally(database, clock);
  const notified = new NotificationHandler({
    tally,
    operations: operationStore,
    clock,
    log,
    secrets,
    fraudSecret: undefined,
    losses: stores.losses,
    onAccepted: (id) => operations.notified(id),
  });
  // What a former life was sending is unknown; a disk that fails at the start heals by then.
  onDisk(life.disk, () => operations.start());
  const read = { store, admin, forwarder, operationStore, tally, clock, version: "0" };
  const status = statusReader(read);
  const handlers = supervisorHandlers({
    intake,
    store,
    admin,
    operations,
    operationStore,
    watch,
    alarmStore,
    clock,
    log,
    storeMessages: aboutStores,
    forwarder,
    status,
    requestStop: () => {},
  });
  return { life, store, stores, handlers, forwarder, notified, close: () => database.close() };
}

export type Supervisor = ReturnType<typeof startSupervisor>;

export function keepingLog(): { log: AlarmLog; lines: string[] } {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line.trim()) };
  return {
    log: createLogger({ program: "simulation", level: "warn", stream }) as Logger as AlarmLog,
    lines,
  };
}
