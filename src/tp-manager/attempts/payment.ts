import type { ErrorCode } from "../../shared/catalog/errors.ts";
import type { Currency } from "../../shared/money.ts";
import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";
import type { CartLine } from "../../shared/transaction.ts";
import {
  type Baseline,
  type DeclineAdvice,
  emptyReport,
  type GoodsDecision,
  type TransactionReport,
} from "../terminal/terminal.ts";
import inDoubtTexts from "./in-doubt-en.json" with { type: "json" };

/** A payment request whose members have been checked. */
export interface PaymentRequest {
  readonly orderId: string;
  /** Whether the connector made the order id because the request had none. */
  readonly generatedId: boolean;
  readonly amountMinor: number;
  readonly currency: Currency;
  /** Members that the answer repeats as they came; a member that was not sent is missing. */
  readonly echo: Echo;
  /** Lines for the gateway: empty unless the basket is complete and adds up to the amount. */
  readonly cart: readonly CartLine[];
  readonly customerEmail: string | null;
  readonly customData: Readonly<Record<string, string | number | boolean>>;
  /** Set for a two-phase sale: answered when approved, charged when the goods came out. */
  readonly delivery: { readonly withinSeconds: number } | null;
  readonly warnings: readonly string[];
}

export interface Echo {
  readonly amount: number;
  readonly basket?: unknown;
  readonly customer?: unknown;
  readonly customData?: unknown;
}

/** The outcome of an attempt that charged nothing. */
export interface NotCharged {
  readonly status: "declined" | "cancelled" | "failed";
  readonly error: ErrorCode;
  /** What the terminal said, as a text for people. */
  readonly message: string;
  /** The terminal's own code; null when it gave none. */
  readonly terminalCode: string | null;
  readonly advice?: DeclineAdvice;
}

/** How the last report of a running attempt is judged (docs/rules/04-approval.md). */
export type Judgement =
  /** The report is good, and its amount and currency are as requested. */
  | "agrees"
  /** The terminal says that the payment failed. */
  | "not-good"
  /** The report is good but of another amount or currency. It is refused on the wire. */
  | "disagrees"
  | "no-result";

export interface JudgedReport {
  readonly report: TransactionReport;
  readonly judgement: Judgement;
  /** Whether our acknowledgement has provably arrived at the terminal. */
  readonly acknowledged: boolean;
}

/** A sale that the terminal approved and that waits for the goods (docs/design.md 5.12). */
export interface Goods {
  readonly approved: TransactionReport;
  /** The time, in epoch milliseconds, after which the goods count as not issued. */
  readonly decideByMs: number;
  /** Stored before it is sent. The same decision may be repeated; another one is refused. */
  readonly decision: GoodsDecision | null;
}

/** The report of a charged sale, and how the charge became known. */
interface Sale {
  readonly report: TransactionReport;
  readonly by: ChargedBy;
  /** The value of the goods in minor units, if the terminal charged another amount. */
  readonly goodsMinor?: number;
  /** Present when an operator settled the payment itself. */
  readonly settled?: Settlement;
  /** The charge was found after the kiosk was answered as not charged (docs/rules/19-late.md). */
  readonly late?: true;
}

export interface SentState extends Contradictions {
  readonly phase: "sent";
  readonly last: JudgedReport | null;
  /** The goods of an approved two-phase sale; null otherwise. */
  readonly goods: Goods | null;
}

/** Reports before the terminal's last one. Each is missing unless it contradicts another. */
interface Contradictions {
  /** A good report that was followed by a report that is not good. */
  readonly earlier?: JudgedReport;
  /** A second sale within the payment, refused on the wire (docs/rules/20-second-sale.md). */
  readonly second?: TransactionReport;
  /** `earlierAckArrived`: our ACK of a good report before the last one has provably arrived. */
  readonly tookBefore?: true;
}

export type ChargedState = Sale & { readonly phase: "charged" };

/** The state that an operator settled, stored for a correction (docs/rules/24-amount.md). */
interface Settlement {
  readonly doubt: InDoubtState;
  /** Whether the single correction that is allowed was made. */
  readonly corrected: boolean;
}

export interface NotChargedState {
  readonly phase: "not-charged";
  readonly outcome: NotCharged;
  /** Present when an operator settled the attempt. */
  readonly settled?: Settlement;
}

export interface InDoubtState extends Contradictions {
  readonly phase: "in-doubt";
  readonly why: string;
  readonly last: JudgedReport | null;
  /** The reported outcome, which counts if the storage confirms it (docs/rules/22-heard-end.md). */
  readonly heard?: NotCharged;
  /** `held`: the outcome that was answered before the terminal showed the sale. */
  readonly told?: NotCharged;
  /** `ackMayHaveArrived`: our ACK may have arrived without being recorded. */
  readonly perhapsTaken?: true;
  /** What was decided about a two-phase sale's goods. Missing in attempts of older versions. */
  readonly goods?: Goods | null;
}

/** The write-ahead record of a reversal, with the terminal's baseline before it. */
interface Reversal extends Pick<Contradictions, "tookBefore"> {
  readonly sale: Sale;
  readonly baseline: Baseline;
  readonly last: JudgedReport | null;
}

export type ReversingState = Reversal & { readonly phase: "reversing" };

export interface ReversalInDoubtState extends Reversal, Pick<InDoubtState, "perhapsTaken"> {
  readonly phase: "reversal-in-doubt";
  readonly why: string;
  /** The terminal reported that nothing was reversed. */
  readonly heardBad?: true;
}

interface ReversedState {
  readonly phase: "reversed";
  readonly sale: Sale;
  /** The terminal's report of the reversal. */
  readonly report: TransactionReport;
}

/**
 * Returns why an attempt is in doubt. The texts are stored and answered, so they never change.
 * `said`: what the terminal, or for the reason "lost" its driver, says of the end.
 */
export function whyInDoubt(reason: keyof typeof inDoubtTexts, said = ""): string {
  return inDoubtTexts[reason] + said;
}

/** The state of an attempt. payment-machine.ts says how one state follows from another. */
export type AttemptState =
  | SentState
  | ChargedState
  | NotChargedState
  | InDoubtState
  | ReversingState
  | ReversalInDoubtState
  | ReversedState;

export type AttemptPhase = AttemptState["phase"];

/** "payment": the terminal reported it in the payment. "recovery": a later probe showed it. */
export type ChargedBy = "payment" | "recovery" | "operator";

/** How many seconds the terminal waits for goods beyond the kiosk's time (docs/design.md 5.12). */
const GOODS_MARGIN_SECONDS = 15;

/** Returns the seconds that the terminal waits for the goods; undefined: it does not wait. */
export function goodsWindowSeconds({ delivery }: PaymentRequest): number | undefined {
  return delivery ? delivery.withinSeconds + GOODS_MARGIN_SECONDS : undefined;
}

/** One attempt to charge an order. Its transaction id is made before anything is sent. */
export interface Attempt {
  readonly transactionId: string;
  /** The number of the attempt within its order, from 1. */
  readonly number: number;
  readonly request: PaymentRequest;
  readonly state: AttemptState;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** The terminal before the command; null when the terminal could not be prepared. */
  readonly baseline: Baseline | null;
  readonly ticket: string;
  /** What the gateway or the bank paid back, in minor units, at the request of any system. */
  readonly returnedMinor: number;
  /** Whether any money was paid back, even of only one of several copies at the gateway. */
  readonly returnedSome: boolean;
  /** The return at the gateway whose outcome is not known; no other may begin meanwhile. */
  readonly openReturn: OpenReturn | null;
  /** Set when a comparison with the terminal contradicts the answer to the kiosk. */
  readonly suspicion?: Suspicion | null;
}

/** The finding of an end of day or a missing receipt number (docs/rules/18-totals.md). */
export interface Suspicion {
  /** What the terminal may have done, or that a receipt number is missing after the attempt. */
  readonly says: "charged" | "not-charged" | "number-missing";
  readonly amountMinor: number;
  /** When it was found, in epoch milliseconds. */
  readonly atMs: number;
}

/** A cancel or refund at the gateway, reserved before it is sent (docs/rules/07-returns.md). */
export interface OpenReturn {
  readonly operationId: string;
  readonly kind: "cancel" | "refund";
  readonly amountMinor: number;
  readonly transactionPublicId: string;
  readonly atMs: number;
  readonly idempotencyKey?: string;
}

/**
 * Returns the largest amount that can be paid back, in minor units: what was charged, or, while
 * that is unknown, what was requested.
 */
export function returnableMinorOf({ state, request }: Attempt): number {
  const reported = isCharged(state) ? state.report.amountMinor : null;
  return reported ?? request.amountMinor;
}

export type Detail = Readonly<Record<string, unknown>>;

/** An event of an attempt as the journal stores it: evidence for support, recovery and audit. */
export interface AttemptStep {
  readonly atMs: number;
  readonly kind: string;
  readonly detail: Detail;
  /** The event's members that `detail` lacks. Missing in notes and in steps of older versions. */
  readonly input?: Detail;
}

/** Whether a two-phase sale is approved in the journal, without a decision or an outcome yet. */
export function isApproved(state: AttemptState): boolean {
  return state.phase === "sent" && state.goods?.decision === null;
}

/** The state that the write-ahead record of a payment gives an attempt. */
export const begun: AttemptState = { phase: "sent", last: null, goods: null };

export function notCharged(outcome: NotCharged): NotChargedState {
  return { phase: "not-charged", outcome };
}

/** Returns whether our acknowledgement of an earlier good report arrived, for the next state. */
export function earlierAckOf(
  state: Pick<SentState, "last" | "tookBefore">,
): Pick<SentState, "tookBefore"> {
  const { last } = state;
  const took = state.tookBefore === true || (last?.report.good === true && last.acknowledged);
  return took ? { tookBefore: true } : {};
}

/**
 * Judges the last report, which counts (docs/zvt.md 6.2) unless a good one came before: then no
 * later report makes the attempt simply not charged, the worse judgement stays, and the terminal's
 * storage decides (docs/rules/04-approval.md). `isWithheld`: no goods came out.
 */
export function nextReport(
  last: JudgedReport | null,
  report: TransactionReport,
  judgement: Judgement,
  isWithheld = false,
): JudgedReport {
  const contradicted = last?.report.good && !report.good && !isWithheld;
  const worse = contradicted || last?.judgement === "disagrees";
  return { report, judgement: worse ? "disagrees" : judgement, acknowledged: false };
}

/** Returns the test whether a state is of one phase. */
const isIn =
  <P extends AttemptPhase>(phase: P) =>
  (state: AttemptState): state is Extract<AttemptState, { readonly phase: P }> =>
    state.phase === phase;

/** Whether the command of the payment may be running at the terminal. */
export const isPaying = isIn("sent");
export const isCharged = isIn("charged");
export const isNotCharged = isIn("not-charged");
export const isReversed = isIn("reversed");

/** Returns the sale that was charged, whether or not it was paid back. */
export function saleOf(state: AttemptState): Sale | undefined {
  return isCharged(state) ? state : "sale" in state ? state.sale : undefined;
}

/**
 * Whether no decision says that goods came out. Nothing of ours can then have committed the sale:
 * the terminal reverses it after our decision or when its time is over (docs/zvt.md 8.1, 8.2).
 */
export function isWithheld(goods: Goods | null | undefined): boolean {
  return goods != null && (goods.decision === null || goods.decision.goods === "not-issued");
}

/** Returns the currency of a report; one without a currency is in euro (docs/zvt.md 4.2). */
export function currencyNumericOf({
  currencyNumeric,
}: Pick<TransactionReport, "currencyNumeric">): string {
  return currencyNumeric ?? "978";
}

/** Returns the terminal's last report of an attempt that moved money: a sale's or a reversal's. */
export function endReportOf(state: AttemptState): TransactionReport | undefined {
  return "report" in state ? state.report : undefined;
}

/** Like {@link endReportOf}; while a reversal has no outcome, returns the report of the sale. */
export function lastReportOf(state: AttemptState): TransactionReport | undefined {
  return endReportOf(state) ?? saleOf(state)?.report;
}

/** The kind of the step that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** Returns when the newest reversal of an attempt began; undefined when none did. */
export const reversalBeganAtMs = (events: readonly AttemptStep[]): number | undefined =>
  events.findLast(({ kind }) => kind === REVERSAL_BEGINS)?.atMs;

/** The kinds of steps that end a command which never left the connector. */
const neverSent = ["end-not-sent", "end-withdrawn"];

export const isNeverSent = (events: ReadonlyArray<Pick<AttemptStep, "kind">>): boolean =>
  events.some(({ kind }) => neverSent.includes(kind));

/** The kinds of steps whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;

/** Returns a report of an amount alone. Without a receipt number it is never reversed. */
export function bareReport(currency: Currency, amountMinor: number | null): TransactionReport {
  const { numeric: currencyNumeric } = currency;
  const receipt = bareReceipt(currency);
  return { ...emptyReport(), good: true, amountMinor, currencyNumeric, receipt };
}

export const bareReceipt = ({ numeric, alpha, exponent }: Currency): Receipt => ({
  ...emptyReceipt(),
  currencyNumCode: numeric,
  currencyAlphaCode: alpha,
  currencyFractionPart: String(exponent),
});
