import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import type { DeliveryState } from "../../../src/shared/ipc/contract.ts";
import { type Currency, currencyOf } from "../../../src/shared/money.ts";
import { Probation } from "../../../src/shared/program/probation.ts";
import type { Clock } from "../../../src/shared/time.ts";
import { type Transaction, transactionSchema } from "../../../src/shared/transaction.ts";
import type { ArbiterSettings } from "../../../src/tp-manager/arbiter/arbiter-parts.ts";
import { ClosingKeeper } from "../../../src/tp-manager/arbiter/closing-keeper.ts";
import { TerminalArbiter } from "../../../src/tp-manager/arbiter/terminal-arbiter.ts";
import type { PaymentRequest } from "../../../src/tp-manager/attempts/payment.ts";
import { EventHub } from "../../../src/tp-manager/http/events/event-hub.ts";
import { HourWatch } from "../../../src/tp-manager/http/status/hour-watch.ts";
import { migrations } from "../../../src/tp-manager/journal/database/migrations.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import {
  type Assumption,
  assumptionsOf,
  familyOf,
} from "../../../src/tp-manager/matching/assumptions.ts";
import { Matcher } from "../../../src/tp-manager/matching/matcher.ts";
import { AfterSale } from "../../../src/tp-manager/orders/after-sale.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { listingsOf } from "../../../src/tp-manager/orders/listings.ts";
import { type OrderSettings, Orders } from "../../../src/tp-manager/orders/orders.ts";
import {
  type SettlementRequest,
  settleByOperator,
} from "../../../src/tp-manager/orders/settlement.ts";
import { HandOff, refusedHandOffs } from "../../../src/tp-manager/supervisor/hand-off.ts";
import { StoreGuard } from "../../../src/tp-manager/supervisor/store-guard.ts";
import type { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import type { Terminal } from "../../../src/tp-manager/terminal/terminal.ts";
import { TestClock } from "../clocks/test-clock.ts";
import { newStore } from "../files/new-store.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { ScriptedTerminal } from "../terminals/scripted-terminal.ts";
import { answeringLink } from "./answering-link.ts";
import { recordingLog } from "./recording-log.ts";

/** The settings of tp-manager with the defaults of the setup file. */
export const defaultSettings: ArbiterSettings & OrderSettings = {
  paymentTimeoutMs: 180_000,
  graceMs: 30_000,
  repeatMustMatch: "amount",
  gatewayWaitMs: 5_000,
  prepareMs: 15_000,
  stopPatienceMs: 10_000,
  confirmAfterMs: 10_000,
  resetLimitMs: 60_000,
  telecollectionLimitMs: 60_000,
  terminalShared: false,
};

export function currency(alpha: string): Currency {
  const found = currencyOf(alpha);
  if (!found) throw new Error(`the currency table has no ${alpha}`);
  return found;
}

export function request(orderId: string, change: Partial<PaymentRequest> = {}): PaymentRequest {
  return {
    orderId,
    generatedId: false,
    amountMinor: 999,
    currency: currency("EUR"),
    echo: { amount: 9.99 },
    cart: [],
    customerEmail: null,
    customData: {},
    delivery: null,
    warnings: [],
    ...change,
  };
}

/** A supervisor of a few lines: what it was given, and whether it can be reached. */
class Supervisor {
  stored: Transaction[] = [];
  /** Sales that were handed off as charged after their withdrawal. */
  restored: string[] = [];
  withdrawn: string[] = [];
  reachable = true;
  /** Throws what it answers instead of taking a transaction. */
  refuse: () => void = () => {};
  state: DeliveryState = "sent";
  stateOf: (orderId: string) => DeliveryState = () => this.state;
  /** Of a version that answers no delivery with what it stored. */
  isOlder = false;

  readonly link = answeringLink({
    "store-transaction": ({ transaction, waitMs, wasWithdrawn }) => {
      this.#mustBeReachable();
      if (wasWithdrawn) this.restored.push(transaction.transactionId);
      this.refuse();
      const taken = transactionSchema.parse(transaction);
      const state = this.stateOf(taken.orderId);
      this.stored.push(taken);
      const states = waitMs !== undefined && !this.isOlder;
      return { stored: true, ...(states ? { state } : {}) };
    },
    "withdraw-transaction": ({ transaction }) => {
      this.#mustBeReachable();
      this.withdrawn.push(transaction.transactionId);
      return { outcome: this.state === "sent" ? "sent" : "closed" };
    },
    "known-orders": () => {
      this.#mustBeReachable();
      return { orders: [], last: 0, more: false, whole: true };
    },
    "order-at-gateway": ({ orderId }) => {
      this.#mustBeReachable();
      const has = this.stored.some((taken) => taken.orderId === orderId);
      return { found: has ? "present" : "absent", why: "the gateway was asked" };
    },
    "transaction-delivery": ({ transactionId }) => {
      this.#mustBeReachable();
      const known = this.stored.find((taken) => taken.transactionId === transactionId);
      const state = known ? this.stateOf(known.orderId) : this.state;
      return { known: true, state, sent: state === "sent" };
    },
  });

  #mustBeReachable(): void {
    if (!this.reachable) throw new IpcError("unreachable", "nobody listens");
  }
}

interface HouseOptions {
  readonly clock?: TestClock;
  /** TERMINAL_SHARED: sales that nobody here knows are no sign of a loss. */
  readonly isShared?: boolean;
  /** Assumptions that do not hold. */
  readonly off?: readonly Assumption[];
  readonly onSupervisorLacks?: () => void;
  /** A data folder with the mark of a new version on probation, or without. */
  readonly dataDirectory?: string;
  /** The pause between two probes; 10 seconds unless it is given. */
  readonly confirmAfterMs?: number;
  readonly repeatMustMatch?: "amount" | "all";
  /** The time limit of a payment; 180 seconds unless it is given. */
  readonly paymentTimeoutMs?: number;
  /** Another supervisor than the one of a few lines. */
  readonly linkFor?: (journal: Journal) => SupervisorLink;
}

/** The setup of the terminal, as what it has shown is kept for. */
export const SETUP = "test";

/** What is taken for granted about a terminal that can be asked. */
export function matcherFor(
  journal: Journal,
  terminal: Pick<Terminal, "capabilities">,
  clock: Pick<Clock, "now">,
  { isShared = false, off = [] }: Pick<HouseOptions, "isShared" | "off">,
): Matcher {
  const switchedOff = [...off, ...(isShared ? (["sole-user"] as const) : [])];
  return new Matcher({
    journal,
    terminal,
    clock,
    assumptions: assumptionsOf(familyOf(terminal.capabilities), switchedOff),
    learned: (identity) => journal.learned.of({ setup: SETUP, identity }),
  });
}

/** The money side of tp-manager on a scripted terminal, a real journal and the test clock. */
export function house(
  path = join(temporaryFolder(), "journal.db"),
  terminal = new ScriptedTerminal(),
  options: HouseOptions = {},
) {
  const { clock = new TestClock(new Date(2026, 0, 15, 13, 0, 0).getTime()) } = options;
  const opened = openHouse(path, terminal, { ...options, clock });
  onTestFinished(opened.close);
  // A former process has given some numbers; a test may bring a terminal of another kind.
  if (terminal.paid?.length === 0) {
    terminal.soldBefore = [...opened.journal.records.sent()].length;
  }
  return opened;
}

/** The same on any driver and clock; who opens it closes it. */
export function openHouse<T extends Terminal, C extends Clock>(
  path: string,
  terminal: T,
  options: Omit<HouseOptions, "clock"> & { readonly clock: C; readonly journal?: Journal },
) {
  const { clock } = options;
  const journal = options.journal ?? new Journal(newStore(path, migrations), clock);
  const matcher = matcherFor(journal, terminal, clock, options);
  const supervisor = new Supervisor();
  const link = options.linkFor?.(journal) ?? supervisor.link;
  const { log, lines } = recordingLog();
  const hub = new EventHub(journal.events, clock, log);
  const tapped = hub.tap(log);
  const handOff = new HandOff(journal.handOffs, link, clock, tapped);
  const settings = {
    ...defaultSettings,
    repeatMustMatch: options.repeatMustMatch ?? defaultSettings.repeatMustMatch,
    paymentTimeoutMs: options.paymentTimeoutMs ?? defaultSettings.paymentTimeoutMs,
    confirmAfterMs: options.confirmAfterMs ?? defaultSettings.confirmAfterMs,
    terminalShared: options.isShared ?? defaultSettings.terminalShared,
  };
  const { resync } = journal;
  const probation = new Probation(options.dataDirectory ?? dirname(path), clock);
  const guard = new StoreGuard({
    journal,
    matcher,
    link,
    clock,
    log: tapped,
    isShared: options.isShared ?? false,
    onSupervisorLacks: options.onSupervisorLacks ?? (() => undefined),
  });
  const stores = { journal, matcher, guard };
  const shared = { ...stores, clock, log: tapped, settings };
  const settled = (): void => handOff.nudge();
  const arbiter = new TerminalArbiter({
    ...shared,
    terminal,
    announce: hub.announce,
    settled,
    probation,
    proof: journal.proof,
  });
  const orders = new Orders({ ...shared, arbiter, handOff });
  const listings = listingsOf(journal, arbiter);
  const afterSale = new AfterSale({ ...shared, arbiter, orders });
  const { upkeep } = arbiter;
  const refused = refusedHandOffs(journal.refused, handOff, clock, tapped);
  const closing = new ClosingKeeper(arbiter, journal, clock, tapped);
  const hours = new HourWatch({
    arbiter,
    days: journal.days,
    waiting: () => Promise.resolve(0),
    keptDays: 1,
    clock,
    log: tapped,
  });
  const settle = (decision: SettlementRequest) => settleByOperator({ orders, arbiter }, decision);
  const start = (): void => {
    arbiter.start();
    handOff.nudge();
  };
  let open = true;
  const close = (): void => {
    if (open) journal.close();
    open = false;
  };
  return {
    clock,
    journal,
    hub,
    terminal,
    supervisor,
    handOff,
    refused,
    guard,
    matcher,
    probation,
    resync,
    start,
    arbiter,
    orders,
    listings,
    afterSale,
    upkeep,
    closing,
    hours,
    settle,
    log,
    lines,
    path,
    close,
  };
}

export type House = ReturnType<typeof house>;

/** The terminal has shown a completed reversal as its last transaction before. */
export function storesReversals({ journal, terminal }: House): void {
  const { identity } = terminal.state;
  journal.learned.of({ setup: SETUP, identity }).saw("stores-reversals");
}

/** The newest alarms, the newest first, each with its finding where it has one. */
export function alarms({ hub }: House): string[] {
  return hub.source
    .alarms(20)
    .map(({ data }) => ("alarm" in data ? [data.alarm, data.finding ?? []].flat().join(" ") : ""));
}

export async function pay({ orders, clock }: House, order: PaymentRequest) {
  const answer = orders.pay(order).then(({ attempt, delivery, replayed }) => ({
    ...answerOf(attempt, delivery),
    replayed,
  }));
  answer.catch(() => undefined);
  await clock.advance(0);
  return answer;
}

export const outcome = ({ body }: { body: { status: string } }): string => body.status;
