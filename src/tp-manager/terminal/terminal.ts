import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";

/**
 * What every part of tp-manager may read about the card terminal; reading puts nothing on the wire.
 * Code outside `arbiter/` gets these members as the arbiter's `terminal`. A driver reports facts
 * (what was sent, what was received, how a command ended); `attempts/` alone decides what they mean
 * for the money. Amounts are integers in minor units. Every card number in these types is masked.
 */
export interface TerminalFacts {
  readonly capabilities: TerminalCapabilities;
  readonly state: TerminalState;
  /** Calls `listener` for every event until the returned function is called. */
  subscribe(listener: (event: TerminalEvent) => void): () => void;
}

/** The driver's calls for the task that has the lease, the exclusive use of the terminal. */
export interface HeldTerminal {
  /**
   * Runs one payment. The financial command is sent once, whatever happens to the link; only the
   * link layer may repeat its frame (docs/rules/03-repeats.md). Never rejects for a fault on the
   * wire: every fault resolves to a {@link PaymentEnd}.
   */
  pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd>;

  // A driver may lack the optional members below; HTTP calls that need one then answer 501.

  /** Asks the terminal to cancel the running payment. Only the outcome of {@link pay} decides. */
  cancel?(): Promise<CancelAnswer>;

  /**
   * Sends the decision about the goods of a two-phase sale, as the answer to the waiting report
   * (docs/design.md 5.12; docs/zvt.md 8.1); {@link pay} then ends. Throws when no report waits.
   */
  decideGoods?(decision: GoodsDecision): void;
  /** Reverses a stored sale by receipt number and amount. The command is sent once. */
  reverse?(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd>;
  /**
   * Restarts the terminal and waits until it is back and registered. Rejects with {@link
   * TerminalUnavailable} when the terminal refuses, or is not back before `signal` aborts.
   */
  reset?(signal: AbortSignal): Promise<void>;
  /**
   * Asks for open pre-authorisations, then runs the end of day. Never rejects for a fault on the
   * wire: the outcome names the fault, "refused" when the command could not be sent.
   */
  telecollect?(signal: AbortSignal): Promise<TelecollectionEnd>;
}

/** A driver: the registry creates it, main.ts passes it on, and only `arbiter/` calls it. */
export interface Terminal extends TerminalFacts, HeldTerminal {
  /** Starts to connect, and reconnects for ever. Returns at once; `state` shows a missing port. */
  start(): void;
  /** Closes the link to the terminal. No method may be called afterwards. */
  close(): Promise<void>;
  /**
   * Returns the baseline for the write-ahead record (docs/rules/01-baseline.md); sends no financial
   * command. Asks for the status when the terminal has not answered for 10 s
   * (docs/rules/03-repeats.md). Throws {@link TerminalUnavailable} unless the terminal is
   * connected, registered, able to take cards and idle.
   */
  prepare(signal: AbortSignal): Promise<Baseline>;
  /**
   * Returns the last transaction that the idle terminal has stored, after a new connection and
   * registration where these are needed (docs/zvt.md 9.2). Changes nothing at the terminal. Rejects
   * with `signal.reason`, or with {@link TerminalUnavailable} when the terminal cannot be asked;
   * its reason "out-of-order" means that the terminal is locked and refuses the question.
   */
  lastTransaction(signal: AbortSignal): Promise<LastTransaction>;
  /**
   * Present where {@link TerminalCapabilities.recalls} is: returns what the terminal answered to an
   * earlier command of ours. Changes nothing at the terminal. Rejects like {@link lastTransaction}.
   */
  recall?(asked: RecallOrder, signal: AbortSignal): Promise<Recollection>;
  /**
   * Present where a payment whose answer was lost can still be cancelled. The cancel decides
   * nothing: only {@link recall} says what became of the payment. Never rejects.
   */
  abort?(asked: RecallOrder): Promise<CancelAnswer>;
  /** Asks for the terminal's status. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): Promise<TerminalStatus>;
  /**
   * Called with true while recovery has to read the last stored transaction: until false, the
   * driver starts no command of its own that could overwrite it (docs/rules/05-evidence.md).
   */
  keepEvidence(keep: boolean): void;
  /**
   * Present in the drivers of one-way terminals, which may report a late result at any time. `take`
   * writes the result to the journal and returns true; after false the driver sends no ACK of
   * the result (docs/rules/25-one-way.md).
   */
  takeLateResults?(take: (result: OneWayResult) => boolean): void;
  /** Called when a payment's outcome is on disk: late results that waited for it can be stored. */
  endWritten?(): void;
}

/** Whether the goods of an approved two-phase sale came out. */
export type GoodsDecision =
  | { readonly goods: "issued" }
  /** Only goods worth `amountMinor` came out. */
  | { readonly goods: "partly-issued"; readonly amountMinor: number }
  | { readonly goods: "not-issued" };

/** The sale to reverse, with the values that the terminal reported for it. */
export interface ReversalOrder extends PaymentOrder, Pick<TransactionReport, "namedAt"> {
  readonly receiptNumber: string;
}

/** An earlier command of ours, by the reference that the terminal got with it. */
export interface RecallOrder {
  readonly reference: string;
  readonly command: "payment" | "reversal";
  /** {@link Baseline.registerId} of the command. */
  readonly registerId?: string | undefined;
}

/** What a terminal answers when it is asked about one of our commands. Stored as JSON. */
export type Recollection =
  /** The answer that it gave to this very command; a report without a code says nothing clear. */
  | { readonly kind: "answered"; readonly report: TransactionReport; readonly ticket?: string }
  /** The terminal says that it still carries the command out. */
  | { readonly kind: "running" }
  /** The terminal knows no such command; it may still arrive, or be forgotten. */
  | { readonly kind: "not-found" }
  /** It answered with something else; "unanswered": it is there, and gave no answer. */
  | { readonly kind: "not-told" | "unanswered"; readonly why: string };

export type TelecollectionEnd =
  | {
      readonly end: "completed";
      readonly applications: readonly TelecollectedApplication[];
      /** The closed totals; missing if none were sent, and in records of an older tp-manager. */
      readonly totals?: ClosingTotals;
      readonly ticket: string;
    }
  /** The end of day was not sent, or the terminal refused the command; nothing was closed. */
  | { readonly end: "refused"; readonly code: string; readonly text: string }
  /** Nothing was closed: the pre-authorisations named here must be booked or reversed first. */
  | { readonly end: "open-pre-authorisations"; readonly receiptNumbers: readonly string[] }
  /** "failed": the terminal reported a fault. "lost": the completion was not received. */
  | { readonly end: "failed" | "lost"; readonly code: string; readonly text: string };

/**
 * The totals of all cards that an end of day closed (docs/rules/18-totals.md). Receipt numbers have
 * four digits; null when nothing was closed, or when the terminal does not name its receipts.
 */
export interface ClosingTotals {
  readonly receiptFrom: string | null;
  readonly receiptTo: string | null;
  /** The number of transactions; null when a card scheme's count was too large for its field. */
  readonly count: number | null;
  /** The sum in minor units; null when the terminal's total is not the sum of its card schemes. */
  readonly sumMinor: number | null;
}

interface TelecollectedApplication {
  readonly name: string;
  /** "0" means that the transactions of this card scheme were closed. */
  readonly status: string;
  readonly count: number;
  readonly sumMinor: number;
}

export interface TerminalCapabilities {
  /** The terminal ends a payment after this time in ms (ZVT: T4), plus any wait for the goods. */
  readonly paymentLimitMs: number;
  /** Whether the terminal can be asked for its last transaction, to recover a lost payment. */
  readonly lastTransaction: boolean;
  /** Present when the terminal can be asked about a command by its reference. */
  readonly recalls?: true;
  /** Present when the terminal does not reverse a sale although we refuse its good result. */
  readonly cannotRefuse?: true;
  /** Present when the terminal sends no identity, so that every member of its identity is empty. */
  readonly noIdentity?: true;
  /**
   * Present when the results of all payments come on one lasting connection: a result without a
   * reference can belong to an earlier payment (docs/rules/25-one-way.md).
   */
  readonly sharesLine?: true;
  /** Present when, with the present settings, no result carries an order's reference. */
  readonly namesNoPayment?: true;
  /** Whether a sale is final only once its print has its ACK too (docs/zvt.md 9.1). */
  readonly printsCount?: boolean;
  /** Whether the terminal can wait for goods: vending mode (ZVT registration status, bit 10). */
  readonly vending: boolean;
  /** Whether the terminal can charge a part of the amount when only some goods came out. */
  readonly partialIssue: boolean;
}

export type LinkState = "disconnected" | "connecting" | "registering" | "connected";

export interface TerminalState {
  readonly link: LinkState;
  /** Why the link to the terminal is not up, for an operator; null when the link is up. */
  readonly linkProblem: string | null;
  readonly identity: TerminalIdentity;
  /** The last status since the link came up; null: the terminal has not reported one yet. */
  readonly status: TerminalStatus | null;
  readonly busy: boolean;
  /** Maintenance that the terminal requests (such as an end of day); empty without a link. */
  readonly demands: readonly string[];
}

/** The identity of a terminal that does not name itself; it agrees with every identity. */
export const noIdentity = { serialNumber: "", deviceId: "", terminalId: "", version: "" };

/** How the terminal names itself; a member that the terminal does not send is "". */
export type TerminalIdentity = Readonly<typeof noIdentity>;

/** The terminal's status in the digits of the call `/check` (docs/design.md 5.16). */
export interface TerminalStatus {
  /** Readiness: 0 ready, 1 busy, 2 locked or action needed, 9 no link. */
  readonly cr: "0" | "1" | "2" | "9";
  /** Card: 0 no card, 1 a card is in the reader. */
  readonly card: "0" | "1";
  /** Maintenance: 0 none due, 1 host call, initialisation, diagnosis or end of day due. */
  readonly call: "0" | "1";
  /** Fault of a peripheral: 0 none, 1 card reader, 2 printer, 3 another. */
  readonly periph: "0" | "1" | "2" | "3";
  readonly detail: string;
}

/** What the terminal showed before a payment (docs/rules/01-baseline.md). Stored as JSON. */
export interface Baseline {
  readonly identity: TerminalIdentity;
  readonly last: LastTransaction;
  /** The terminal's clock minus ours in milliseconds; null when it does not send its time. */
  readonly clockOffsetMs: number | null;
  /** Present where the terminal knows a command by our own name too, as it was then. */
  readonly registerId?: string;
}

export interface PaymentOrder {
  /** Ten characters that name this attempt; some terminals send them back with the result. */
  readonly reference?: string;
  readonly amountMinor: number;
  /** ISO 4217 numeric, three digits. */
  readonly currencyNumeric: string;
  readonly currencyAlpha: string;
  /**
   * Returns whether the caller knows every transaction of the terminal: no other attempt is
   * unsettled, and {@link Terminal.prepare} read the last transaction that is known here. Otherwise
   * a sale may have been missed (docs/rules/13-receipt.md).
   */
  readonly inSync?: () => boolean;
  /** Present in a two-phase sale: how many seconds the terminal waits for the goods. */
  readonly goodsWindowSeconds?: number;
}

/** Receives what the driver reports while a payment runs. */
export interface PaymentObserver {
  /**
   * Writes a result of the terminal to the journal before it returns. After "accept" the driver
   * sends the ACK of the result, which in ZVT commits the sale. After "refuse" or a throw
   * the driver refuses the result, so that the terminal reverses the sale. "hold", only in a
   * two-phase sale, leaves the result unanswered until {@link Terminal.decideGoods}.
   */
  report(report: TransactionReport): "accept" | "refuse" | "hold";
  /**
   * Returns whether a result belongs to this payment; false where it may belong to another attempt.
   * Drivers with {@link Terminal.takeLateResults} call this before {@link report}. Throws when the
   * journal cannot be read; the driver then sends no ACK of the result, and asks again for a
   * result that the terminal does not repeat.
   */
  concerns?(result: OneWayResult): boolean;
  /** Called when a message proves that our ACK of the last report arrived. */
  ackArrived(): void;
  prompt(prompt: Prompt): void;
}

export interface Prompt {
  /** The protocol's code of the prompt, in hex for ZVT. */
  readonly code: string;
  readonly text: string;
  /** The language of the text (ISO 639-1); "" when the text came from the terminal. */
  readonly language: string;
  /** The prompt's text in each language of this program; null when the code has no known text. */
  readonly texts: Readonly<Record<"en" | "fr" | "de" | "it" | "es", string>> | null;
}

/** How a payment ended on the wire. `code` is a code of the protocol, `text` is for people. */
export type PaymentEnd =
  /** No byte of the payment command was sent. */
  | { readonly end: "not-sent"; readonly code: string; readonly text: string }
  /** The payment was cancelled before a byte of the command was sent; the command is never sent. */
  | { readonly end: "withdrawn"; readonly text: string }
  /** The terminal refused the command, and has shown that no payment runs. */
  | {
      readonly end: "refused";
      readonly code: string;
      readonly text: string;
      /** "busy": the terminal asked to send the command again later. */
      readonly reason?: AbortReason | "busy";
    }
  /** The terminal reported the completion of the command. */
  | { readonly end: "completed"; readonly ticket: string }
  /** The terminal reported that the command has ended without being carried out. */
  | {
      readonly end: "aborted";
      readonly code: string;
      readonly text: string;
      readonly reason: AbortReason;
      readonly advice?: DeclineAdvice;
      readonly ticket: string;
    }
  /** The outcome is unknown; the code "requested": the terminal has passed a reversal on. */
  | { readonly end: "lost"; readonly code: string; readonly text: string; readonly ticket: string };

/** Why a payment or a reversal failed: what a bad result or abort means for the customer. */
export const abortReasons = [
  "declined",
  "cancelled",
  "customer-timeout",
  "terminal-fault",
  "wrong-currency",
  "already-reversed",
] as const;
export type AbortReason = (typeof abortReasons)[number];

export interface DeclineAdvice {
  /** The code of the bank's host; null when the terminal decided by itself. */
  readonly hostCode: string | null;
  readonly tryAgain: "same-card" | "other-card" | "no";
}

/** A result with the card number masked; null: the terminal left the field out. Stored as JSON. */
export interface TransactionReport {
  /** Whether the result code is good and no host code says otherwise (docs/zvt.md 6.2, 11.4). */
  readonly good: boolean;
  /** The protocol's result code as text ("00", "6C"); null when the terminal sent no code. */
  readonly resultCode: string | null;
  readonly resultText: string;
  readonly reason: AbortReason | null;
  readonly advice?: DeclineAdvice;
  readonly amountMinor: number | null;
  readonly currencyNumeric: string | null;
  readonly receiptNumber: string | null;
  /**
   * Present when the receipt number names its transaction alone, for ever: the time stamp that the
   * terminal gave with it, which a reversal repeats exactly.
   */
  readonly namedAt?: string;
  readonly traceNumber: string | null;
  /** Present on a reversal: the trace number of the transaction that was reversed. */
  readonly originalTrace: string | null;
  readonly terminalId: string | null;
  /** The terminal's local date MMDD; `localTime` is its local time HHMMSS. */
  readonly localDate: string | null;
  readonly localTime: string | null;
  readonly maskedPan: string | null;
  readonly authorisationNumber: string | null;
  readonly cardName: string | null;
  /** The text in the field where the reference was sent; null or absent: no text came. */
  readonly reference?: string | null;
  /** The names of request members other than amount and currency that came back changed. */
  readonly differs?: readonly string[];
  /** The members that contradict the request, and "earlier result" if an earlier result does. */
  readonly contradicts?: readonly string[];
  /** Present when the result carries the number of our cash register. */
  readonly isOurRegister?: true;
  readonly receipt: Receipt;
  /** A printable ticket made from the other fields (see report-fields.ts). */
  readonly fallbackTicket: string;
}

export const emptyReport: TransactionReport = {
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
  receipt: emptyReceipt,
  fallbackTicket: "",
};

/** A result of a one-way terminal (docs/rules/25-one-way.md). */
export interface OneWayResult {
  readonly report: TransactionReport;
  /** Whether the result came before the request of the running payment had reached the terminal. */
  readonly isEarly: boolean;
  /** Whether the result equals the last stored result byte for byte; undefined: there is none. */
  readonly isAgain: boolean | undefined;
  /** The reference of the payment that ran when the result came, if the result was stored later. */
  readonly cameFor?: string | undefined;
}

export type LastTransaction =
  | { readonly kind: "none" }
  | {
      readonly kind: "transaction";
      readonly report: TransactionReport;
      /** Transactions that the terminal sent before `report` in the same answer. */
      readonly also?: readonly TransactionReport[];
    }
  /** The terminal answered without naming a transaction (docs/zvt.md 9.2 step 5). */
  | {
      readonly kind: "not-told";
      readonly why: string;
      /** Present when the terminal refused to name its last transaction. */
      readonly refused?: true;
    };

export type CancelAnswer =
  /** The terminal accepted the cancel; the payment's outcome shows whether it had an effect. */
  | { readonly answer: "taken" }
  /** The terminal refused: the cancel came too late, or the terminal knows no such command. */
  | { readonly answer: "refused"; readonly code: string; readonly text: string }
  | { readonly answer: "nothing-running" }
  | { readonly answer: "no-answer"; readonly text: string };

export type TerminalEvent =
  | { readonly type: "link"; readonly link: LinkState; readonly problem: string | null }
  | { readonly type: "status"; readonly status: TerminalStatus }
  | { readonly type: "identity"; readonly identity: TerminalIdentity }
  /** The terminal requests maintenance, such as "end-of-day"; emitted once until that is done. */
  | { readonly type: "demand"; readonly demand: string }
  /** The driver has tried to do requested maintenance; `problem`: why it failed, null if done. */
  | { readonly type: "housekeeping"; readonly job: string; readonly problem: string | null }
  /** A report came while no payment ran, and was refused on the wire. The report names no order. */
  | { readonly type: "unmatched-report"; readonly report: TransactionReport }
  | { readonly type: "protocol"; readonly text: string };

export type UnavailableReason =
  | "disconnected"
  | "not-registered"
  | "no-answer"
  | "busy"
  | "out-of-order"
  | "closed";

/** Thrown when the terminal cannot be used now; no financial command was sent. */
export class TerminalUnavailable extends Error {
  override readonly name = "TerminalUnavailable";
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
