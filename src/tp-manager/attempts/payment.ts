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

/** A checked payment request. */
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
  /** Set for a two-phase sale: it is answered when approved, and charged when goods came out. */
  readonly delivery: { readonly withinSeconds: number } | null;
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

/** The worth of the last result report of a running attempt (docs/rules/04-approval.md). */
export type Judgement =
  /** Good, amount and currency as asked. */
  | "agrees"
  /** The terminal says that it did not work. */
  | "not-good"
  /** Good, but of another amount or currency. Refused on the wire. */
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
  /** Epoch milliseconds; without a decision by then the goods did not come out. */
  readonly decideByMs: number;
  /** Committed before it is sent; the same one again is harmless, another one is refused. */
  readonly decision: GoodsDecision | null;
}

/** The report of a charged sale, and how the charge became known. */
interface Sale {
  readonly report: TransactionReport;
  readonly by: ChargedBy;
  /** Value of the goods that came out, when the terminal charged another amount all the same. */
  readonly goodsMinor?: number;
  /** Present when an operator settled the payment itself. */
  readonly settled?: Settlement;
  /** The terminal had ended the payment, and the kiosk knows that (docs/rules/19-late.md). */
  readonly late?: true;
}

export interface SentState extends Contradictions {
  readonly phase: "sent";
  readonly last: JudgedReport | null;
  /** Present once a two-phase sale has been approved. */
  readonly goods: Goods | null;
}

/** A terminal's reports before its last one. Missing where none contradicted another. */
interface Contradictions {
  /** The good report before one that is not good. */
  readonly earlier?: JudgedReport;
  /** A second sale within the payment, refused on the wire (docs/rules/20-second-sale.md). */
  readonly second?: TransactionReport;
  /** Our acknowledgement of a good report before the last one has provably arrived. */
  readonly tookBefore?: true;
}

export type ChargedState = Sale & { readonly phase: "charged" };

/** The state that an operator settled, kept for a correction (docs/rules/24-amount.md). */
interface Settlement {
  readonly doubt: InDoubtState;
  /** Whether the one correction that is possible was made. */
  readonly corrected: boolean;
}

export interface NotChargedState {
  readonly phase: "not-charged";
  readonly outcome: NotCharged;
  /** Present when an operator settled it. */
  readonly settled?: Settlement;
}

export interface InDoubtState extends Contradictions {
  readonly phase: "in-doubt";
  readonly why: string;
  readonly last: JudgedReport | null;
  /** The reported end: the outcome if the storage confirms it (docs/rules/22-heard-end.md). */
  readonly heard?: NotCharged;
  /** The outcome answered before the terminal showed the sale (docs/rules/19-late.md). */
  readonly told?: NotCharged;
  /** Our acknowledgement may have arrived without a record of it (docs/design.md 1.3). */
  readonly perhapsTaken?: true;
  /** Of a two-phase sale: what was said about its goods. Missing in attempts of older versions. */
  readonly goods?: Goods | null;
}

/** A reversal's own write-ahead record, with what the terminal looked like before it. */
interface Reversal extends Pick<Contradictions, "tookBefore"> {
  readonly sale: Sale;
  readonly baseline: Baseline;
  readonly last: JudgedReport | null;
}

export type ReversingState = Reversal & { readonly phase: "reversing" };

export interface ReversalInDoubtState extends Reversal, Pick<InDoubtState, "perhapsTaken"> {
  readonly phase: "reversal-in-doubt";
  readonly why: string;
  /** The terminal reported the end that nothing was reversed. */
  readonly heardBad?: true;
}

interface ReversedState {
  readonly phase: "reversed";
  readonly sale: Sale;
  /** The terminal's report of the reversal. */
  readonly report: TransactionReport;
}

/** Why an attempt is in doubt, with the text that is stored and answered: a text never changes. */
const inDoubtTexts = {
  "sale-after-end": "the terminal told a sale too late, which can be of this order or of another",
  "other-sale-after-end":
    "the terminal told a sale too late, and not surely the one that was asked for",
  interrupted: "the connector stopped while the payment ran",
  "result-without-command": "the terminal reported a result and then: ",
  "cancel-crossed": "the terminal says that it was cancelled; it is asked once",
  "no-report": "the terminal ended as good without reporting a result",
  "part-unreported": "the terminal ended the sale without telling the part that was decided",
  "kept-without-goods": "the terminal kept a sale although no goods were said to have come out",
  "two-sales": "the terminal reported two sales in one payment",
  disagreement: "the terminal's reports do not agree with what was asked or with each other",
  "no-result-code": "the terminal reported no result code",
  "refused-after-approval": "the terminal approved and then ended with ",
  "unclear-report": "the terminal's report is not clear and it ended with ",
  "reversal-interrupted": "the connector stopped while the reversal ran",
  "reversal-unreported": "the terminal ended the reversal without a clear report",
  "reversal-without-command": "the terminal reported a reversal and then: ",
  /** The end was not received: the text is the driver's. */
  lost: "",
} as const;

/** The text of a reason. `said`: what the terminal or its driver says of the end. */
export function whyInDoubt(reason: keyof typeof inDoubtTexts, said = ""): string {
  return inDoubtTexts[reason] + said;
}

/** The state of an attempt; payment-machine.ts says how it gets from one to the next. */
export type AttemptState =
  | SentState
  | ChargedState
  | NotChargedState
  | InDoubtState
  | ReversingState
  | ReversalInDoubtState
  | ReversedState;

export type AttemptPhase = AttemptState["phase"];

/** "payment": the terminal said so at the time; "recovery": it was asked afterwards. */
export type ChargedBy = "payment" | "recovery" | "operator";

/** The seconds that the terminal waits for goods beyond the kiosk's time (docs/design.md 5.12). */
const GOODS_MARGIN_SECONDS = 15;

/** How long the terminal waits for the goods of an approved sale; undefined: it does not wait. */
export function goodsWindowSeconds({ delivery }: PaymentRequest): number | undefined {
  return delivery ? delivery.withinSeconds + GOODS_MARGIN_SECONDS : undefined;
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
  /** Money went back, be it only of one of several transactions that the gateway made of it. */
  readonly returnedSome: boolean;
  /** The gateway was asked to return money and its answer is not known: nothing else may. */
  readonly openReturn: OpenReturn | null;
  /** A comparison with the terminal contradicts what was answered. */
  readonly suspicion?: Suspicion | null;
}

/** The finding of an end of day or a missing receipt number (docs/rules/18-totals.md). */
export interface Suspicion {
  /** The terminal may have charged it, or may not have; or a number after it is missing. */
  readonly says: "charged" | "not-charged" | "number-missing";
  readonly amountMinor: number;
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** A return at the gateway, reserved before anything is sent (docs/rules/07-returns.md). */
export interface OpenReturn {
  readonly operationId: string;
  readonly kind: "cancel" | "refund";
  readonly amountMinor: number;
  readonly transactionPublicId: string;
  readonly atMs: number;
  /** The key that the caller chose. */
  readonly idempotencyKey?: string;
}

/** Minor units that can go back at most: what was charged, or asked for where that is not known. */
export function returnableMinorOf({ state, request }: Attempt): number {
  const reported = isCharged(state) ? state.report.amountMinor : null;
  return reported ?? request.amountMinor;
}

export type Detail = Readonly<Record<string, unknown>>;

/** An event of an attempt as the journal keeps it: evidence for support, recovery and audit. */
export interface AttemptStep {
  readonly atMs: number;
  readonly kind: string;
  readonly detail: Detail;
  /** The other members of the event. Missing: a note, or a step of an older version. */
  readonly input?: Detail;
}

/** Whether the last thing written of a two-phase sale is its approval: no decision, no end. */
export function isApproved(state: AttemptState): boolean {
  return state.phase === "sent" && state.goods?.decision === null;
}

/** The write-ahead record of a payment. */
export const begun: AttemptState = { phase: "sent", last: null, goods: null };

export function notCharged(outcome: NotCharged): NotChargedState {
  return { phase: "not-charged", outcome };
}

/** Keeps, after a later report, that our acknowledgement of a good one has arrived. */
export function tookBefore(
  state: Pick<SentState, "last" | "tookBefore">,
): Pick<SentState, "tookBefore"> {
  const { last } = state;
  const took = state.tookBefore === true || (last?.report.good === true && last.acknowledged);
  return took ? { tookBefore: true } : {};
}

/**
 * Judges the last report, which counts (docs/zvt.md 6.2), except after a good one: whatever that
 * was worth, a later one cannot make the attempt simply not charged. Then the worse judgement stays
 * and the terminal's storage decides (docs/rules/04-approval.md). `isWithheld`: no goods came out.
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

/** Whether the command of the payment may be running at the terminal. */
export function isPaying(state: AttemptState): state is SentState {
  return state.phase === "sent";
}

export function isCharged(state: AttemptState): state is ChargedState {
  return state.phase === "charged";
}

export function isNotCharged(state: AttemptState): state is NotChargedState {
  return state.phase === "not-charged";
}

export function isReversed(state: AttemptState): state is ReversedState {
  return state.phase === "reversed";
}

/** The sale that was charged, returned or not. */
export function saleOf(state: AttemptState): Sale | undefined {
  return isCharged(state) ? state : "sale" in state ? state.sale : undefined;
}

/**
 * Whether nobody said that goods came out, so that nothing of ours can have committed the sale: the
 * terminal reverses it after our decision or when its window is over (docs/zvt.md 8.1, 8.2).
 */
export function isWithheld(goods: Goods | null | undefined): boolean {
  return goods != null && (goods.decision === null || goods.decision.goods === "not-issued");
}

/** The currency of a report. One that names none means the euro (docs/zvt.md 4.2). */
export function currencyNumericOf({
  currencyNumeric,
}: Pick<TransactionReport, "currencyNumeric">): string {
  return currencyNumeric ?? "978";
}

/** The terminal's last report about an attempt whose money moved: of the sale or the reversal. */
export function endReportOf(state: AttemptState): TransactionReport | undefined {
  return "report" in state ? state.report : undefined;
}

/** As {@link endReportOf}; of a reversal whose end is open, the report of the sale. */
export function lastReportOf(state: AttemptState): TransactionReport | undefined {
  return endReportOf(state) ?? saleOf(state)?.report;
}

/** The step that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** When the newest reversal of an attempt began; undefined: none did. */
export const reversalBeganAtMs = (events: readonly AttemptStep[]): number | undefined =>
  events.findLast(({ kind }) => kind === REVERSAL_BEGINS)?.atMs;

/** Ends of commands of which nothing has left the connector. */
const neverSent = ["end-not-sent", "end-withdrawn"];

export const isNeverSent = (events: ReadonlyArray<Pick<AttemptStep, "kind">>): boolean =>
  events.some(({ kind }) => neverSent.includes(kind));

/** Steps of an attempt whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;

/** A report of which only the amount is known: without a receipt number it is never reversed. */
export function bareReport(currency: Currency, amountMinor: number | null): TransactionReport {
  const { numeric: currencyNumeric } = currency;
  const receipt = bareReceipt(currency);
  return { ...emptyReport(), good: true, amountMinor, currencyNumeric, receipt };
}

/** A receipt of which only the currency is known. */
export const bareReceipt = ({ numeric, alpha, exponent }: Currency): Receipt => ({
  ...emptyReceipt(),
  currencyNumCode: numeric,
  currencyAlphaCode: alpha,
  currencyFractionPart: String(exponent),
});
