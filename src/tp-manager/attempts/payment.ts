import { type ErrorCode, errorTable } from "../../shared/catalog/errors.ts";
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
  /** Whether the connector made the order id because the kiosk sent none. */
  readonly generatedId: boolean;
  readonly amountMinor: number;
  readonly currency: Currency;
  /** Members that the answer repeats; those that the kiosk did not send are missing. */
  readonly echo: Echo;
  /** Basket lines for the gateway; empty unless the basket is whole and adds up to the amount. */
  readonly cart: readonly CartLine[];
  readonly customerEmail: string | null;
  readonly customData: Readonly<Record<string, string | number | boolean>>;
  /** The time in which the kiosk reports on the goods of a two-phase sale; null in other sales. */
  readonly delivery: { readonly withinSeconds: number } | null;
  readonly warnings: readonly string[];
}

export interface Echo {
  readonly amount: number;
  readonly basket?: unknown;
  readonly customer?: unknown;
  readonly customData?: unknown;
}

export interface NotCharged {
  readonly status: "declined" | "cancelled" | "failed";
  readonly error: ErrorCode;
  /** The code of {@link codeOf}; older versions, which do not know it, answer `error` instead. */
  readonly newer?: ErrorCode;
  /** The reason as a text for people, usually in the terminal's words. */
  readonly message: string;
  readonly terminalCode: string | null;
  readonly advice?: DeclineAdvice;
}

/** How the last report of an attempt compares with its request (docs/rules/04-approval.md). */
export type Judgement =
  /** The report is good, and its amount and currency are as requested. */
  | "agrees"
  /** The terminal reports that the payment failed. */
  | "not-good"
  /** The report is good but has another amount or currency, or it contradicts an earlier report. */
  | "disagrees"
  | "no-result";

export interface JudgedReport {
  readonly report: TransactionReport;
  readonly judgement: Judgement;
  /** Whether our ACK of the report has provably arrived at the terminal. */
  readonly acknowledged: boolean;
}

/** The goods of a two-phase sale that the terminal approved (docs/design.md 5.12). */
export interface Goods {
  readonly approved: TransactionReport;
  /** The time, in epoch milliseconds, after which the goods count as not issued. */
  readonly decideByMs: number;
  /**
   * Whether the goods came out, stored before it is sent and then final. null: not decided.
   * `unsaid`: the kiosk's time was over, or the connector stopped; the kiosk said nothing.
   */
  readonly decision: (GoodsDecision & { readonly unsaid?: true }) | null;
  /** Whether goods came out, by what the kiosk said last, too late for the decision. */
  readonly mayBeOut?: boolean;
}

interface Sale {
  readonly report: TransactionReport;
  readonly by: ChargedBy;
  /** The value of the issued goods in minor units, if the terminal charged another amount. */
  readonly goodsMinor?: number;
  /** Set when an operator settled the payment; a settlement of its reversal is not stored here. */
  readonly settled?: Settlement;
  /** Set when the sale was found after the answer "not charged" (docs/rules/19-late.md). */
  readonly late?: true;
}

export interface SentState extends Contradictions {
  readonly phase: "sent";
  readonly last: JudgedReport | null;
  /** The goods of a two-phase sale, with the decision about them; null in any other sale. */
  readonly goods: Goods | null;
}

/** What is known of earlier reports of the command if the terminal sent several. */
interface Contradictions {
  /** A good report, if the terminal has sent a report of a failure after it. */
  readonly earlier?: JudgedReport;
  /** Another sale that was reported in the same payment (docs/rules/20-second-sale.md). */
  readonly second?: TransactionReport;
  /** Set when our ACK of an earlier good report has arrived at the terminal. */
  readonly tookBefore?: true;
}

export type ChargedState = Sale & { readonly phase: "charged" };

/** The state before an operator settled it, needed for a correction (docs/rules/24-amount.md). */
interface Settlement {
  readonly doubt: InDoubtState;
  /** Whether the operator has already made the one correction that is allowed. */
  readonly corrected: boolean;
}

export interface NotChargedState {
  readonly phase: "not-charged";
  readonly outcome: NotCharged;
  readonly settled?: Settlement;
}

export interface InDoubtState extends Contradictions {
  readonly phase: "in-doubt";
  readonly why: string;
  readonly last: JudgedReport | null;
  /** The terminal's reported outcome, until a probe confirms it (docs/rules/22-heard-end.md). */
  readonly heard?: NotCharged;
  /** The outcome answered to the kiosk before the terminal stored or reported a sale after all. */
  readonly told?: NotCharged;
  /** Set when our ACK of a report may have arrived although the journal has no record of it. */
  readonly perhapsTaken?: true;
  /** The goods of an approved two-phase sale with their decision. Missing in older attempts. */
  readonly goods?: Goods | null;
}

/** The write-ahead record of a reversal, with the terminal's baseline before it. */
interface Reversal extends Pick<Contradictions, "tookBefore"> {
  readonly sale: Sale;
  readonly baseline: Baseline;
  /** Present when the terminal can be asked about this reversal by its reference. */
  readonly reference?: string;
  readonly last: JudgedReport | null;
}

export type ReversingState = Reversal & { readonly phase: "reversing" };

export interface ReversalInDoubtState extends Reversal, Pick<InDoubtState, "perhapsTaken"> {
  readonly phase: "reversal-in-doubt";
  readonly why: string;
  /** Set when the terminal reported that it did not reverse the sale. */
  readonly heardBad?: true;
  /** Set when the terminal has passed the reversal on; only others know what became of it. */
  readonly requested?: true;
}

interface ReversedState {
  readonly phase: "reversed";
  readonly sale: Sale;
  readonly report: TransactionReport;
}

/**
 * Returns why an attempt is in doubt. The texts are stored and answered, so they never change.
 * `said` is appended: what the terminal, or for the reason "lost" its driver, reported of the end.
 */
export function whyInDoubt(reason: keyof typeof inDoubtTexts, said = ""): string {
  return inDoubtTexts[reason] + said;
}

/** The state of an attempt. payment-machine.ts defines how one state follows from another. */
export type AttemptState =
  | SentState
  | ChargedState
  | NotChargedState
  | InDoubtState
  | ReversingState
  | ReversalInDoubtState
  | ReversedState;

export type AttemptPhase = AttemptState["phase"];

/** How a charge became known. "payment": reported in time. "recovery": reported or probed later. */
export type ChargedBy = "payment" | "recovery" | "operator";

/** How much longer than the kiosk's own time the terminal waits for the report about the goods. */
const GOODS_MARGIN_SECONDS = 15;

/** Returns how long the terminal waits for the goods decision; undefined: not a two-phase sale. */
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
  /** The terminal's baseline before the command; null when the terminal could not be prepared. */
  readonly baseline: Baseline | null;
  readonly ticket: string;
  /** What the gateway or the bank paid back, in minor units, at the request of any system. */
  readonly returnedMinor: number;
  /** Whether any money was paid back, even for only one of two copies that the gateway has. */
  readonly returnedSome: boolean;
  /** The return at the gateway whose outcome is not known; no other return may begin meanwhile. */
  readonly openReturn: OpenReturn | null;
  /** Set when an end of day or a receipt number contradicts the answer that the kiosk got. */
  readonly suspicion?: Suspicion | null;
}

/** A sign of a wrong answer, from totals or from receipt numbers (docs/rules/18-totals.md). */
export interface Suspicion {
  /** What the totals suggest, or that a receipt number after the attempt is missing. */
  readonly says: "charged" | "not-charged" | "number-missing";
  readonly amountMinor: number;
  /** When the contradiction was found, in epoch milliseconds. */
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

/** Returns the largest amount to pay back, in minor units: the charged, else the requested one. */
export function returnableMinorOf({ state, request }: Pick<Attempt, "state" | "request">): number {
  return saleOf(state)?.report.amountMinor ?? request.amountMinor;
}

export type Detail = Readonly<Record<string, unknown>>;

/** An event of an attempt as the journal stores it: evidence for support, recovery and audit. */
export interface AttemptStep {
  readonly atMs: number;
  readonly kind: string;
  readonly detail: Detail;
  /** The event's members that `detail` lacks; missing in notes and in events of older versions. */
  readonly input?: Detail;
}

/** Whether a two-phase sale was approved and has neither a goods decision nor an outcome yet. */
export function isApproved(state: AttemptState): state is SentState & { readonly goods: Goods } {
  return state.phase === "sent" && state.goods?.decision === null;
}

/** The state that the write-ahead record of a payment gives an attempt. */
export const begun: AttemptState = { phase: "sent", last: null, goods: null };

export function notCharged(outcome: NotCharged): NotChargedState {
  return { phase: "not-charged", outcome };
}

/** Returns, for the next state of an attempt, whether our ACK of an earlier good report arrived. */
export function earlierAckOf(
  state: Pick<SentState, "last" | "tookBefore">,
): Pick<SentState, "tookBefore"> {
  const { last } = state;
  const took = state.tookBefore === true || (last?.report.good === true && last.acknowledged);
  return took ? { tookBefore: true } : {};
}

/**
 * Returns the newest report with its judgement. The newest report counts (docs/zvt.md 6.2), but a
 * bad report after a good one is judged "disagrees", and this judgement stays: the terminal's
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

const isIn =
  <P extends AttemptPhase>(phase: P) =>
  (state: AttemptState): state is Extract<AttemptState, { readonly phase: P }> =>
    state.phase === phase;

/** Whether the command of the payment may be running at the terminal. */
export const isPaying = isIn("sent");
export const isCharged = isIn("charged");
export const isNotCharged = isIn("not-charged");
export const isReversed = isIn("reversed");

/** Returns the error code to answer, of the codes that this version knows. */
export function codeOf({ error, newer = error }: NotCharged): ErrorCode {
  return newer in errorTable ? newer : error;
}

/** Whether an approved sale ended without a charge, because of its goods. */
export const isWithoutGoods = (state: AttemptState): boolean =>
  isNotCharged(state) && state.outcome.error === "GOODS_NOT_DELIVERED";

/** Whether an approved sale ended without a charge, and its goods may have come out. */
export const isUnconfirmed = (state: AttemptState): boolean =>
  isNotCharged(state) && codeOf(state.outcome) === "DELIVERY_UNCONFIRMED";

/** Returns the sale of an attempt that was charged, even if the money was paid back since. */
export function saleOf(state: AttemptState): Sale | undefined {
  return isCharged(state) ? state : "sale" in state ? state.sale : undefined;
}

/**
 * Whether a two-phase sale has no decision that goods came out. Nothing sent by us can then have
 * committed the sale: the terminal reverses it, at once or later (docs/zvt.md 8.1, 8.2).
 */
export function isWithheld(goods: Goods | null | undefined): boolean {
  return goods != null && (goods.decision === null || goods.decision.goods === "not-issued");
}

/** Returns the currency of a report; a report without a currency is in euro (docs/zvt.md 4.2). */
export function currencyNumericOf({
  currencyNumeric,
}: Pick<TransactionReport, "currencyNumeric">): string {
  return currencyNumeric ?? "978";
}

/** Returns the last report of an attempt that moved money: of its sale or of its reversal. */
export function endReportOf(state: AttemptState): TransactionReport | undefined {
  return "report" in state ? state.report : undefined;
}

/** Returns {@link endReportOf}, or the sale's report as long as a reversal has no outcome. */
export function lastReportOf(state: AttemptState): TransactionReport | undefined {
  return endReportOf(state) ?? saleOf(state)?.report;
}

/**
 * Whether a reversal in doubt was sent to a terminal that is asked by id, which only passes it on:
 * a return that the gateway or its account names is this very reversal, and no second one.
 */
export const isPassedOn = (state: AttemptState): boolean =>
  state.phase === "reversal-in-doubt" && state.reference !== undefined;

/** Whether a reversal was requested from others, and the terminal knows no more about it. */
export const isRequested = (state: AttemptState): boolean =>
  state.phase === "reversal-in-doubt" && state.requested === true;

/** The kind of the event that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** Returns when the newest reversal of an attempt began, in epoch ms; undefined: none began. */
export const reversalBeganAtMs = (events: readonly AttemptStep[]): number | undefined =>
  events.findLast(({ kind }) => kind === REVERSAL_BEGINS)?.atMs;

/** The kinds of events that end a command which was never sent to the terminal. */
const neverSent = ["end-not-sent", "end-withdrawn"];

export const isNeverSent = (events: ReadonlyArray<Pick<AttemptStep, "kind">>): boolean =>
  events.some(({ kind }) => neverSent.includes(kind));

/** The kinds of events whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;

/** Returns a good report with an amount only; without a receipt number it cannot be reversed. */
export function bareReport(currency: Currency, amountMinor: number | null): TransactionReport {
  const { numeric: currencyNumeric } = currency;
  const receipt = bareReceipt(currency);
  return { ...emptyReport, good: true, amountMinor, currencyNumeric, receipt };
}

export const bareReceipt = ({ numeric, alpha, exponent }: Currency): Receipt => ({
  ...emptyReceipt,
  currencyNumCode: numeric,
  currencyAlphaCode: alpha,
  currencyFractionPart: String(exponent),
});
