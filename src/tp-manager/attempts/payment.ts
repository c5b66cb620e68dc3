import type { Charged, ErrorCode } from "../../shared/errors.ts";
import type { Currency } from "../../shared/money.ts";
import type { CartLine } from "../../shared/transaction.ts";
import type {
  Baseline,
  DeclineAdvice,
  GoodsDecision,
  TransactionReport,
} from "../terminal/terminal.ts";

/** A checked payment request, as `http/` hands it over. */
export interface PaymentRequest {
  readonly orderId: string;
  /** The connector made the order id because the request had none. */
  readonly generatedId: boolean;
  readonly amountMinor: number;
  readonly currency: Currency;
  /** Members that the answer echoes, exactly as they came; missing members were not sent. */
  readonly echo: Echo;
  /** Lines for the gateway: none unless the basket is filled correctly and adds up. */
  readonly cart: readonly CartLine[];
  readonly customerEmail: string | null;
  readonly customData: Readonly<Record<string, string | number | boolean>>;
  /** Present in a two-phase sale. */
  readonly delivery: DeliveryTerms | null;
  readonly warnings: readonly string[];
}

export interface Echo {
  readonly amount: number;
  readonly basket?: unknown;
  readonly customer?: unknown;
  readonly customData?: unknown;
}

/** How an attempt ended that charged nothing. */
export interface NotCharged {
  readonly status: "declined" | "cancelled" | "failed";
  readonly error: ErrorCode;
  /** For people: what the terminal said. */
  readonly message: string;
  /** The terminal's own code, when it gave one. */
  readonly terminalCode: string | null;
  readonly advice?: DeclineAdvice;
}

/** The worth of the last result report of a running attempt (docs/design.md 3.4). */
export type Judgement =
  /** Good, amount and currency as asked. */
  | "agrees"
  /** The terminal says that it did not work. */
  | "not-good"
  /** Good, but not for what was asked. Refused on the wire. */
  | "disagrees"
  /** No result code. */
  | "no-result";

export interface JudgedReport {
  readonly report: TransactionReport;
  readonly judgement: Judgement;
  /** Our acknowledgement has provably arrived. */
  readonly acknowledged: boolean;
}

/** A sale that the terminal has approved and that waits for the goods (docs/design.md 5.12). */
export interface Goods {
  readonly approved: TransactionReport;
  /** Epoch milliseconds; no word by then means that the goods did not come out. */
  readonly decideByMs: number;
  /** Committed before it is sent; the same one again is harmless, another one is refused. */
  readonly decision: GoodsDecision | null;
}

/** The report of a charged sale, and how the charge became known. */
interface Sale {
  readonly report: TransactionReport;
  readonly by: ChargedBy;
  /** Value of the goods that came out, when the terminal charged more all the same. */
  readonly goodsMinor?: number;
}

export interface SentState {
  readonly phase: "sent";
  readonly last: JudgedReport | null;
  /** Present once a two-phase sale has been approved. */
  readonly goods: Goods | null;
}

export interface ChargedState extends Sale {
  readonly phase: "charged";
}

export interface NotChargedState {
  readonly phase: "not-charged";
  readonly outcome: NotCharged;
}

export interface InDoubtState {
  readonly phase: "in-doubt";
  readonly why: string;
  readonly last: JudgedReport | null;
  /** Of a two-phase sale: what was said about its goods. Missing in attempts of older versions. */
  readonly goods?: Goods | null;
}

/** The reversal's own write-ahead record, with what the terminal looked like before it. */
export interface ReversingState {
  readonly phase: "reversing";
  readonly sale: Sale;
  readonly baseline: Baseline;
  readonly last: JudgedReport | null;
}

export interface ReversalInDoubtState {
  readonly phase: "reversal-in-doubt";
  readonly sale: Sale;
  readonly baseline: Baseline;
  readonly last: JudgedReport | null;
  readonly why: string;
}

interface ReversedState {
  readonly phase: "reversed";
  readonly sale: Sale;
  /** The terminal's report of the reversal. */
  readonly report: TransactionReport;
}

/** Where an attempt stands. See payment-machine.ts for how it gets from one to the next. */
export type AttemptState =
  | SentState
  | ChargedState
  | NotChargedState
  | InDoubtState
  | ReversingState
  | ReversalInDoubtState
  | ReversedState;

export type AttemptPhase = AttemptState["phase"];

/** Phases that a process cannot leave behind without somebody asking the terminal. */
export const unfinishedPhases = ["sent", "in-doubt", "reversing", "reversal-in-doubt"] as const;

/** "payment": the terminal said so at the time; "recovery": it was asked afterwards. */
export type ChargedBy = "payment" | "recovery" | "operator";

/** A request that is answered at the approval and charged when the goods came out. */
interface DeliveryTerms {
  readonly withinSeconds: number;
}

/** One try to charge one order. Its id is the transaction id, made before anything was sent. */
export interface Attempt {
  readonly transactionId: string;
  /** Counts the attempts of one order from 1. */
  readonly number: number;
  readonly request: PaymentRequest;
  readonly state: AttemptState;
  /** Epoch milliseconds UTC. */
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** null for an attempt that failed before the terminal could be prepared. */
  readonly baseline: Baseline | null;
  readonly ticket: string;
  /** Minor units that went back by way of the gateway or the bank, asked for here or elsewhere. */
  readonly returnedMinor: number;
  /** Something went back, be it only of one of several transactions the gateway made of it. */
  readonly returnedSome: boolean;
  /** The gateway was asked to return money and its word is not known: nothing else may. */
  readonly openReturn: OpenReturn | null;
}

/** A return of money at the gateway, reserved before anything is sent (docs/design.md 3.7). */
export interface OpenReturn {
  readonly operationId: string;
  readonly kind: "cancel" | "refund";
  readonly amountMinor: number;
  readonly transactionPublicId: string;
  readonly atMs: number;
}

/** How much of a charged attempt has gone back by way of the gateway. */
export function returnOf(attempt: Attempt): "none" | "open" | "part" | "all" {
  if (attempt.openReturn) return "open";
  if (!attempt.returnedSome) return "none";
  return attempt.returnedMinor < chargedMinorOf(attempt) ? "part" : "all";
}

/** Minor units really charged: fewer than asked for when only a part of the goods came out. */
export function chargedMinorOf({ state, request }: Attempt): number {
  const reported = state.phase === "charged" ? state.report.amountMinor : null;
  return reported ?? request.amountMinor;
}

/** Something that happened to an attempt: the evidence kept for support and recovery. */
export interface AttemptEvent {
  readonly atMs: number;
  readonly kind: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The last thing written of a two-phase sale is its approval: no decision, no end. */
export function isApproved(state: AttemptState): boolean {
  return state.phase === "sent" && state.goods?.decision === null;
}

/** Only the terminal or an operator knows what became of the money. */
export function isInDoubt(state: AttemptState): state is InDoubtState | ReversalInDoubtState {
  return state.phase === "in-doubt" || state.phase === "reversal-in-doubt";
}

/** Whether the money of an attempt moved, as far as is known. */
export function chargedOf(state: AttemptState): Charged {
  switch (state.phase) {
    case "charged":
      return "yes";
    case "not-charged":
    case "reversed":
      return "no";
    case "sent":
    case "in-doubt":
    case "reversing":
    case "reversal-in-doubt":
      return "unknown";
  }
}
