import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import {
  conditionNames,
  conditionsOf,
  conditionTable,
} from "../../../shared/catalog/conditions.ts";
import { versionNumber } from "../../../shared/process/installation.ts";
import type { Attempt, AttemptStep } from "../../attempts/payment.ts";
import { paymentEventOf } from "../../attempts/phase-table.ts";
import type { TerminalWatch } from "../events/terminal-watch.ts";
import { type Facts, factsOf, readOr, type SupervisorStatus, type Watched } from "./facts.ts";

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
/** Attempts whose phases are timed at once; one runs, the others are in doubt. */
const TIMED_MAX = 100;
/** Counted when the figures are asked for, or so many are waiting: off the way of a payment. */
const WAITING_MAX = 200;

type Source = Facts & Pick<Watched, "arbiter" | "clock"> & Pick<TerminalWatch, "now" | "faults">;

/** undefined: the figure keeps its last value. */
type Read = (source: Source) => number | undefined;

/** Figures that are read when they are asked for, by name: what they mean, and their value now. */
const gauges: Readonly<Record<string, readonly [help: string, read: Read]>> = {
  hand_off_pending: [
    "Transactions the supervisor has yet to take.",
    ({ payments }) => payments?.notHandedOver ?? Number.NaN,
  ],
  payments_in_doubt: [
    "Payments nobody knows the end of.",
    ({ payments }) => payments?.inDoubt ?? Number.NaN,
  ],
  terminal_ready: [
    "1: nothing keeps a payment from being taken; one that runs does not count.",
    ({ arbiter }) => readOr(Number.NaN, () => Number(arbiter.notReadyReasons.length === 0)),
  ],
  terminal_link_up: ["1: linked.", ({ now }) => Number(now.link === "connected")],
  supervisor_up: ["1: it answers.", ({ supervisor }) => Number(supervisor !== null)],
  outbox_pending: ["Waiting to be sent.", ({ supervisor }) => supervisor?.outbox.pending],
  outbox_parked: ["Refused.", ({ supervisor }) => supervisor?.outbox.parked],
  outbox_oldest_seconds: [
    "Age of the oldest waiting item.",
    ({ supervisor }) => supervisor?.outbox && (supervisor.outbox.oldestAgeMs ?? 0) / 1000,
  ],
  outbox_in_doubt: [
    "Waiting, and perhaps at the gateway already: an answer was lost.",
    ({ supervisor }) => supervisor?.outbox && (supervisor.outbox.ambiguous?.inDoubt ?? 0),
  ],
  gateway_possible_copies: [
    "Orders that the gateway may have more than once.",
    ({ supervisor }) => supervisor?.outbox && (supervisor.outbox.ambiguous?.possibleCopies ?? 0),
  ],
  gateway_ambiguous_sends: [
    "Sends whose answer was lost, of all time.",
    ({ supervisor }) => supervisor?.outbox && (supervisor.outbox.ambiguous?.sends ?? 0),
  ],
};

/** As {@link gauges}; not there before the first look for an update. */
const updateGauges: typeof gauges = {
  update_last_check_timestamp_seconds: [
    "The last check for an update; not there before the first one.",
    ({ supervisor }) => (supervisor?.updates?.checkedMs ?? 0) / 1000,
  ],
  update_check_failed: [
    "1: the last check for an update failed; GET /health says why.",
    ({ supervisor }) => Number(supervisor?.updates?.fault !== null),
  ],
  update_metadata_age_seconds: [
    "Since metadata of updates were verified as fresh.",
    ({ supervisor, clock }) => {
      const { freshMs, checkedMs } = supervisor?.updates ?? {};
      return Math.max(0, clock.now() - (freshMs ?? checkedMs ?? 0)) / 1000;
    },
  ],
};

/** Counted by the watch over the terminal. */
const terminalCounters: Readonly<Record<string, readonly [help: string, read: Read]>> = {
  terminal_links_lost_total: [
    "Links to the terminal that were lost.",
    ({ faults }) => faults.linksLost,
  ],
  terminal_protocol_faults_total: [
    "Breaches of the terminal's protocol.",
    ({ faults }) => faults.protocolFaults,
  ],
};

/**
 * Prometheus figures. No label ever holds an order or a transaction: their number would grow for
 * ever.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #watched: Watched;
  readonly #terminal: TerminalWatch;
  readonly #reportedAtMs = new Map<string, number>();
  #waiting: Array<() => void> = [];
  readonly #read: ReadonlyArray<readonly [Gauge, Read]>;
  readonly #updates: ReadonlyArray<readonly [Gauge, Read]>;
  readonly #terminalCounters: ReadonlyArray<readonly [Counter, Read]>;
  readonly #phases: Histogram<"phase">;
  readonly #answers: Histogram<"method" | "route" | "status">;
  readonly #version: Gauge;
  readonly #conditions: Gauge;
  readonly #notifications: Counter;

  constructor(watched: Watched, terminal: TerminalWatch) {
    this.#watched = watched;
    this.#terminal = terminal;
    const registers = [this.registry];
    const named = <L extends string>(name: string, help: string, ...labelNames: L[]) => ({
      name: `connector_${name}`,
      help,
      labelNames,
      registers,
    });
    const outcomes = new Counter(
      named(
        "payment_states_total",
        "How often a payment reached a state; the states of the event table.",
        "state",
      ),
    );
    const alarms = new Counter(named("alarms_total", "Alarms of both programs.", "alarm"));
    const compared = new Counter(
      named(
        "reconciliations_total",
        "Ends of day and receipt numbers compared with the journal.",
        "result",
      ),
    );
    this.#phases = new Histogram({
      ...named(
        "payment_phase_seconds",
        "card: sent to result. completion: result to end. whole: sent to end.",
        "phase",
      ),
      buckets: SECONDS,
    });
    this.#answers = new Histogram({
      ...named("api_answer_seconds", "Answers of the local API.", "method", "route", "status"),
      buckets: SECONDS,
    });
    this.#version = new Gauge(named("version_info", "1, with the version that runs.", "version"));
    this.#conditions = new Gauge(
      named("trouble", "1: the trouble is there; GET /health says what to do.", "trouble"),
    );
    this.#notifications = new Counter(
      named("notifications_total", "Notifications of the gateway by verdict.", "verdict"),
    );
    const all = <T>(table: typeof gauges, make: (name: string, help: string) => T) =>
      Object.entries(table).map(([name, [help, read]]) => [make(name, help), read] as const);
    this.#read = all(gauges, (name, help) => new Gauge(named(name, help)));
    this.#terminalCounters = all(terminalCounters, (name, help) => new Counter(named(name, help)));
    this.#updates = all(
      updateGauges,
      (name, help) => new Gauge({ ...named(name, help), registers: [] }),
    );
    watched.hub.subscribe(({ name, data }) => {
      if (name === "payment") this.#count(() => outcomes.inc({ state: data.state }));
      if (name === "reconciliation") compared.inc({ result: data.result });
      if (name === "alarm") alarms.inc({ alarm: data.alarm });
    });
  }

  /** Memory, processor, event loop, open files; once per process. */
  addProcessFigures(): void {
    collectDefaultMetrics({ register: this.registry });
    // Gauges with a counter's name, which Prometheus' linter refuses; others sum up to the same.
    for (const what of ["handles", "requests", "resources"]) {
      this.registry.removeSingleMetric(`nodejs_active_${what}_total`);
    }
  }

  /** Times the step of an attempt that the journal has written. */
  step(attempt: Attempt, { kind, atMs }: AttemptStep): void {
    const { transactionId, startedAtMs } = attempt;
    const seconds = (fromMs: number): number => Math.max(0, atMs - fromMs) / 1000;
    if (kind === "report" || kind === "approved") {
      if (this.#reportedAtMs.size >= TIMED_MAX) this.#reportedAtMs.clear();
      this.#reportedAtMs.set(transactionId, atMs);
      this.#count(() => this.#phases.observe({ phase: "card" }, seconds(startedAtMs)));
    }
    if (!kind.startsWith("end-") || paymentEventOf(attempt).state === "reversed") return;
    const reportedAtMs = this.#reportedAtMs.get(transactionId);
    if (reportedAtMs === undefined) return;
    this.#reportedAtMs.delete(transactionId);
    this.#count(() => {
      this.#phases.observe({ phase: "completion" }, seconds(reportedAtMs));
      this.#phases.observe({ phase: "whole" }, seconds(startedAtMs));
    });
  }

  answered(method: string, route: string, status: number, ms: number): void {
    // A sender of wrong requests must not be able to make new series without end.
    const known = method === "GET" || method === "POST" ? method : "other";
    const labels = { method: known, route, status: String(status) };
    this.#count(() => this.#answers.observe(labels, ms / 1000));
  }

  #count(count: () => void): void {
    this.#waiting.push(count);
    if (this.#waiting.length >= WAITING_MAX) this.#countWaiting();
  }

  #countWaiting(): void {
    for (const count of this.#waiting) count();
    this.#waiting = [];
  }

  async text(): Promise<string> {
    const facts = await factsOf(this.#watched);
    const { arbiter, clock } = this.#watched;
    const { now, faults } = this.#terminal;
    const source = { ...facts, arbiter, clock, now, faults };
    for (const [gauge, read] of this.#read) {
      const value = read(source);
      if (value !== undefined) gauge.set(value);
    }
    for (const [counter, read] of this.#terminalCounters) {
      counter.reset();
      counter.inc(read(source));
    }
    this.#setConditions(facts);
    if (facts.supervisor) this.#setOfSupervisor(source, facts.supervisor);
    this.#countWaiting();
    return this.registry.metrics();
  }

  #setOfSupervisor(source: Source, { updates, notifications }: SupervisorStatus): void {
    this.#version.set({ version: versionNumber }, 1);
    if (updates?.checkedMs != null) {
      for (const [gauge, read] of this.#updates) {
        this.registry.registerMetric(gauge);
        gauge.set(read(source) ?? 0);
      }
    }
    this.#notifications.reset();
    for (const [verdict, count] of Object.entries(notifications?.verdicts ?? {})) {
      this.#notifications.inc({ verdict }, count);
    }
  }

  #setConditions({ supervisor, tpManager }: Facts): void {
    const there = conditionsOf({ supervisor, tpManager }).map(({ name }) => name);
    for (const trouble of conditionNames) {
      const { by } = conditionTable[trouble];
      if (by === "supervisor" ? supervisor === null : tpManager === undefined) continue;
      this.#conditions.set({ trouble }, there.includes(trouble) ? 1 : 0);
    }
  }
}
