import { type Clock, sleep, unlessAborted } from "../../shared/time.ts";
import { type CardName, maskedPan, testCards } from "./bank/cards.ts";
import { authorisationNumber, type Ledger, type LedgerKind, type Outcome } from "./bank/ledger.ts";
import { type CardAction, Cardholder, type CustomerAction, type Wanted } from "./cardholder.ts";
import type { FaultBox, PointFault } from "./faults/fault-box.ts";
import type { Memory, StoredTransaction, TransactionKind } from "./memory/memory.ts";
import type { PaymentScript, TerminalOptions } from "./options.ts";
import { Screen } from "./screen.ts";

/** The error that ends a command without another message: the power failed, or a fault struck. */
export class ProcessOver extends Error {
  override readonly name = "ProcessOver";
}

/** The simulator that has these parts: an interface, because its class imports this file. */
export interface Host<O extends TerminalOptions = TerminalOptions> {
  readonly options: O;
  readonly memory: Memory;
  readonly ledger: Ledger;
  readonly faults: FaultBox;
  /** Takes all lines away for `awayMs` milliseconds, as if their cables were unplugged. */
  unplug(awayMs: number): Promise<void>;
  /** Restarts the terminal, which ends the running command and takes the lines away for a while. */
  reboot(): void;
}

interface CustomerWait {
  readonly wanted: Wanted;
  /** How long the terminal waits for the customer, in milliseconds; null: without end. */
  readonly waitMs: number | null;
  readonly signal: AbortSignal;
  readonly outcome?: Outcome;
  readonly script?: PaymentScript;
}

/** The state and the functions that a terminal's commands use in every protocol. */
export class TerminalParts<O extends TerminalOptions = TerminalOptions> {
  readonly options: O;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly ledger: Ledger;
  readonly faults: FaultBox;
  readonly customer: Cardholder;
  readonly screen: Screen;
  /** Whether the control API has put the terminal out of order, so that it accepts no cards. */
  outOfOrder = false;
  /** Whether the control API has opened the terminal's menu, so that no register is served. */
  busy = false;
  /** Whether the control API has taken the paper away, so that payments are refused. */
  paperOut = false;
  /** Whether the control API has replaced the terminal by another one of the same kind. */
  swapped = false;
  /** Called when the terminal's clock or the time of its daily restart has been changed. */
  onSchedule: () => void = () => {};
  /** Whether the fault `hold` or `mute` has struck and lasts. */
  isHeld = false;
  /** Ends the fault `hold` or `mute` that has struck. */
  release: () => void = () => {};
  /** Called at every moment that a command reaches, for the trace. */
  onPhase: (line: string) => void = () => {};
  #clockOffsetMs: number;
  #restartAt: string | null;
  readonly host: Host<O>;
  readonly #payments: PaymentScript[];
  #muteUntilMs = 0;

  constructor(host: Host<O>) {
    this.host = host;
    this.options = host.options;
    this.clock = host.options.clock;
    this.memory = host.memory;
    this.ledger = host.ledger;
    this.faults = host.faults;
    this.customer = new Cardholder(host.options.behaviour.customer);
    this.screen = new Screen(host.options.clock);
    this.#clockOffsetMs = host.options.device.clockOffsetMs;
    this.#restartAt = host.options.behaviour.restartAt;
    this.#payments = [...host.options.payments];
  }

  get device(): O["device"] {
    const { device } = this.options;
    const { serialNumber: own } = device;
    // A swapped terminal's serial number keeps its length, because devices send whole bytes.
    const other = `${own.slice(0, -1)}${(Number(own.slice(-1)) + 1) % 10}`;
    return this.swapped ? { ...device, serialNumber: other } : device;
  }

  get now(): Date {
    return new Date(this.clock.now() + this.#clockOffsetMs);
  }

  set now(wanted: Date) {
    this.#clockOffsetMs = wanted.getTime() - this.clock.now();
    this.onSchedule();
  }

  /** The time HH:MM on the terminal's clock at which it restarts daily; null: no daily restart. */
  get restartAt(): string | null {
    return this.#restartAt;
  }

  set restartAt(at: string | null) {
    this.#restartAt = at;
    this.onSchedule();
  }

  /** The time of the next restart on the terminal's clock; undefined: no restart. */
  get nextRestart(): Date | undefined {
    const [now, at] = [this.now, this.#restartAt];
    if (at === null) return undefined;
    const next = new Date(now);
    next.setHours(Number(at.slice(0, 2)), Number(at.slice(3, 5)), 0, 0);
    if (next <= now) next.setDate(next.getDate() + 1);
    return next;
  }

  /** Returns what is to happen in the next payment, and arms the faults of that payment. */
  nextPayment(): PaymentScript {
    const script = this.#payments.shift() ?? {};
    for (const fault of script.faults ?? []) this.faults.arm(fault);
    return script;
  }

  /** Resolves with the customer's action; `time-out`: the customer did nothing in time. */
  async customerAction(wait: CustomerWait): Promise<CustomerAction> {
    const { wanted, waitMs, signal, outcome, script = {} } = wait;
    const { clock, customer } = this;
    const { pace } = this.options;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const byHand = customer.wait(wanted, either);
    const timeOut = async (limitMs: number): Promise<CustomerAction> => {
      await sleep(clock, "card wait", Math.min(limitMs, waitMs ?? limitMs), either);
      return { action: "time-out" };
    };
    const itself = async (): Promise<CustomerAction> => {
      if (customer.plays === "manual") return await (waitMs === null ? byHand : timeOut(waitMs));
      if (outcome === "customer-timeout") return await timeOut(pace.walkAwayMs);
      const delayMs = script.customerMs ?? pace.customerMs;
      if (waitMs !== null && delayMs >= waitMs) return await timeOut(waitMs);
      if (delayMs > 0) await sleep(clock, "customer", delayMs, either);
      return byThemselves[wanted];
    };
    try {
      return await Promise.race([byHand, itself()]);
    } finally {
      over.abort();
    }
  }

  /** Carries out a fault that strikes at a moment of a command; `signal` ends its waiting. */
  async strike(fault: PointFault, signal: AbortSignal): Promise<void> {
    const delayMs = Number(fault.arguments["ms"] ?? 0);
    switch (fault.name) {
      case "hold":
        return await this.#wait("fault hold", delayMs, signal);
      case "mute":
        this.faults.muted = true;
        this.#muteUntilMs = this.clock.monotonicMs() + delayMs;
        if (fault.arguments["at"] === "command" && fault.arguments["run"] === "no") {
          throw new ProcessOver("silent before the answer");
        }
        return;
      case "unplug":
        return await this.host.unplug(delayMs);
      case "reboot":
        return this.host.reboot();
    }
  }

  /** Ends fault `mute` when command and `ms` are over; at once if `signal` says it was killed. */
  async endSilence(signal: AbortSignal): Promise<void> {
    const leftMs = this.#muteUntilMs - this.clock.monotonicMs();
    if (this.faults.muted && leftMs > 0) {
      await this.#wait("fault mute", leftMs, signal).catch(() => undefined);
    }
    this.faults.muted = false;
  }

  /** Waits `limitMs`, or without limit if that is 0, unless the fault is ended before. */
  async #wait(name: string, limitMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.release = resolve;
    this.isHeld = true;
    const timer = limitMs > 0 ? this.clock.startTimer(name, limitMs, resolve) : undefined;
    try {
      await unlessAborted(promise, signal);
    } finally {
      timer?.clear();
      this.isHeld = false;
    }
  }
}

/** The customer's actions while the simulator, not a person, plays the customer. */
const byThemselves: Readonly<Record<Wanted, CustomerAction>> = {
  card: { action: "insert" },
  key: { action: "key", key: "ok" },
  "key-or-card": { action: "key", key: "ok" },
  digits: { action: "digits", digits: "1234567890" },
};

/** The PIN that is wrong for every simulated card. */
const WRONG = "0000";

/** The result of one PIN entry. */
export type Entered = "right" | "wrong" | "cancelled" | "timed-out";

type PinPad = (waitMs: number, signal: AbortSignal) => Promise<Entered>;

export interface CardPin {
  readonly pad: PinPad;
  readonly first: Entered;
}

/** Returns the pad that asks the customer for the PIN of one card. */
export function pinPad(parts: TerminalParts, { pin }: CardAction): PinPad {
  let asked = 0;
  return async (waitMs, signal) => {
    asked += 1;
    if (pin === "wrong-first") return asked === 1 ? "wrong" : "right";
    if (pin !== "asked") return "right";
    parts.screen.show("pin");
    for (;;) {
      const action = await parts.customerAction({ wanted: "digits", waitMs, signal });
      if (action.action === "time-out") return "timed-out";
      if (action.action === "digits") return action.digits === WRONG ? "wrong" : "right";
      // The green key without digits is ignored: only digits or the stop key end a PIN entry.
      if (action.action !== "key" || action.key === "stop") return "cancelled";
    }
  };
}

export const PIN_TRIES_MAX = 3;
/** The bank's ISO 8583 response code after too many wrong PINs. */
export const PIN_TRIES_OVER = 75;

/** A movement of money that the bank has approved, before it is entered into the ledger. */
export interface Booking {
  readonly kind: TransactionKind;
  readonly order: Pick<StoredTransaction, "amountMinor" | "currency" | "currencyTold">;
  readonly card: CardName;
  /** The trace number; missing: the next one. */
  readonly trace?: number;
  /** The transaction that a reversal takes back, or the reservation that a booking charges. */
  readonly original?: StoredTransaction;
  /** The authorisation number that the bank gave by telephone; missing: the bank makes one. */
  readonly authorisation?: string;
  /** Returns the terminal's name of the transaction for its trace number; missing: it has none. */
  readonly nameOf?: (trace: number) => string;
  /** Whether a tip may be booked later on this transaction (docs/zvt.md 6.3). */
  readonly tipAllowed?: boolean;
}

/** The movement at the bank for each kind of transaction; a reservation's reversal: `release`. */
const ledgerKinds: Readonly<Record<TransactionKind, LedgerKind>> = {
  payment: "charge",
  reversal: "reversal",
  refund: "refund",
  reservation: "reservation",
  booking: "charge",
};
const reasons = { reversal: "asked", booking: "booking" } as const;

/**
 * Enters a movement into the ledger and returns the terminal's record. `final`: the movement stands
 * even if the register does not answer. `isStored`: the terminal stores the record.
 */
export function book(
  { ledger, memory, now }: TerminalParts,
  booking: Booking,
  { final, isStored }: { readonly final: boolean; readonly isStored: boolean },
): StoredTransaction {
  const { kind, order, card, original } = booking;
  const receiptNumber = memory.nextReceiptNumber;
  const isReversal = kind === "reversal";
  const isRelease = isReversal && original?.kind === "reservation";
  return memory.together(() => {
    const trace = booking.trace ?? memory.takeTrace();
    const authorisation = booking.authorisation ?? authorisationNumber(trace);
    const { id } = ledger.enter({
      ...(booking.nameOf && { transactionId: booking.nameOf(trace) }),
      kind: isRelease ? "release" : ledgerKinds[kind],
      amountMinor: order.amountMinor,
      currency: order.currency,
      receiptNumber,
      trace,
      maskedPan: maskedPan(testCards[card]),
      authorisationNumber: authorisation,
      responseCode: "00",
      final,
      originalId: isReversal && original ? original.ledgerId : null,
      reason: isReversal || kind === "booking" ? reasons[kind] : null,
    });
    const transaction: StoredTransaction = {
      ...order,
      receiptNumber,
      trace,
      kind,
      card,
      authorisation,
      atMs: now.getTime(),
      ledgerId: id,
      originalTrace: original?.trace ?? null,
      state: "stored",
      closed: false,
      ...(booking.tipAllowed ? { tipAllowed: true } : {}),
    };
    if (isStored) memory.store(transaction);
    return transaction;
  });
}
