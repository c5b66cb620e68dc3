import type { GoodsDecision, PaymentEnd, TransactionReport } from "../terminal/terminal.ts";
import type { AttemptInput } from "./attempt-input.ts";
import { bareReport } from "./bare-report.ts";
import {
  type AttemptEvent,
  type AttemptState,
  endReportOf,
  type Judgement,
  type PaymentRequest,
  saleOf,
} from "./payment.ts";

/**
 * Steps of an attempt as the journal keeps them, read back as the inputs that the machines had.
 * Pure. Steps that change no state are notes; a kind that stands in neither list is of a newer
 * version.
 */

type Detail = Readonly<Record<string, unknown>>;
type Reader = (step: AttemptEvent, at: StepPlace) => AttemptInput | undefined;

/** The attempt that a step belongs to. */
interface StepPlace {
  readonly request: PaymentRequest;
  /** The journal's state of now: what a step itself does not keep stands there. */
  readonly final: AttemptState;
}

const report: Reader = ({ detail: { report, judgement } }) => ({
  input: "report",
  report: report as TransactionReport,
  judgement: judgement as Judgement,
});

const end =
  (kind: PaymentEnd["end"]): Reader =>
  ({ detail }) => ({ input: "end", end: { ...detail, end: kind } as PaymentEnd });

const outcomes = { charged: "charged", not_charged: "not-charged", reversed: "reversed" } as const;

const readers: Readonly<Record<string, Reader>> = {
  report,
  "reversal-report": report,
  approved: ({ detail: { report, decideBy } }) => ({
    input: "hold",
    report: report as TransactionReport,
    decideByMs: Date.parse(String(decideBy)),
  }),
  "goods-decided": ({ detail: { why: _, ...decision } }) => ({
    input: "decide",
    decision: decision as unknown as GoodsDecision,
  }),
  acknowledged: () => ({ input: "acknowledged" }),
  interrupted: ({ detail: { unwritten } }) => ({
    input: "interrupted",
    ...(unwritten === true ? { unwritten } : {}),
  }),
  "second-sale": ({ detail: { report } }) => ({
    input: "second-sale",
    report: report as TransactionReport,
  }),
  "end-not-sent": end("not-sent"),
  "end-withdrawn": end("withdrawn"),
  "end-refused": end("refused"),
  "end-completed": () => ({ input: "end", end: { end: "completed", ticket: "" } }),
  "end-aborted": end("aborted"),
  "end-lost": end("lost"),
  "recovery-charged": ({ detail }, at) => ({
    input: "proved-charged",
    report: foundIn(detail, at),
  }),
  "charged-late": ({ detail: { report } }) => ({
    input: "found-charged",
    report: report as TransactionReport,
  }),
  "told-late": ({ detail: { report, judgement } }) => ({
    input: "told-late",
    report: report as TransactionReport,
    judgement: judgement as Judgement,
  }),
  "doubted-late": ({ detail: { report, judgement = "agrees" } }) => ({
    input: "found-doubtful",
    report: report as TransactionReport,
    judgement: judgement as Judgement,
  }),
  "recovery-not-charged": ({ detail: { because } }) => ({
    input: "proved-not-charged",
    message: String(because),
  }),
  "recovery-reversed": ({ detail }, at) => ({
    input: "proved-reversed",
    report: foundIn(detail, at),
  }),
  "found-reversed": ({ detail: { report } }) => ({
    input: "proved-reversed",
    report: report as TransactionReport,
  }),
  "recovery-not-reversed": () => ({ input: "proved-not-reversed" }),
  "reversal-begins": (_step, { final }) => ({ input: "reverse", baseline: baselineOf(final) }),
  "settled-by-operator": ({ detail: { outcome } }, { final, request }) => ({
    input: "settled",
    outcome: outcomes[outcome as keyof typeof outcomes],
    report: finalReport({ final, request }),
  }),
};

/** Steps that only tell. */
const notes = new Set([
  ...["cancel", "recovery-look", "recovery-unsettled", "closed-while-in-doubt"],
  ...["gateway-return-reserved", "gateway-return-ended", "gateway-return-notified"],
  ...["hand-over-dropped", "hand-over-requeued"],
]);

/** undefined: the step changes nothing. "unknown": this version does not know its kind. */
export function inputOf(step: AttemptEvent, at: StepPlace): AttemptInput | undefined | "unknown" {
  if (notes.has(step.kind)) return undefined;
  const reader = readers[step.kind];
  return reader ? reader(step, at) : "unknown";
}

/** The transaction that was found; where the step does not keep it, the journal's of now. */
function foundIn({ observation }: Detail, at: StepPlace): TransactionReport {
  const look = observation as { readonly last?: { readonly report?: TransactionReport } } | null;
  return look?.last?.report ?? finalReport(at);
}

function finalReport({ final, request }: StepPlace): TransactionReport {
  const bare = bareReport(request.currency, request.amountMinor);
  return endReportOf(final) ?? saleOf(final)?.report ?? bare;
}

const nothingKnown = {
  identity: { serialNumber: "", deviceId: "", terminalId: "", version: "" },
  last: { kind: "none" },
  clockOffsetMs: null,
} as const;

/** Only a reversal whose end is open keeps what the terminal looked like before it. */
function baselineOf(state: AttemptState) {
  return "sale" in state && "baseline" in state ? state.baseline : nothingKnown;
}
