import { join } from "node:path";
import type { Config } from "../shared/config/config.ts";
import { type ProxyChoice, proxyChoice } from "../shared/config/proxy.ts";
import { certificatesIn } from "../shared/config/server-trust.ts";
import { type Handlers, supervisorMessages } from "../shared/ipc/contract.ts";
import { startIpcServer } from "../shared/ipc/server.ts";
import type { AlarmLog } from "../shared/process/logger.ts";
import { backupChore, type Chore, oldLogsChore, startDaily } from "../shared/program/daily.ts";
import { type Installation, versionNumber } from "../shared/program/installation.ts";
import { logFileOf, type ProgramContext, runProgram } from "../shared/program/lifecycle.ts";
import { Probation } from "../shared/program/probation.ts";
import { readOr } from "../shared/read-or.ts";
import { openStore } from "../shared/store/put-back.ts";
import { assertWhole } from "../shared/store/sqlite.ts";
import type { StoreExchange } from "../shared/store/store-exchange.ts";
import { WriteProof } from "../shared/store/write-proof.ts";
import { random } from "../shared/time.ts";
import { AlarmStore } from "./alarms/alarm-store.ts";
import { certificateEnds } from "./certificates.ts";
import { createGatewayClient } from "./gateway/gateway-client.ts";
import { HttpTransport } from "./gateway/http-transport.ts";
import { Intake } from "./intake/intake.ts";
import { supervisorHandlers } from "./intake/message-handlers.ts";
import { statusReader, supervisorConditionWatch } from "./intake/supervisor-status.ts";
import { NotificationHandler } from "./notifications/notification-handler.ts";
import {
  requireListening,
  startNotificationListener,
} from "./notifications/notification-listener.ts";
import { NotificationTally } from "./notifications/notification-tally.ts";
import { OperationExecutor } from "./operations/operation-executor.ts";
import { OperationStore } from "./operations/operation-store.ts";
import { DeliveryWatch } from "./outbox/delivery-watch.ts";
import { Forwarder } from "./outbox/forwarder.ts";
import { OutboxAdmin } from "./outbox/outbox-admin.ts";
import { OutboxStore } from "./outbox/outbox-store.ts";
import { retentionChore } from "./outbox/retention.ts";
import type { StoreLosses } from "./outbox/store-losses.ts";
import { openStores, storeMessages } from "./stores/supervisor-stores.ts";
import { supervisorMigrations } from "./supervisor-schema.ts";
import { startUpdateChecks } from "./updates/update-checks.ts";
import { updateFacts } from "./updates/update-facts.ts";

/** How long running sends and operations may go on at a stop, before they are abandoned. */
const RUNNING_GRACE_MS = 3_000;
const STOP_DEADLINE_MS = 10_000;

await runProgram("supervisor", STOP_DEADLINE_MS, start, { checkStore });

async function start(context: ProgramContext): Promise<void> {
  const { config, installation, clock, onStop, requestStop } = context;
  const { dataDirectory } = installation;
  const probation = new Probation(dataDirectory, clock);
  onStop("probation", () => probation.close());
  const databasePath = join(dataDirectory, "supervisor.db");
  const database = openStore(databasePath, supervisorMigrations);
  const proof = new WriteProof(database, databasePath, clock);
  onStop("database", () => proof.close());
  const alarmStore = new AlarmStore(database, clock);
  const log = alarmStore.tap(context.log);
  proof.onMended = (says) => log.warn(says);
  const stores = openStores(database, databasePath, clock, log);
  const store = new OutboxStore(database, () => stores.exchange.remember());
  const admin = new OutboxAdmin(database);
  const certificates = certificatesIn("GATEWAY_CA_FILE", config.GATEWAY_CA_FILE);
  const proxyFor = loggedProxies(config, log);
  const transport = new HttpTransport(clock, { certificates, proxyFor });
  const gateway = createGatewayClient(config, transport, log);
  onStop("gateway client", () => gateway.close());

  const watch = new DeliveryWatch(clock);
  const forwarder = new Forwarder({ store, gateway, watch, clock, log, random });
  onStop("forwarder", () => forwarder.stop(RUNNING_GRACE_MS));

  const { losses } = stores;
  const operationStore = new OperationStore(database);
  const operations = new OperationExecutor({ store: operationStore, losses, gateway, clock, log });

  const tally = new NotificationTally(database, clock);
  const intake = new Intake({ store, losses, forwarder, clock, log });
  const stopping = new AbortController();
  const { signal } = stopping;
  const aboutStores = storeMessages({ database, store, losses, gateway, signal, clock, log });
  const updates = updateFacts(dataDirectory, config, clock, log);
  const fleetFiles = await filesOfFleet(context);
  const ends = certificateEnds(config, fleetFiles, clock);
  const figures = { tally, updates, certificates: ends, proof, transport, version: versionNumber };
  const outbox = { store, admin, forwarder, operationStore };
  let fleet: Awaited<ReturnType<typeof beginFleet>>;
  const status = statusReader({ ...outbox, ...figures, fleetFiles, fleet: () => fleet?.(), clock });
  const { isOn: isTested } = probation;
  if (isTested) {
    log.info("the new version is being tested after an update; no transaction is stored or sent");
    const { NOTIFICATION_HOST: host, NOTIFICATION_PORT: port } = config;
    if (port !== undefined) await requireListening(host, port);
  }
  await probation.after(async () => {
    forwarder.endInterrupted();
    operations.start();
    await startListening(context, operationStore, operations, losses, tally, log);
    startConditionWatch(context, status, alarmStore, tally, log);
    fleet = await beginFleet(context, log, fleetFiles, status, alarmStore);
    startChores(context, log, [
      backupChore(databasePath, clock, () => stores.store.copied(), proof),
      retentionChore(database, config.JOURNAL_DAYS, clock),
      oldLogsChore(logFileOf(installation, "supervisor"), config.LOG_DAYS, clock),
    ]);
    startUpdateChecks(context, log);
    if (isTested) forwarder.start();
  });
  const messages = { intake, watch, operations, storeMessages: aboutStores, alarmStore, status };
  const handlers = supervisorHandlers({ ...outbox, ...messages, requestStop, clock, log });
  const server = await startMessages(context, handlers, stores.exchange, probation);
  // Nothing is sent before the start can no longer fail, because a failure interrupts the tries.
  if (!isTested) forwarder.start();
  onStop("local messages", () => endMessages(server, watch, stopping, operations));
}

/** Returns the files of a fleet's broker; without FLEET_URL no module of the fleet is loaded. */
async function filesOfFleet({ config, clock }: ProgramContext) {
  if (config.FLEET_URL === undefined) return undefined;
  const { FleetFiles } = await import("./fleet-files.ts");
  return new FleetFiles(config, clock);
}

async function beginFleet(
  context: ProgramContext,
  log: AlarmLog,
  files: Awaited<ReturnType<typeof filesOfFleet>>,
  status: ReturnType<typeof statusReader>,
  alarmStore: AlarmStore,
) {
  if (!files) return undefined;
  const { startFleet } = await import("./start-fleet.ts");
  return startFleet(context, log, files, status, (ask, id) => alarmStore.noteRequest(ask, id));
}

/** Returns the choice of proxies, and logs the proxy of each server that has one. */
function loggedProxies(config: Config, log: AlarmLog): ProxyChoice {
  const proxyFor = proxyChoice(config, process.env);
  for (const name of ["GATEWAY_URL", "FLEET_URL", "FLEET_UPLOAD_URL", "UPDATE_URL"] as const) {
    // Each use of an unusable proxy reports it.
    const proxy = readOr(undefined, () => proxyFor(config[name] ?? ""));
    if (proxy) log.info(`${name} is reached through the proxy ${proxy.name}`);
  }
  return proxyFor;
}

/** Ends the messages that wait for a transaction's first try or for an answer of the gateway. */
async function endMessages(
  server: Awaited<ReturnType<typeof startMessages>>,
  watch: DeliveryWatch,
  stopping: AbortController,
  operations: OperationExecutor,
): Promise<void> {
  const closed = server.close(); // first, so that no new message begins another operation
  watch.close();
  stopping.abort(new Error("stopping"));
  await operations.stop(RUNNING_GRACE_MS);
  await closed;
}

async function startMessages(
  { runDirectory, log }: ProgramContext,
  handlers: Handlers<typeof supervisorMessages>,
  stores: StoreExchange,
  probation: Probation,
) {
  return await startIpcServer({
    runDirectory,
    program: "supervisor",
    messages: supervisorMessages,
    handlers,
    log,
    stores,
    // During a new version's probation only `status` and `stop` are answered (docs/updates.md 4.3).
    putOff: (name) =>
      probation.isOn && name !== "status" && name !== "stop"
        ? "a new version is on probation"
        : undefined,
  });
}

function checkStore({ dataDirectory }: Installation): void {
  const database = openStore(join(dataDirectory, "supervisor.db"), supervisorMigrations);
  assertWhole(database);
  database.close();
}

async function startListening(
  { config, clock, onStop }: ProgramContext,
  operationStore: OperationStore,
  operations: OperationExecutor,
  losses: StoreLosses,
  tally: NotificationTally,
  log: AlarmLog,
): Promise<void> {
  const { NOTIFICATION_PORT: port, NOTIFICATION_HOST: host } = config;
  if (port === undefined) return;
  const salts = config.NOTIFICATION_DIGEST_SECRETS.map((value, i) => ({
    setting: `NOTIFICATION_DIGEST_SECRETS ${i + 1}`,
    value,
  }));
  const handler = new NotificationHandler({
    operations: operationStore,
    losses,
    tally,
    secrets: [{ setting: "GATEWAY_PWD", value: config.GATEWAY_PWD }, ...salts],
    fraudSecret: config.NOTIFICATION_SECRET,
    onAccepted: (id) => operations.notified(id),
    clock,
    log,
  });
  const listener = await startNotificationListener({ host, port, handler, clock, log });
  onStop("notifications", () => listener.close());
}

function startConditionWatch(
  { clock, onStop }: ProgramContext,
  status: ReturnType<typeof statusReader>,
  alarmStore: AlarmStore,
  tally: NotificationTally,
  log: AlarmLog,
): void {
  const watch = supervisorConditionWatch(status, alarmStore, tally, clock, log);
  onStop("condition watch", async () => {
    await watch.close();
    tally.save();
  });
  watch.start();
}

function startChores(
  { config, clock, onStop }: ProgramContext,
  log: AlarmLog,
  chores: readonly Chore[],
): void {
  const idle = () => true; // the daily chores can run even while transactions are sent
  const daily = startDaily({ at: config.UPDATE_TIME, idle, chores, clock, log });
  onStop("daily chores", () => daily.stop());
}
