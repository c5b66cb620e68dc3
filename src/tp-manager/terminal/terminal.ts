import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";

/**
 * What every part of tp-manager may know about the card terminal; reading it puts nothing on the
 * wire. Rooms other than the arbiter get these members as the arbiter's `terminal`. A driver
 * reports facts (what left, what came, how it ended); `attempts/` alone decides what they mean for
 * the money. Amounts are integers in minor units. No card number crosses this border unmasked.
 */
export interface TerminalFacts {
  readonly protocol: string;
  readonly capabilities: TerminalCapabilities;
  readonly state: TerminalState;
  /** Calls `listener` for every event until the returned function is called. */
  subscribe(listener: (event: TerminalEvent) => void): () => void;
}

/** The driver's calls for the task that has the lease of the terminal. */
export interface HeldTerminal {
  /**
   * Runs one payment. The financial command leaves once and never again, whatever happens to the
   * link; only the link layer may repeat its frame (docs/rules/03-repeats.md). Whatever happens on
   * the wire is a {@link PaymentEnd} and no rejection.
   */
  pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd>;

  // API calls that need an optional member below answer 501 where the driver lacks the member.

  /** Asks the terminal to cancel the running payment. Only the payment's outcome decides. */
  cancel?(): Promise<CancelAnswer>;

  /**
   * Answers a report that was held by what became of the goods (docs/design.md 5.12;
   * docs/zvt.md 8.1). The payment's own end follows. Throws when no report is held.
   */
  decideGoods?(decision: GoodsDecision): void;
  /** Reverses a stored sale by its receipt number and amount. Leaves once, as {@link pay}. */
  reverse?(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd>;
  /**
   * Restarts the terminal and waits until it is back and registered. Rejects with
   * {@link TerminalUnavailable} when it is not back before `signal` aborts, or refuses.
   */
  reset?(signal: AbortSignal): Promise<void>;
  /**
   * Asks for open pre-authorisations, then runs the end of day. Whatever happens on the wire is an
   * end and no rejection; what kept the command from leaving is the end "refused".
   */
  telecollect?(signal: AbortSignal): Promise<TelecollectionEnd>;
}

/** A whole driver. The registry makes it, main.ts passes it on, and only `arbiter/` calls it. */
export interface Terminal extends TerminalFacts, HeldTerminal {
  /** Begins to connect, again and again for ever. Returns at once; a missing port is a state. */
  start(): void;
  /** Ends the link. No method may be called afterwards. */
  close(): Promise<void>;
  /**
   * Returns the baseline for the write-ahead record (docs/rules/01-baseline.md) of a terminal that
   * is connected, registered, able to take cards and idle; asks for its status when it has not
   * answered for 10 s (docs/rules/03-repeats.md). Throws {@link TerminalUnavailable}; no financial
   * command has left then.
   */
  prepare(signal: AbortSignal): Promise<Baseline>;
  /**
   * Returns the last transaction that the idle terminal has stored, after a new connection and
   * registration where these are needed (docs/zvt.md 9.2). Changes nothing at the terminal. Rejects
   * with `signal.reason`, or with {@link TerminalUnavailable} when the terminal cannot be asked;
   * "out-of-order": it refuses the question because it is locked.
   */
  lastTransaction(signal: AbortSignal): Promise<LastTransaction>;
  /** Asks for the terminal's status. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): Promise<TerminalStatus>;
  /**
   * Called with true while recovery still has to read what the terminal has stored: the driver does
   * nothing of its own accord then that could change it (docs/rules/05-evidence.md). Absent in a
   * driver that does nothing of its own accord.
   */
  keepEvidence?(keep: boolean): void;
  /**
   * Present where a terminal cannot be asked for a result, but may report a late one at any time.
   * `take` commits the result and returns true; after false the driver does not acknowledge the
   * result on the wire (docs/rules/25-one-way.md).
   */
  takeLateResults?(take: (result: OneWayResult) => boolean): void;
  /** Called when the payment's outcome is on disk: waiting results are passed to `take` now. */
  endWritten?(): void;
}

/** What became of the goods of a sale whose report is held. */
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
      /** Missing when the terminal sent no totals, and in records of older versions. */
      readonly totals?: ClosingTotals;
      readonly ticket: string;
    }
  /** The end of day was not sent, or the terminal refused the command; nothing was closed. */
  | { readonly end: "refused"; readonly code: string; readonly text: string }
  /** Nothing was closed: these pre-authorisations must be booked or reversed first. */
  | { readonly end: "open-pre-authorisations"; readonly receiptNumbers: readonly string[] }
  /** "failed": the terminal reported a fault. "lost": the end of the command was not heard. */
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
  /** The terminal itself ends a payment after this time (ZVT: T4) and any window for goods; ms. */
  readonly paymentLimitMs: number;
  /** Whether the terminal can be asked for its last transaction, to recover a lost payment. */
  readonly lastTransaction: boolean;
  /** Present when a good result cannot be refused on the wire to make the terminal reverse it. */
  readonly cannotRefuse?: true;
  /** Present when the terminal sends no identity, so that every member of its identity is empty. */
  readonly noIdentity?: true;
  /**
   * Present: the results of all payments come on one line, so a result without a reference can be
   * that of an earlier payment (docs/rules/25-one-way.md).
   */
  readonly sharesLine?: true;
  /** Present when, by the settings, no result carries an order's reference. */
  readonly namesNoPayment?: true;
  /** Whether a sale is final only after its print is acknowledged as well (docs/zvt.md 9.1). */
  readonly printsCount?: boolean;
  /** Whether the terminal said that it waits for goods (ZVT registration status, bit 10). */
  readonly vending: boolean;
  /** Whether a part of the amount can be charged when only a part of the goods came out. */
  readonly partialIssue: boolean;
}

export type LinkState = "disconnected" | "connecting" | "registering" | "connected";

export interface TerminalState {
  readonly link: LinkState;
  /** Why the link to the terminal is not up, for an operator; null when the link is up. */
  readonly linkProblem: string | null;
  readonly identity: TerminalIdentity;
  /** null until the terminal has answered a status question on this link. */
  readonly status: TerminalStatus | null;
  /** Whether a command is running on the wire. */
  readonly busy: boolean;
  /** Maintenance that the terminal requests (such as an end of day); empty without a link. */
  readonly demands: readonly string[];
}

/** How the terminal names itself; a member that the terminal does not send is "". */
export interface TerminalIdentity {
  readonly serialNumber: string;
  readonly deviceId: string;
  readonly terminalId: string;
  readonly version: string;
}

/** The identity of a terminal that sends none: every member is empty. */
export const noIdentity: TerminalIdentity = {
  serialNumber: "",
  deviceId: "",
  terminalId: "",
  version: "",
};

/** The digits of `/check` (docs/design.md 5.16), and the terminal's own text. */
export interface TerminalStatus {
  /** 0 ready, 1 busy, 2 locked or action needed, 9 no link. */
  readonly cr: "0" | "1" | "2" | "9";
  /** Card: 0 no card, 1 a card is in the reader. */
  readonly card: "0" | "1";
  /** Maintenance: 0 none due, 1 host call, initialisation, diagnosis or end of day due. */
  readonly call: "0" | "1";
  /** 0 good, 1 reader, 2 printer, 3 other fault. */
  readonly periph: "0" | "1" | "2" | "3";
  /** Status codes and texts of the protocol, for logs and support. */
  readonly detail: string;
}

/** The state of the terminal before the payment (docs/rules/01-baseline.md). JSON-safe. */
export interface Baseline {
  readonly identity: TerminalIdentity;
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
  readonly currencyAlpha: string;
  /** Digits after the decimal point. */
  readonly exponent: number;
  /**
   * A driver may ask it in the moment in which the command leaves. true: nothing else is unsettled,
   * and the last transaction that {@link Terminal.prepare} has read is the last one that the caller
   * knows, so a later one of the terminal was missed (docs/rules/13-receipt.md).
   */
  readonly inSync?: () => boolean;
  /** Present in a two-phase sale: how long the terminal waits for the goods. */
  readonly goodsWindowSeconds?: number;
}

/** Takes what the driver reports while a payment runs. */
export interface PaymentObserver {
  /**
   * Commits a result that the terminal reports, before it returns. After "accept" the driver
   * acknowledges the result on the wire, which in ZVT commits the sale. After "refuse" or a throw
   * it refuses the result, so that the terminal reverses. "hold", only for an order with a window
   * for goods, leaves the result unanswered until {@link Terminal.decideGoods}.
   */
  report(report: TransactionReport): "accept" | "refuse" | "hold";
  /**
   * Returns whether a result is this payment's; false where it may be that of another attempt.
   * Drivers with {@link Terminal.takeLateResults} ask it before they report. Throws when the
   * journal cannot be read; the driver does not acknowledge the result then.
   */
  concerns?(result: OneWayResult): boolean;
  /** Called when a message proves that our acknowledgement of the last report arrived. */
  acknowledged(): void;
  prompt(prompt: Prompt): void;
}

export interface Prompt {
  /** The protocol's code, in hex for ZVT. */
  readonly code: string;
  readonly text: string;
  /** The language of the text (ISO 639-1); "" when the text came from the terminal. */
  readonly language: string;
  /** The code's meaning in each language of this program; null: none is known. */
  readonly texts: Readonly<Record<"en" | "fr" | "de", string>> | null;
}

/** How a payment ended on the wire. `code` is that of the protocol, `text` is for people. */
export type PaymentEnd =
  /** No byte of the payment command was sent. */
  | { readonly end: "not-sent"; readonly code: string; readonly text: string }
  /** The payment was cancelled before a byte of the command was sent; the command is never sent. */
  | { readonly end: "withdrawn"; readonly text: string }
  /** The terminal refused the command at once and has shown that it does not run. */
  | {
      readonly end: "refused";
      readonly code: string;
      readonly text: string;
      /** "busy": the terminal would take the command at another time. */
      readonly reason?: AbortReason | "busy";
    }
  /** The terminal said that the command is completed. */
  | { readonly end: "completed"; readonly ticket: string }
  /** The terminal said that the command has ended and was not carried out. */
  | {
      readonly end: "aborted";
      readonly code: string;
      readonly text: string;
      readonly reason: AbortReason;
      readonly advice?: DeclineAdvice;
      readonly ticket: string;
    }
  /** The outcome is unknown: the line or the protocol failed, or the time ran out. */
  | { readonly end: "lost"; readonly code: string; readonly text: string; readonly ticket: string };

/** What a bad result or an abort means to the customer. */
export const abortReasons = [
  "declined",
  "cancelled",
  "customer-timeout",
  "terminal-fault",
  /** The terminal does not take the currency that was asked for. */
  "wrong-currency",
  /** A reversal was refused because the sale had been reversed before. */
  "already-reversed",
] as const;
export type AbortReason = (typeof abortReasons)[number];

/** Advice for a customer who was turned away. */
export interface DeclineAdvice {
  /** The code of the bank's host; null when the terminal decided by itself. */
  readonly hostCode: string | null;
  readonly tryAgain: "same-card" | "other-card" | "no";
}

/** A result as the terminal reported it, masked. null: the terminal left it out. JSON-safe. */
export interface TransactionReport {
  /** The result code is good, and no code of the host contradicts (docs/zvt.md 6.2, 11.4). */
  readonly good: boolean;
  /** The protocol's result code as text ("00", "6C"); null when missing. */
  readonly resultCode: string | null;
  readonly resultText: string;
  readonly reason: AbortReason | null;
  /** Advice for the customer, on a result that is not good. */
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
  /** The text in the field of the order's reference; absent or null when none came back. */
  readonly reference?: string | null;
  /** Members, except amount and currency, whose values came back changed. */
  readonly differs?: readonly string[];
  /** Members, or an earlier result, that show that the result approves no payment of ours. */
  readonly contradicts?: readonly string[];
  /** Present when our register number came back. */
  readonly isOurRegister?: true;
  readonly receipt: Receipt;
  /** A printable ticket made from the other fields (see fallback-ticket.ts). */
  readonly fallbackTicket: string;
}

/** Returns a report whose fields are all unknown. */
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

/** A result of a one-way terminal (docs/rules/25-one-way.md). */
export interface OneWayResult {
  readonly report: TransactionReport;
  /** It came before the running payment's request had reached the terminal. */
  readonly isEarly: boolean;
  /** It equals the last stored result byte for byte; undefined: none was stored since the start. */
  readonly isAgain: boolean | undefined;
  /** Present where it could not be stored as it came: the reference of the payment of that time. */
  readonly cameFor?: string | undefined;
}

export type LastTransaction =
  /** The terminal has stored none. */
  | { readonly kind: "none" }
  | {
      readonly kind: "transaction";
      readonly report: TransactionReport;
      /** Other transactions that the terminal sent before this one in the same answer. */
      readonly also?: readonly TransactionReport[];
    }
  /** The terminal answered, but named no transaction (docs/zvt.md 9.2 step 5). */
  | {
      readonly kind: "not-told";
      readonly why: string;
      /** Present: the terminal refused the question. */
      readonly refused?: true;
    };

export type CancelAnswer =
  /** The terminal took the request; the end of the payment decides. */
  | { readonly answer: "taken" }
  /** The terminal refused: too late, or it does not know the command. */
  | { readonly answer: "refused"; readonly code: string; readonly text: string }
  | { readonly answer: "nothing-running" }
  | { readonly answer: "no-answer"; readonly text: string };

export type TerminalEvent =
  | { readonly type: "link"; readonly link: LinkState; readonly problem: string | null }
  | { readonly type: "status"; readonly status: TerminalStatus }
  | { readonly type: "identity"; readonly identity: TerminalIdentity }
  /** The terminal demands a job, "end-of-day" for example; emitted once until the job is done. */
  | { readonly type: "demand"; readonly demand: string }
  /** The driver has tried to meet a demand; `problem` says why it could not, null: it is met. */
  | { readonly type: "housekeeping"; readonly job: string; readonly problem: string | null }
  /** A report came while no payment ran: it was refused on the wire. Its order is not known. */
  | { readonly type: "unmatched-report"; readonly report: TransactionReport }
  | { readonly type: "protocol"; readonly text: string };

export type UnavailableReason =
  | "disconnected"
  | "not-registered"
  | "no-answer"
  | "busy"
  | "out-of-order"
  | "closed";

/** The terminal cannot be used now; no financial command has left. */
export class TerminalUnavailable extends Error {
  override readonly name = "TerminalUnavailable";
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
