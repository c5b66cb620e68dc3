import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { troubleNames, troublesOf, troubleTable } from "../../../shared/catalog/troubles.ts";
import { versionNumber } from "../../../shared/process/installation.ts";
import type { Clock } from "../../../shared/time.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import type { Attempt, AttemptStep } from "../../attempts/payment.ts";
import { paymentEventOf } from "../../attempts/phase-table.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";
import type { EventHub } from "../events/event-hub.ts";
import type { TerminalWatch } from "../events/terminal-watch.ts";
import type { JournalCounts, SupervisorStatus } from "./health.ts";
import { ownTroubles } from "./own-troubles.ts";

interface MetricsParts {
  readonly clock: Pick<Clock, "now">;
  readonly hub: EventHub;
  readonly watch: TerminalWatch;
  readonly arbiter: Pick<TerminalArbiter, "obstacles" | "refusedBeside">;
  readonly counts: JournalCounts;
  readonly handOff: Pick<HandOff, "trouble">;
  readonly supervisor: () => Promise<SupervisorStatus>;
}

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
/** Attempts whose phases are timed at once; one runs, the others are in doubt. */
const TIMED_MAX = 100;
/** Counted when somebody asks, or so many are waiting: off the way of a payment. */
const WAITING_MAX = 200;

/**
 * Prometheus figures. No label ever holds an order or a transaction: their number would grow for
 * ever.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #parts: MetricsParts;
  readonly #reportedAtMs = new Map<string, number>();
  #waiting: Array<() => void> = [];
  readonly #outcomes: Counter<"state">;
  readonly #phases: Histogram<"phase">;
  readonly #alarms: Counter<"alarm">;
  readonly #compared: Counter<"result">;
  readonly #answers: Histogram<"method" | "route" | "status">;

  constructor(parts: MetricsParts) {
    this.#parts = parts;
    const registers = [this.registry];
    const name = (rest: string): string => `connector_${rest}`;
    this.#outcomes = new Counter({
      name: name("payment_states_total"),
      help: "How often a payment reached a state; the states of the event table.",
      labelNames: ["state"],
      registers,
    });
    this.#phases = new Histogram({
      name: name("payment_phase_seconds"),
      help: "card: sent to result. completion: result to end. whole: sent to end.",
      labelNames: ["phase"],
      buckets: SECONDS,
      registers,
    });
    this.#alarms = new Counter({
      name: name("alarms_total"),
      help: "Alarms of both programs.",
      labelNames: ["alarm"],
      registers,
    });
    this.#compared = new Counter({
      name: name("reconciliations_total"),
      help: "Ends of day and receipt numbers compared with the journal.",
      labelNames: ["result"],
      registers,
    });
    this.#answers = new Histogram({
      name: name("api_answer_seconds"),
      help: "Answers of the local API.",
      labelNames: ["method", "route", "status"],
      buckets: SECONDS,
      registers,
    });
    this.#addGauges(registers);
    parts.hub.subscribe((event) => {
      if (event.name === "payment") {
        this.#count(() => this.#outcomes.inc({ state: event.data.state }));
      }
      if (event.name === "reconciliation") this.#compared.inc({ result: event.data.result });
      if (event.name === "alarm") this.#alarms.inc({ alarm: event.data.alarm });
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

  /** A step of an attempt, as the journal tells it. */
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
    await this.#readSupervisor();
    this.#countWaiting();
    return this.registry.metrics();
  }

  readonly #outbox: Record<
    "depth" | "parked" | "age" | "up" | "inDoubt" | "copies" | "ambiguous",
    Gauge
  > = {
    depth: new Gauge({
      name: "connector_outbox_pending",
      help: "Waiting to be sent.",
      registers: [],
    }),
    parked: new Gauge({ name: "connector_outbox_parked", help: "Refused.", registers: [] }),
    age: new Gauge({
      name: "connector_outbox_oldest_seconds",
      help: "Age of the oldest waiting item.",
      registers: [],
    }),
    inDoubt: new Gauge({
      name: "connector_outbox_in_doubt",
      help: "Waiting, and perhaps at the gateway already: an answer was lost.",
      registers: [],
    }),
    copies: new Gauge({
      name: "connector_gateway_possible_copies",
      help: "Orders that the gateway may have more than once.",
      registers: [],
    }),
    ambiguous: new Gauge({
      name: "connector_gateway_ambiguous_sends",
      help: "Sends whose answer was lost, of all time.",
      registers: [],
    }),
    up: new Gauge({ name: "connector_supervisor_up", help: "1: it answers.", registers: [] }),
  };

  readonly #updates = {
    version: new Gauge({
      name: "connector_version_info",
      help: "1, with the version that runs.",
      labelNames: ["version"],
      registers: [this.registry],
    }),
    checked: new Gauge({
      name: "connector_update_last_check_timestamp_seconds",
      help: "The last look for an update; not there before the first one.",
      registers: [],
    }),
    failing: new Gauge({
      name: "connector_update_check_failed",
      help: "1: the last look for an update failed; GET /health says why.",
      registers: [],
    }),
    age: new Gauge({
      name: "connector_update_metadata_age_seconds",
      help: "Since metadata of updates were verified as fresh.",
      registers: [],
    }),
  };

  readonly #gateway = {
    troubles: new Gauge({
      name: "connector_trouble",
      help: "1: the trouble is there; GET /health says what to do.",
      labelNames: ["trouble"],
      registers: [this.registry],
    }),
    notifications: new Counter({
      name: "connector_notifications_total",
      help: "Notifications of the gateway by verdict.",
      labelNames: ["verdict"],
      registers: [this.registry],
    }),
  };

  #addGauges(registers: Registry[]): void {
    const { counts, watch, arbiter } = this.#parts;
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({
        name: `connector_${name}`,
        help,
        registers,
        collect() {
          this.set(readOr(Number.NaN, read));
        },
      });
    };
    const counter = (name: string, help: string, read: () => number): void => {
      new Counter({
        name: `connector_${name}`,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    };
    gauge("hand_off_pending", "Transactions the supervisor has yet to take.", () =>
      counts.handOffs.countPendingHandOffs(),
    );
    gauge("payments_in_doubt", "Payments nobody knows the end of.", () =>
      counts.attempts.countInDoubt(),
    );
    const ready = "1: nothing keeps a payment from being taken; one that runs does not count.";
    gauge("terminal_ready", ready, () => Number(arbiter.obstacles.length === 0));
    gauge("terminal_link_up", "1: linked.", () => Number(watch.now.link === "connected"));
    counter("terminal_links_lost_total", "Links to the terminal that were lost.", () => {
      return watch.faults.linksLost;
    });
    counter("terminal_protocol_faults_total", "Breaches of the terminal's protocol.", () => {
      return watch.faults.protocolFaults;
    });
    for (const metric of Object.values(this.#outbox)) this.registry.registerMetric(metric);
  }

  async #readSupervisor(): Promise<void> {
    const { depth, parked, age, up, inDoubt, copies, ambiguous } = this.#outbox;
    const supervisor = await this.#parts.supervisor().catch(() => null);
    up.set(supervisor ? 1 : 0);
    this.#setTroubles(supervisor);
    if (!supervisor) return; // the others keep what was last known
    const { outbox, notifications } = supervisor;
    depth.set(outbox.pending);
    parked.set(outbox.parked);
    age.set((outbox.oldestAgeMs ?? 0) / 1000);
    inDoubt.set(outbox.ambiguous?.inDoubt ?? 0);
    copies.set(outbox.ambiguous?.possibleCopies ?? 0);
    ambiguous.set(outbox.ambiguous?.sends ?? 0);
    this.#setUpdates(supervisor);
    const { notifications: byVerdict } = this.#gateway;
    byVerdict.reset();
    for (const [verdict, count] of Object.entries(notifications?.verdicts ?? {})) {
      byVerdict.inc({ verdict }, count);
    }
  }

  #setUpdates({ updates }: SupervisorStatus): void {
    const { version, checked, failing, age } = this.#updates;
    version.set({ version: versionNumber }, 1);
    if (updates?.checkedMs == null) return;
    for (const metric of [checked, failing, age]) this.registry.registerMetric(metric);
    checked.set(updates.checkedMs / 1000);
    failing.set(updates.fault === null ? 0 : 1);
    const freshMs = updates.freshMs ?? updates.checkedMs;
    age.set(Math.max(0, this.#parts.clock.now() - freshMs) / 1000);
  }

  #setTroubles(supervisor: SupervisorStatus | null): void {
    const { handOff, counts, clock, arbiter } = this.#parts;
    const tpManager = readOr(undefined, () => ownTroubles({ handOff, clock, arbiter, ...counts }));
    const there = troublesOf({ supervisor, tpManager }).map(({ name }) => name);
    for (const trouble of troubleNames) {
      const { by } = troubleTable[trouble];
      if (by === "supervisor" ? supervisor === null : tpManager === undefined) continue;
      this.#gateway.troubles.set({ trouble }, there.includes(trouble) ? 1 : 0);
    }
  }
}

/** A figure that cannot be read is not a number; the others are still told. */
function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
