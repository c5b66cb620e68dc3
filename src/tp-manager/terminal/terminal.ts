import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";

/**
 * The facts and news that every part of tp-manager may know about a card terminal. Reading them
 * puts nothing on the wire. Rooms other than the arbiter get them as the arbiter's `terminal`. A
 * driver reports facts (what left, what came, how it ended); `attempts/` alone decides what they
 * mean for the money.
 *
 * Amounts are integers in minor units. No card number crosses this border unmasked.
 */
export interface TerminalFacts {
  readonly protocol: string;
  readonly capabilities: TerminalCapabilities;
  /** The last known state. */
  readonly state: TerminalState;
  /** Calls `listener` for every event until the returned function is called. */
  subscribe(listener: (event: TerminalEvent) => void): () => void;
}

/** The calls that a piece of work may make while it has the terminal to itself. */
export interface HeldTerminal {
  /**
   * Runs one payment. The financial command leaves once (identical link-level repeats of the same
   * frame apart, docs/rules/03-repeats.md) and never again, whatever happens to the link.
   * Never rejects for anything that happens on the wire: that is a {@link PaymentEnd}.
   */
  pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd>;

  // A protocol may lack the members below; the API's calls that need them then answer 501.

  /** Asks the terminal to cancel the running payment. The payment's own end decides. */
  cancel?(): Promise<CancelAnswer>;

  /**
   * Says whether the goods came out, after a report was held (docs/design.md 5.12;
   * docs/zvt.md 8.1). The payment's own end follows. Throws when no report is held.
   */
  decideGoods?(decision: GoodsDecision): void;
  /** Reverses a stored sale by its receipt number and amount, with the rules of {@link pay}. */
  reverse?(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd>;
  /**
   * Restarts the terminal and waits until it is back and registered. Rejects with
   * {@link TerminalUnavailable} when it is not back before `signal` aborts, or refuses.
   */
  reset?(signal: AbortSignal): Promise<void>;
  /**
   * Runs the end of day. Asks for open pre-authorisations first. Never rejects for anything that
   * happens on the wire; what kept the command from leaving is an end too ("refused").
   */
  telecollect?(signal: AbortSignal): Promise<TelecollectionEnd>;
}

/** A whole driver. Only `arbiter/` calls one; the registry makes it, main.ts hands it on. */
export interface Terminal extends TerminalFacts, HeldTerminal {
  /** Begins to connect, for ever. Returns at once; a missing port is a state. */
  start(): void;
  /** Ends the link in order. No method may be called afterwards. */
  close(): Promise<void>;
  /**
   * Makes sure, before anything financial, that the terminal is there, registered, able to take
   * cards and idle; asks for its status when it has not answered for 10 s
   * (docs/rules/03-repeats.md). Returns the baseline for the write-ahead record
   * (docs/rules/01-baseline.md). Throws {@link TerminalUnavailable}: nothing financial has left.
   */
  prepare(signal: AbortSignal): Promise<Baseline>;
  /**
   * Asks for the terminal's last stored transaction once it is idle, reconnecting and registering
   * as needed (docs/zvt.md 9.2). Has no side effects. Rejects with {@link TerminalUnavailable} when
   * the terminal cannot be asked, "out-of-order" when it refuses the question because it is locked,
   * or with `signal.reason`.
   */
  lastTransaction(signal: AbortSignal): Promise<LastTransaction>;
  /** Asks for the terminal's status, no side effects. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): Promise<TerminalStatus>;
  /**
   * While `keep` is true the driver does nothing of its own accord that could change what the
   * terminal has stored, because recovery still has to read it (docs/rules/05-evidence.md). Absent
   * in a driver that never does.
   */
  keepEvidence?(keep: boolean): void;
  /**
   * Present where a terminal cannot be asked for a result, but may report it at any time: while
   * nothing runs, after a restart, and before the running payment has reached it. `take` must
   * commit the result before it returns true; after false the driver does not acknowledge the
   * result on the wire (docs/rules/25-one-way.md).
   */
  takeLateResults?(take: (result: OneWayResult) => boolean): void;
  /** The end of the payment is on disk: results that waited for it are passed to `take` now. */
  endWritten?(): void;
}

/** The outcome for the goods of a held sale. */
export type GoodsDecision =
  | { readonly goods: "issued" }
  /** Only goods of this value came out. */
  | { readonly goods: "partly-issued"; readonly amountMinor: number }
  | { readonly goods: "not-issued" };

/** The sale to reverse, as the terminal reported it. */
export interface ReversalOrder extends PaymentOrder {
  readonly receiptNumber: string;
}

/** How an end of day ended. */
export type TelecollectionEnd =
  | {
      readonly end: "completed";
      readonly applications: readonly TelecollectedApplication[];
      /** Missing when the terminal reported none, and in records of older versions. */
      readonly totals?: ClosingTotals;
      readonly ticket: string;
    }
  /** Nothing was sent, or the terminal refused; nothing was closed. */
  | { readonly end: "refused"; readonly code: string; readonly text: string }
  /** Nothing was closed: these must be booked or reversed first. */
  | { readonly end: "open-pre-authorisations"; readonly receiptNumbers: readonly string[] }
  /** The terminal said that it did not work, or its end was not heard. */
  | { readonly end: "failed" | "lost"; readonly code: string; readonly text: string };

/**
 * The sums that an end of day closed, over all cards (docs/rules/18-totals.md). Receipt numbers
 * have four digits; null: nothing was closed, or the terminal does not name its range.
 */
export interface ClosingTotals {
  readonly receiptFrom: string | null;
  readonly receiptTo: string | null;
  /** null: a count was larger than its field can hold. */
  readonly count: number | null;
  /** null: the terminal reported two sums that differ. */
  readonly sumMinor: number | null;
}

export interface TelecollectedApplication {
  /** The card scheme. */
  readonly name: string;
  /** "0" is good. */
  readonly status: string;
  readonly count: number;
  readonly sumMinor: number;
}

export interface TerminalCapabilities {
  /**
   * The terminal's own time limit for a payment it was left alone with, milliseconds (zvt T4),
   * without the window for goods of an order that has one.
   */
  readonly paymentLimitMs: number;
  /** Whether the last transaction can be asked for, so that a lost payment can be recovered. */
  readonly lastTransaction: boolean;
  /** Absent: a good result can be refused on the wire, and the terminal then takes it back. */
  readonly cannotRefuse?: true;
  /** Absent: the terminal names itself. Present: every member of its identity is empty. */
  readonly noIdentity?: true;
  /**
   * Present: the results of all payments come on one line, so that one which names no payment can
   * be that of an earlier payment (docs/rules/25-one-way.md).
   */
  readonly sharesLine?: true;
  /** Present: by its settings no result names its payment. Absent: the results show whether. */
  readonly namesNoPayment?: true;
  /** A sale is final only when its print was acknowledged too (docs/zvt.md 9.1); absent: no. */
  readonly printsCount?: boolean;
  /** The terminal waits for goods (ZVT registration status bit 10); false until it has said so. */
  readonly vending: boolean;
  /** A part of the amount can be charged when only a part of the goods came out. */
  readonly partialIssue: boolean;
}

export type LinkState = "disconnected" | "connecting" | "registering" | "connected";

export interface TerminalState {
  readonly link: LinkState;
  /** Why the link is not up, in words for an operator; null when it is. */
  readonly linkProblem: string | null;
  readonly identity: TerminalIdentity;
  /** null until the terminal has answered a status question on this link. */
  readonly status: TerminalStatus | null;
  /** A command is running on the wire. */
  readonly busy: boolean;
  /** Jobs that the terminal wants done now, as in the event "demand"; empty without a link. */
  readonly demands: readonly string[];
}

/** Empty strings where the terminal does not name a member. */
export interface TerminalIdentity {
  readonly serialNumber: string;
  readonly deviceId: string;
  readonly terminalId: string;
  readonly version: string;
}

/** The digits of `/check` (docs/design.md 5.16), and the terminal's own text. */
export interface TerminalStatus {
  /** 0 ready, 1 busy, 2 locked or action needed, 9 no link. */
  readonly cr: "0" | "1" | "2" | "9";
  /** 0 none, 1 in the reader. */
  readonly card: "0" | "1";
  /** 0 none due, 1 host call, initialisation, diagnosis or end of day due. */
  readonly call: "0" | "1";
  /** 0 good, 1 reader, 2 printer, 3 other fault. */
  readonly periph: "0" | "1" | "2" | "3";
  /** For logs and support: codes and texts of the protocol. */
  readonly detail: string;
}

/** docs/rules/01-baseline.md: what the terminal looked like before the payment. JSON-safe. */
export interface Baseline {
  readonly identity: TerminalIdentity;
  /** The terminal's last transaction before ours; see {@link LastTransaction}. */
  readonly last: LastTransaction;
  /** Terminal clock minus ours in milliseconds; null when the terminal does not send its time. */
  readonly clockOffsetMs: number | null;
}

export interface PaymentOrder {
  /** Ten characters that name this attempt, for terminals that send such a reference back. */
  readonly reference?: string;
  readonly amountMinor: number;
  /** ISO 4217 numeric, three digits. */
  readonly currencyNumeric: string;
  /** ISO 4217 alpha. */
  readonly currencyAlpha: string;
  /** Digits after the decimal point. */
  readonly exponent: number;
  /**
   * Asked in the moment in which the command leaves, by a driver that has a use for it. true:
   * nothing else is unsettled, and the last transaction that {@link Terminal.prepare} has read is
   * the last one that the caller knows: whatever more the terminal has was missed
   * (docs/rules/13-receipt.md).
   */
  readonly inSync?: () => boolean;
  /** Present in a two-phase sale: how long the terminal has to wait for the goods. */
  readonly goodsWindowSeconds?: number;
}

/** Called while a payment runs. */
export interface PaymentObserver {
  /**
   * The terminal reports a result. Must commit it before returning; the driver acknowledges on the
   * wire only after "accept" (in ZVT that acknowledgement commits the sale). "refuse", or a throw,
   * makes the driver refuse it on the wire so that the terminal reverses. "hold" leaves it open
   * until {@link Terminal.decideGoods}; only for an order with a goods window.
   */
  report(report: TransactionReport): "accept" | "refuse" | "hold";
  /**
   * false: the result names another attempt of ours by its reference, or can be that of another
   * one, so it is not taken for this payment's. A throw: the journal cannot be read, and the result
   * must not be acknowledged. For drivers with {@link Terminal.takeLateResults}, which ask before
   * they report.
   */
  concerns?(result: OneWayResult): boolean;
  /** Our acknowledgement of the last report has provably arrived: the terminal went on. */
  acknowledged(): void;
  prompt(prompt: Prompt): void;
}

export interface Prompt {
  /** The protocol's code, in hex for ZVT. */
  readonly code: string;
  readonly text: string;
  /** ISO 639-1, or "" when the text came from the terminal. */
  readonly language: string;
  /** The code's meaning in each language of this program; null: none is known. */
  readonly texts: Readonly<Record<"en" | "fr" | "de", string>> | null;
}

/** How a payment ended on the wire. `code` is the protocol's own, `text` is for people. */
export type PaymentEnd =
  /** Nothing of the command left this process. */
  | { readonly end: "not-sent"; readonly code: string; readonly text: string }
  /** Cancelled before anything of the command left, and it never will. */
  | { readonly end: "withdrawn"; readonly text: string }
  /** The terminal refused the command at once and has shown that it does not run. */
  | {
      readonly end: "refused";
      readonly code: string;
      readonly text: string;
      /** "busy": not now, another time. */
      readonly reason?: AbortReason | "busy";
    }
  /** The terminal said the command is over and good. */
  | { readonly end: "completed"; readonly ticket: string }
  /** The terminal said the command is over and was not carried out. */
  | {
      readonly end: "aborted";
      readonly code: string;
      readonly text: string;
      readonly reason: AbortReason;
      readonly advice?: DeclineAdvice;
      readonly ticket: string;
    }
  /** No end was heard: line broken, time-out, protocol broken. */
  | { readonly end: "lost"; readonly code: string; readonly text: string; readonly ticket: string };

/** The meaning of a not-good result or an abort to the customer. */
export type AbortReason =
  | "declined"
  | "cancelled"
  | "customer-timeout"
  | "terminal-fault"
  /** The terminal does not take the currency that was asked for. */
  | "wrong-currency"
  /** Of a reversal: the sale had been reversed before. */
  | "already-reversed";

/** Advice for a customer who was turned away. */
export interface DeclineAdvice {
  /** The code of the bank's host; null when the terminal decided by itself. */
  readonly hostCode: string | null;
  readonly tryAgain: "same-card" | "other-card" | "no";
}

/** One result as the terminal reported it. JSON-safe, masked. null: the terminal did not say. */
export interface TransactionReport {
  /** Result code present and good, and no contrary code of the host (docs/zvt.md 6.2, 11.4). */
  readonly good: boolean;
  /** The protocol's result code as text ("00", "6C"); null when missing. */
  readonly resultCode: string | null;
  readonly resultText: string;
  readonly reason: AbortReason | null;
  /** On a result that is not good. */
  readonly advice?: DeclineAdvice;
  readonly amountMinor: number | null;
  readonly currencyNumeric: string | null;
  readonly receiptNumber: string | null;
  readonly traceNumber: string | null;
  /** Present on a reversal: the trace of the reversed transaction. */
  readonly originalTrace: string | null;
  readonly terminalId: string | null;
  /** Terminal's local date MMDD and time HHMMSS. */
  readonly localDate: string | null;
  readonly localTime: string | null;
  readonly maskedPan: string | null;
  readonly authorisationNumber: string | null;
  readonly cardName: string | null;
  /** The text that came back where the order's reference was sent; absent or null: none did. */
  readonly reference?: string | null;
  /** Members besides amount and currency that came back otherwise than they were sent. */
  readonly differs?: readonly string[];
  /** Members, or an earlier result, because of which it is no approval of what was asked. */
  readonly contradicts?: readonly string[];
  /** Our register number came back; missing: none did, or another. */
  readonly isOurRegister?: true;
  readonly receipt: Receipt;
  /** A printable ticket made from the fields alone, for terminals that print nothing. */
  readonly fallbackTicket: string;
}

/** A report in which nothing is known. */
export function emptyReport(): TransactionReport {
  return {
    good: false,
    resultCode: null,
    resultText: "",
    reason: null,
    amountMinor: null,
    currencyNumeric: null,
    receiptNumber: null,
    traceNumber: null,
    originalTrace: null,
    terminalId: null,
    localDate: null,
    localTime: null,
    maskedPan: null,
    authorisationNumber: null,
    cardName: null,
    receipt: emptyReceipt(),
    fallbackTicket: "",
  };
}

/** A result of a one-way terminal, as it came (docs/rules/25-one-way.md). */
export interface OneWayResult {
  readonly report: TransactionReport;
  /** The running payment's request had not reached the terminal yet. */
  readonly isEarly: boolean;
  /** Byte for byte the last result that was stored; undefined: none was since the start. */
  readonly isAgain: boolean | undefined;
  /** The reference of the payment during which it came and could not be stored. */
  readonly cameFor?: string | undefined;
}

export type LastTransaction =
  /** The terminal has stored none. */
  | { readonly kind: "none" }
  | {
      readonly kind: "transaction";
      readonly report: TransactionReport;
      /** Other transactions that the terminal sent before it in the same answer. */
      readonly also?: readonly TransactionReport[];
    }
  /** The terminal answered, but named no transaction (docs/zvt.md 9.2 step 5). */
  | {
      readonly kind: "not-told";
      readonly why: string;
      /** The question was turned away, not completed without an answer. */
      readonly refused?: true;
    };

export type CancelAnswer =
  /** The terminal took the request; the payment's own end decides. */
  | { readonly answer: "taken" }
  /** The terminal refused: too late, or it does not know the command. */
  | { readonly answer: "refused"; readonly code: string; readonly text: string }
  | { readonly answer: "nothing-running" }
  /** No answer on the wire. */
  | { readonly answer: "no-answer"; readonly text: string };

export type TerminalEvent =
  | { readonly type: "link"; readonly link: LinkState; readonly problem: string | null }
  | { readonly type: "status"; readonly status: TerminalStatus }
  | { readonly type: "identity"; readonly identity: TerminalIdentity }
  /** The terminal demands a job, "end-of-day" for example; reported once until the job is done. */
  | { readonly type: "demand"; readonly demand: string }
  /** The driver met a demand by itself; `problem` says why it could not. */
  | { readonly type: "housekeeping"; readonly job: string; readonly problem: string | null }
  /** Came with no payment running: refused on the wire, and of no order for certain. */
  | { readonly type: "unmatched-report"; readonly report: TransactionReport }
  | { readonly type: "protocol"; readonly text: string };

export type UnavailableReason =
  | "disconnected"
  | "not-registered"
  | "no-answer"
  | "busy"
  | "out-of-order"
  | "closed";

/** The terminal cannot be used now; nothing financial has left. */
export class TerminalUnavailable extends Error {
  override readonly name = "TerminalUnavailable";
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
