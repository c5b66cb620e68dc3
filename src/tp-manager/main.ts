import { join } from "node:path";
import { ConditionWatch } from "../shared/catalog/condition-watch.ts";
import { sharedFields } from "../shared/config/schema.ts";
import { createIpcClient } from "../shared/ipc/client.ts";
import { type ServedPage, supervisorMessages, tpManagerMessages } from "../shared/ipc/contract.ts";
import { startIpcServer } from "../shared/ipc/server.ts";
import type { AlarmLog } from "../shared/process/logger.ts";
import { backupChore, oldLogsChore, startDaily } from "../shared/program/daily.ts";
import type { Installation } from "../shared/program/installation.ts";
import { logFileOf, type ProgramContext, runProgram } from "../shared/program/lifecycle.ts";
import { Probation } from "../shared/program/probation.ts";
import { StoreExchange } from "../shared/store/store-exchange.ts";
import type { Clock } from "../shared/time.ts";
import type { ArbiterSettings } from "./arbiter/arbiter-parts.ts";
import { ClosingKeeper } from "./arbiter/closing-keeper.ts";
import { TerminalArbiter } from "./arbiter/terminal-arbiter.ts";
import { type ApiOptions, createApi } from "./http/app.ts";
import { FailureDelay } from "./http/door/failure-delay.ts";
import { listenOnLoopback } from "./http/door/loopback-server.ts";
import { EventHub } from "./http/events/event-hub.ts";
import { Maintenance } from "./http/maintenance/maintenance.ts";
import { HourWatch } from "./http/status/hour-watch.ts";
import { Monitor } from "./http/status/monitor.ts";
import { archiveChore } from "./journal/archive.ts";
import { Journal } from "./journal/journal.ts";
import { packingChore } from "./journal/packing.ts";
import { assumptionsOf, familyOf } from "./matching/assumptions.ts";
import { Matcher } from "./matching/matcher.ts";
import { tpManagerHandlers } from "./message-handlers.ts";
import { AfterSale } from "./orders/after-sale.ts";
import { listingsOf } from "./orders/listings.ts";
import { type OrderSettings, Orders } from "./orders/orders.ts";
import { openPages } from "./served-pages.ts";
import { GatewayOperations } from "./supervisor/gateway-operations.ts";
import { HandOff, refusedHandOffs } from "./supervisor/hand-off.ts";
import { alarmPoll, deliveryPoll, returnPoll } from "./supervisor/polls.ts";
import { Resync } from "./supervisor/resync.ts";
import { StoreGuard } from "./supervisor/store-guard.ts";
import { SupervisorLink } from "./supervisor/supervisor-link.ts";
import { driverFor, protocolPart, setupOf } from "./terminal/registry.ts";
import type { TerminalFacts } from "./terminal/terminal.ts";

/** The time to reach and read the terminal before a command (docs/rules/06-timeout.md). */
const PREPARE_MS = 15_000;
const STOP_PATIENCE_MS = 10_000;
/** How long a stop may take; recovery settles what is then still open after the next start. */
const STOP_DEADLINE_MS = 45_000;
const UPKEEP_LIMITS = {
  /** How long `/reset` waits for the terminal, which goes on reconnecting after the answer. */
  resetLimitMs: 180_000,
  /** How long an end of day may take: enough for many transactions on a slow connection. */
  telecollectionLimitMs: 600_000,
};

const fields = { ...sharedFields, ...protocolPart.fields };

/** Registers a part for the ordered stop, which closes the parts in reverse order. */
function ownedBy({ onStop }: ProgramContext) {
  return <T extends { close(): void | Promise<void> }>(name: string, part: T): T => {
    onStop(name, () => part.close());
    return part;
  };
}

/** The parts of tp-manager that are made first; the functions below make the others from them. */
interface House {
  readonly journal: Journal;
  readonly journalPath: string;
  readonly arbiter: TerminalArbiter;
  readonly handOff: HandOff;
  readonly supervisor: SupervisorLink;
  readonly guard: StoreGuard;
  readonly matcher: Matcher;
  readonly hub: EventHub;
}

await runProgram("tp-manager", STOP_DEADLINE_MS, start, { added: protocolPart, checkStore });

async function start(context: ProgramContext): Promise<void> {
  const { config, installation, log, clock, onStop } = context;
  const owned = ownedBy(context);
  const { probation, ongoing } = probationOf(context);
  const journalPath = join(installation.dataDirectory, "journal.db");
  const journal = openJournal(context, journalPath);
  const hub = new EventHub(journal.events, clock, log.child({ area: "events" }));
  const areaLog = (area: string): AlarmLog => hub.tap(log.child({ area }));
  logFaults(journal, hub.tap(log));
  const isLost = beginSession(journal, clock);
  const { handOffs, returns, proof } = journal;

  const terminalLog = areaLog("terminal");
  const driver = owned("terminal", await driverFor(config).create(config, clock, terminalLog));

  const matcher = matcherOf(context, journal, driver);
  const { link: supervisor, guard } = linkSupervisor(context, journal, matcher, areaLog("stores"));
  const handOffLog = areaLog("hand-off");
  const handOff = owned("hand-off", new HandOff(handOffs, supervisor, clock, handOffLog));
  const deliveries = owned("delivery poll", deliveryPoll(handOffs, supervisor, clock, handOffLog));
  const stores = { journal, guard, matcher };
  const settings = settingsOf(context);
  const payments = { ...stores, probation: ongoing, clock, log: areaLog("payments"), settings };
  const news = { announce: hub.announce, settled: () => handOff.nudge() };
  const arbiter = new TerminalArbiter({ ...payments, terminal: driver, proof, ...news });
  const orders = new Orders({ ...payments, arbiter, handOff });
  const house = { journal, journalPath, arbiter, handOff, supervisor, guard, matcher, hub };
  const monitor = owned("monitor", createMonitor(context, house));
  const gatewayLog = areaLog("gateway");
  const gatewayParts = { journal, guard, link: supervisor, clock, log: gatewayLog };
  const gateway = owned("open returns", new GatewayOperations(gatewayParts));
  const repaid = owned("return poll", returnPoll(returns, supervisor, clock, gatewayLog, arbiter));
  const hours = watchHours(context, house);
  const options: ApiOptions = {
    ...setUpOf(context),
    monitor,
    orders,
    listings: listingsOf(journal, arbiter),
    arbiter,
    supervisor,
    hours,
    days: journal.days,
    gateway,
    afterSale: new AfterSale({ ...stores, arbiter, orders }),
    refused: refusedHandOffs(journal.refused, handOff, clock, handOffLog),
    auditEntries: journal.auditEntries,
    acknowledged: journal.acknowledged,
    maintenance: new Maintenance({ installation, fields }),
  };
  owned("local API", await listenOnLoopback(await createApi(options), config.LOCAL_PORT, context));
  const pages = await openPages(context, options);
  onStop("payments", () => arbiter.stop());

  await serveMessages(context, house, pages, monitor);

  driver.start();
  guard.start(isLost);
  arbiter.start();
  await probation.after(() => {
    startChores(context, house);
    handOff.nudge();
    startClosing(context, house, payments.log);
    deliveries.start();
    startAlarms(context, house, monitor);
    owned("hours", hours).start();
    gateway.start();
    repaid.start();
  });
}

function checkStore({ dataDirectory }: Installation): void {
  const journal = new Journal(join(dataDirectory, "journal.db"));
  journal.assertWhole();
  journal.close();
}

/** Returns the probation, the trial of a new version; `ongoing` is set if it is on at the start. */
function probationOf(context: ProgramContext) {
  const { installation, clock, log } = context;
  const probation = ownedBy(context)("probation", new Probation(installation.dataDirectory, clock));
  if (!probation.isOn) return { probation };
  log.info("the new version is being tested after an update; no payment begins meanwhile");
  void probation.over.then(() =>
    log.info("the new version has passed its test after the update; payments may begin"),
  );
  return { probation, ongoing: probation };
}

function openJournal({ clock, onStop }: ProgramContext, path: string): Journal {
  const journal = new Journal(path, clock);
  onStop("journal", () => {
    journal.statements.settle();
    journal.close();
  });
  journal.statements.prepareAll();
  return journal;
}

/** Logs the faults that the journal itself finds, and raises the alarm of faults that last. */
function logFaults({ statements, proof }: Journal, log: AlarmLog): void {
  proof.onMended = (says) => log.warn(says);
  statements.waiting.onFault = (error) =>
    log.error(
      { err: error, alarm: "journal" },
      "could not write the delayed writes to the journal",
    );
}

/** Returns whether the journal is lost, older or another one; if so, a journal gap is stored. */
function beginSession({ store, gaps }: Journal, clock: Clock): boolean {
  let isLost = false;
  store.begin((finding) => {
    if (finding.kind === "whole") return;
    isLost = true;
    gaps.begin(`journal.db: ${finding.because}`, false, clock.now());
  });
  return isLost;
}

function matcherOf({ config, clock }: ProgramContext, journal: Journal, terminal: TerminalFacts) {
  const setup = setupOf(config);
  const off = config.TERMINAL_SHARED ? (["sole-user"] as const) : [];
  return new Matcher({
    journal,
    terminal,
    clock,
    assumptions: assumptionsOf(familyOf(terminal.capabilities), off),
    learned: (identity) => journal.learned.of({ setup, identity }),
  });
}

/** Starts the link to the supervisor, and compares the two databases (docs/rules/17-loss.md). */
function linkSupervisor(
  context: ProgramContext,
  journal: Journal,
  matcher: Matcher,
  log: AlarmLog,
): { readonly link: SupervisorLink; readonly guard: StoreGuard } {
  const { config, runDirectory, clock } = context;
  const { store, gaps, handOffs } = journal;
  const owned = ownedBy(context);
  const exchange = new StoreExchange(
    store,
    () => guard.begin("the supervisor remembers more of it than it holds"),
    () => resync.begin(),
  );
  handOffs.marks = exchange;
  const client = createIpcClient(runDirectory, "supervisor", supervisorMessages, clock, exchange);
  const link = new SupervisorLink(owned("supervisor link", client).call, config.GATEWAY_TIMEOUT);
  const isWhole = (): boolean => gaps.open() === undefined;
  const resync = owned("resync", new Resync(journal.resync, link, clock, log, isWhole));
  const stores = { journal, matcher, link, clock, log };
  const onSupervisorLacks = (): void => resync.beginOnce();
  const isShared = config.TERMINAL_SHARED;
  const guard = owned("store guard", new StoreGuard({ ...stores, isShared, onSupervisorLacks }));
  resync.start();
  return { link, guard };
}

async function serveMessages(
  context: ProgramContext,
  house: House,
  pages: readonly ServedPage[],
  { watch, metrics }: Monitor,
): Promise<void> {
  const { config, runDirectory, clock, log, requestStop, startedAfter } = context;
  const own = { pages, port: config.LOCAL_PORT, watch, metrics, clock, requestStop, startedAfter };
  const ipc = await startIpcServer({
    runDirectory,
    program: "tp-manager",
    messages: tpManagerMessages,
    handlers: tpManagerHandlers({ ...house, ...own }),
    log,
  });
  ownedBy(context)("local messages", ipc);
}

function settingsOf({ config }: ProgramContext): ArbiterSettings & OrderSettings {
  return {
    paymentTimeoutMs: config.PAYMENT_TIMEOUT * 1000,
    graceMs: config.PAYMENT_GRACE * 1000,
    repeatMustMatch: config.REPEAT_MUST_MATCH,
    gatewayWaitMs: config.GATEWAY_WAIT,
    prepareMs: PREPARE_MS,
    stopPatienceMs: STOP_PATIENCE_MS,
    ...UPKEEP_LIMITS,
    terminalShared: config.TERMINAL_SHARED,
    confirmAfterMs: driverFor(config).confirmAfterMs(config),
  };
}

function createMonitor(
  { config, installation, clock }: ProgramContext,
  { supervisor, ...house }: House,
): Monitor {
  const monitor = new Monitor({
    ...house,
    supervisor: () => supervisor.call("status", {}),
    dataDirectory: installation.dataDirectory,
    choresAt: config.UPDATE_TIME,
    clock,
  });
  monitor.metrics.addProcessFigures();
  return monitor;
}

function setUpOf({ config, clock, log, requestStop }: ProgramContext) {
  const { OPERATOR_LOGIN: login, OPERATOR_PWD: password } = config;
  return {
    port: config.LOCAL_PORT,
    kiosk: { login: config.TERMINAL_MANAGER_LOGIN, password: config.TERMINAL_MANAGER_PWD },
    operator: login !== undefined && password !== undefined ? { login, password } : undefined,
    metrics: config.METRICS_LOGIN,
    allowedOrigins: config.ALLOWED_ORIGINS,
    failures: new FailureDelay(clock),
    defaultCurrency: config.CURRENCY,
    clock,
    log: log.child({ area: "http" }),
    requestStop,
  };
}

function startAlarms(
  context: ProgramContext,
  { journal, supervisor, hub }: House,
  monitor: Monitor,
): void {
  const owned = ownedBy(context);
  const { clock } = context;
  const pollLog = context.log.child({ area: "events" });
  const alarms = alarmPoll(journal.alarms, supervisor, clock, pollLog);
  owned("supervisor alarms", alarms).nudge();
  const log = hub.tap(context.log.child({ area: "conditions" }));
  const read = () => monitor.conditions();
  owned("condition watch", new ConditionWatch({ by: "tp-manager", read, clock, log })).start();
}

function startClosing(context: ProgramContext, { arbiter, journal }: House, log: AlarmLog): void {
  const { config, clock } = context;
  const text = "AUTO_END_OF_DAY is off: if the terminal demands an end of day, an operator runs it";
  if (!config.AUTO_END_OF_DAY) context.log.info(text);
  else ownedBy(context)("end of day", new ClosingKeeper(arbiter, journal, clock, log)).start();
}

function watchHours(
  { config, clock, log }: ProgramContext,
  { journal: { days }, arbiter, supervisor }: House,
): HourWatch {
  const waiting = async (): Promise<number> => {
    const { outbox } = await supervisor.call("status", {});
    return outbox.pending + outbox.parked;
  };
  const own = { keptDays: config.JOURNAL_DAYS, clock, log: log.child({ area: "hours" }) };
  return new HourWatch({ arbiter, days, waiting, ...own });
}

function startChores(
  { config, installation, clock, log, onStop }: ProgramContext,
  { journal, journalPath, arbiter, handOff, hub }: House,
): void {
  const daily = startDaily({
    at: config.UPDATE_TIME,
    idle: () => arbiter.lease.current === undefined,
    chores: [
      backupChore(journalPath, clock, () => journal.store.copied(), journal.proof),
      archiveChore(journal.archive, config.JOURNAL_DAYS, clock, (id) => handOff.delivered(id, 0)),
      oldLogsChore(logFileOf(installation, "tp-manager"), config.LOG_DAYS, clock),
      packingChore(journal.packing, clock),
    ],
    clock,
    log: hub.tap(log),
  });
  onStop("daily chores", () => daily.stop());
}
