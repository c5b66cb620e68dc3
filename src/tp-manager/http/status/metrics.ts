import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import {
  conditionNames,
  conditionsOf,
  conditionTable,
} from "../../../shared/catalog/conditions.ts";
import { type FleetNewsAnswer, PHASE_SECONDS } from "../../../shared/ipc/fleet-messages.ts";
import { versionNumber } from "../../../shared/program/installation.ts";
import { readOr } from "../../../shared/read-or.ts";
import type { Attempt, AttemptStep } from "../../attempts/payment.ts";
import { paymentEventOf } from "../../attempts/phase-table.ts";
import type { TerminalWatch } from "../events/terminal-watch.ts";
import { type Facts, factsOf, type SupervisorStatus, type Watched } from "./facts.ts";
import helps from "./metrics-en.json" with { type: "json" };

/** The most attempts whose phases are timed at once; one runs, the others are in doubt. */
const TIMED_MAX = 100;
/** The most observations that wait to be counted, so that counting delays no payment. */
const WAITING_MAX = 200;

type FigureName = keyof typeof helps;
type Source = Facts & Pick<Watched, "arbiter" | "clock"> & Pick<TerminalWatch, "now" | "faults">;

type Phases = Record<string, { count: number; sumMs: number; buckets: Record<string, number> }>;

/** Returns the value of a figure; undefined: the figure keeps the value that it had. */
type Read = (source: Source) => number | undefined;

/** Gauges that are read when Prometheus asks; metrics-en.json says what they mean. */
const gauges: Partial<Record<FigureName, Read>> = {
  hand_off_pending: ({ journal }) => journal?.payments.notHandedOver ?? Number.NaN,
  payments_in_doubt: ({ journal }) => journal?.payments.inDoubt ?? Number.NaN,
  terminal_ready: ({ arbiter }) =>
    readOr(Number.NaN, () => Number(arbiter.notReadyReasons.length === 0)),
  terminal_link_up: ({ now }) => Number(now.link === "connected"),
  supervisor_up: ({ supervisor }) => Number(supervisor !== null),
  outbox_pending: ({ supervisor }) => supervisor?.outbox.pending,
  outbox_parked: ({ supervisor }) => supervisor?.outbox.parked,
  outbox_oldest_seconds: ({ supervisor }) =>
    supervisor?.outbox && (supervisor.outbox.oldestAgeMs ?? 0) / 1000,
  outbox_in_doubt: ({ supervisor }) =>
    supervisor?.outbox && (supervisor.outbox.ambiguous?.inDoubt ?? 0),
  gateway_possible_copies: ({ supervisor }) =>
    supervisor?.outbox && (supervisor.outbox.ambiguous?.possibleCopies ?? 0),
  gateway_ambiguous_sends: ({ supervisor }) =>
    supervisor?.outbox && (supervisor.outbox.ambiguous?.sends ?? 0),
};

/** Gauges that appear after the first check for an update. */
const updateGauges: typeof gauges = {
  update_last_check_timestamp_seconds: ({ supervisor }) =>
    (supervisor?.updates?.checkedMs ?? 0) / 1000,
  update_check_failed: ({ supervisor }) => Number(supervisor?.updates?.fault !== null),
  update_metadata_age_seconds: ({ supervisor, clock }) => {
    const { freshMs, checkedMs } = supervisor?.updates ?? {};
    return Math.max(0, clock.now() - (freshMs ?? checkedMs ?? 0)) / 1000;
  },
};

const terminalCounters: typeof gauges = {
  terminal_links_lost_total: ({ faults }) => faults.linksLost,
  terminal_protocol_faults_total: ({ faults }) => faults.protocolFaults,
};

const all = <T>(table: typeof gauges, make: (name: FigureName) => T) =>
  Object.entries(table).map(([name, read]) => [make(name as FigureName), read] as const);

/** Figures for Prometheus. No label names an order or transaction: their number has no limit. */
export class Metrics {
  readonly registry = new Registry();
  readonly #watched: Watched;
  readonly #terminal: TerminalWatch;
  readonly #reportedAtMs = new Map<string, number>();
  #waiting: Array<() => void> = [];
  // `GET /metrics` lists the figures in the order of these members.
  readonly #outcomes = new Counter(this.#named("payment_states_total", "state"));
  readonly #alarms = new Counter(this.#named("alarms_total", "alarm"));
  readonly #compared = new Counter(this.#named("reconciliations_total", "result"));
  readonly #phases = new Histogram({
    ...this.#named("payment_phase_seconds", "phase"),
    buckets: PHASE_SECONDS,
  });
  readonly #answers = new Histogram({
    ...this.#named("api_answer_seconds", "method", "route", "status"),
    buckets: PHASE_SECONDS,
  });
  readonly #version = new Gauge(this.#named("version_info", "version"));
  readonly #conditions = new Gauge(this.#named("trouble", "trouble"));
  readonly #notifications = new Counter(this.#named("notifications_total", "verdict"));
  readonly #read = all(gauges, (name) => new Gauge(this.#named(name)));
  readonly #terminalCounters = all(terminalCounters, (name) => new Counter(this.#named(name)));
  readonly #updates = all(
    updateGauges,
    (name) => new Gauge({ ...this.#named(name), registers: [] }),
  );

  constructor(watched: Watched, terminal: TerminalWatch) {
    this.#watched = watched;
    this.#terminal = terminal;
    watched.hub.subscribe(({ name, data }) => {
      if (name === "payment") this.#count(() => this.#outcomes.inc({ state: data.state }));
      if (name === "reconciliation") this.#compared.inc({ result: data.result });
      if (name === "alarm") this.#alarms.inc({ alarm: data.alarm });
    });
  }

  #named<L extends string>(name: FigureName, ...labelNames: L[]) {
    return { name: `connector_${name}`, help: helps[name], labelNames, registers: [this.registry] };
  }

  /** Adds the figures of memory, processor, event loop and open files; once per process. */
  addProcessFigures(): void {
    collectDefaultMetrics({ register: this.registry });
    // These gauges have names of counters, which Prometheus' linter refuses; others add up to them.
    for (const what of ["handles", "requests", "resources"]) {
      this.registry.removeSingleMetric(`nodejs_active_${what}_total`);
    }
  }

  /** Measures the time until a step of an attempt, when the journal has written the step. */
  readonly step = (attempt: Attempt, { kind, atMs }: AttemptStep): void => {
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
  };

  answered(method: string, route: string, status: number, ms: number): void {
    // Methods other than GET and POST share a label, so that wrong requests create no more series.
    const known = method === "GET" || method === "POST" ? method : "other";
    const labels = { method: known, route, status: String(status) };
    this.#count(() => this.#answers.observe(labels, ms / 1000));
  }

  /** Returns the figures that a fleet gets too (docs/fleet.md 3.2). */
  async figures(): Promise<NonNullable<FleetNewsAnswer["figures"]>> {
    this.#countWaiting();
    const phases: Phases = {};
    for (const { metricName = "", labels, value } of (await this.#phases.get()).values) {
      const { phase = "", le } = labels as { phase?: string; le?: number | string };
      phases[phase] ??= { count: 0, sumMs: 0, buckets: {} };
      const found = phases[phase];
      if (metricName.endsWith("_count")) found.count = value;
      else if (metricName.endsWith("_sum")) found.sumMs = Math.round(value * 1_000);
      else if (le !== "+Inf") found.buckets[Math.round(Number(le) * 1_000)] = value;
    }
    return { linksLost: this.#terminal.faults.linksLost, phases };
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

  #setConditions({ supervisor, journal }: Facts): void {
    const there = conditionsOf({ supervisor, tpManager: journal?.conditions });
    for (const name of conditionNames) {
      const { by } = conditionTable[name];
      if (by === "supervisor" ? supervisor === null : journal === null) continue;
      this.#conditions.set({ trouble: name }, Number(there.some((one) => one.name === name)));
    }
  }
}
