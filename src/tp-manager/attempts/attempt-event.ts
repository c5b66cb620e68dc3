import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { isoTime } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { noIdentity, type TransactionReport } from "../terminal/terminal.ts";
import type { AttemptInput } from "./attempt-input.ts";
import {
  type AttemptState,
  type AttemptStep,
  bareReport,
  begun,
  type Detail,
  lastReportOf,
  type PaymentRequest,
  REVERSAL_BEGINS,
  saleOf,
} from "./payment.ts";
import { advance } from "./payment-machine.ts";
import { newerState } from "./rebuilt-attempt.ts";

const VERSION = 2;

/** The kinds of notes: events of an attempt that do not change its state. */
const noteKinds = [
  "cancel",
  "told-after-charge",
  "told-settled",
  "recovery-look",
  "recovery-unsettled",
  "closed-while-in-doubt",
  "gateway-return-reserved",
  "gateway-return-ended",
  "gateway-return-notified",
  "hand-over-dropped",
  "hand-over-requeued",
] as const;
export type NoteKind = (typeof noteKinds)[number];

/** The import of a sale from the supervisor into a lost journal (docs/rules/34-journal-gap.md). */
interface Imported {
  readonly input: "imported";
  /** The imported transaction; null in an event of an older version whose hand-off was deleted. */
  readonly transaction: Transaction | null;
  readonly reversed: boolean;
  readonly delivery: DeliveryState;
  readonly returnedMinor: number;
}

/** Something that happened to an attempt, whose state is the {@link fold} of its events. */
export type AttemptEvent =
  | WrittenEvent
  | (Head & { readonly input: "note"; readonly kind: NoteKind; readonly detail: Detail });

export type WrittenEvent = Head & Written;
type Written = AttemptInput | Imported;

interface Head {
  readonly v: 1 | typeof VERSION;
  readonly atMs: number;
}

export function eventAt<I extends Written>(atMs: number, input: I) {
  return { v: input.input === "decide-late" ? VERSION : 1, atMs, ...input } as const;
}

/** Returns the state after `events`. `first`: the state before `events`; null: no state yet. */
export function fold(
  events: readonly AttemptEvent[],
  first: AttemptState | null = begun,
): AttemptState {
  const state = events.reduce(next, first);
  invariant(state, "an attempt has begun");
  return state;
}

function next(state: AttemptState | null, event: AttemptEvent): AttemptState | null {
  if (event.input === "note") return state;
  if (event.input === "imported") return imported(state, event);
  invariant(state, `an attempt that is not known got ${event.input}`);
  return advance(state, event);
}

function imported(state: AttemptState | null, { transaction, reversed }: Imported): AttemptState {
  const newer = transaction && newerState(state ?? undefined, { transaction, reversed });
  invariant(newer, "an attempt was imported that the journal had already");
  return newer;
}

const grounds = ["because", "observation", "proof"] as const;

/** For each input: the kind under which its event is stored, and its members in `detail`. */
const forms: {
  readonly [I in Written["input"]]: readonly [
    kind: string,
    ...members: ReadonlyArray<keyof Extract<Written, { input: I }>>,
  ];
} = {
  report: ["report", "judgement", "report", "because"],
  hold: ["approved", "report"],
  decide: ["goods-decided", "why"],
  "decide-late": ["goods-decided-late"],
  acknowledged: ["acknowledged"],
  "second-sale": ["second-sale", "report"],
  end: ["end"],
  interrupted: ["interrupted", "unwritten"],
  reverse: [REVERSAL_BEGINS, "baseline", "reference"],
  "proved-charged": ["recovery-charged", "report", ...grounds],
  "proved-not-charged": ["recovery-not-charged", ...grounds],
  "proved-reversed": ["recovery-reversed", ...grounds],
  "proved-not-reversed": ["recovery-not-reversed", ...grounds],
  "proved-requested": ["recovery-requested", ...grounds],
  "found-charged": ["charged-late", "report", ...grounds],
  "found-in-doubt": ["doubted-late", "report", "judgement", ...grounds],
  "found-reversed": ["found-reversed", "report", ...grounds],
  "late-result": ["told-late", "report", "judgement", "wasStored", ...grounds],
  settled: ["settled-by-operator", "note", "amountMinor"],
  imported: ["taken-over", "delivery", "reversed", "returnedMinor"],
};

const inputs = new Map<string, AttemptEvent["input"]>([
  ...Object.entries(forms).map(([input, [kind]]) => [kind, input as Written["input"]] as const),
  ["reversal-report", "report"],
  ...["not-sent", "withdrawn", "refused", "completed", "aborted", "lost"].map(
    (how) => [`end-${how}`, "end"] as const,
  ),
  ...noteKinds.map((kind) => [kind, "note"] as const),
]);

/**
 * Returns an event as the journal stores it: the kind and the detail, which people and older
 * programs read, and in `input` the event's other members and its version.
 */
export function stepOf(
  { v, atMs, ...event }: WrittenEvent,
  before: AttemptState | undefined,
): AttemptStep {
  const [form, ...members] = forms[event.input];
  const detail: Record<string, unknown> = {};
  const input: Record<string, unknown> = { v };
  for (const [name, value] of Object.entries(event)) {
    if (name === "input" || name === "end") continue;
    ((members as string[]).includes(name) ? detail : input)[name] = value;
  }
  Object.assign(detail, derivedOf(event, before));
  const ofEnd = event.input === "end" ? `end-${event.end.end}` : form;
  const kind = event.input === "report" && before && saleOf(before) ? "reversal-report" : ofEnd;
  return { atMs, kind, detail, input };
}

/** Returns the members of `detail` that can be computed from the other members or the state. */
function derivedOf(event: Written, before: AttemptState | undefined): Detail {
  switch (event.input) {
    case "hold":
      return { decideBy: isoTime(event.decideByMs) };
    case "decide":
    case "decide-late":
      return { ...event.decision };
    case "end": {
      const { end: _, ...said } = event.end;
      return said;
    }
    case "reverse":
      return { receiptNumber: before && saleOf(before)?.report.receiptNumber };
    case "found-charged":
    case "found-in-doubt":
      return { toldBefore: before };
    case "settled":
      return { outcome: event.outcome.replace("-", "_") };
    case "imported":
      return { report: saleOf(imported(before ?? null, event))?.report };
    default:
      return {};
  }
}

/** The attempt of a stored event; its present state `final` has what old versions did not store. */
interface StepOwner {
  readonly request: PaymentRequest;
  readonly final: AttemptState;
  readonly handedOff: () => Transaction | null;
}

/** Returns the event in a stored step; undefined when a newer version of the program wrote it. */
export function eventOf(step: AttemptStep, owner: StepOwner): AttemptEvent | undefined {
  const { atMs, kind, detail } = step;
  const input = inputs.get(kind);
  if (input === undefined || Number(step.input?.["v"] ?? VERSION) > VERSION) return undefined;
  const payload =
    input === "note" ? { kind, detail } : { ...detail, ...(step.input ?? restOfOld(step, owner)) };
  const end = input === "end" ? { end: { ...detail, end: kind.slice("end-".length) } } : {};
  return { ...payload, ...end, v: VERSION, atMs, input } as AttemptEvent;
}

/** Returns the members of an event that older programs, whose events had no version, left out. */
function restOfOld({ kind, detail }: AttemptStep, owner: StepOwner): Detail {
  const { final, request } = owner;
  const finalReport = lastReportOf(final) ?? bareReport(request.currency, request.amountMinor);
  switch (kind) {
    case "approved":
      return { decideByMs: Date.parse(String(detail["decideBy"])) };
    case "goods-decided": {
      const { why: _, ...decision } = detail;
      return { decision };
    }
    case "recovery-charged":
    case "recovery-reversed": {
      type Observation = { readonly last?: { readonly report?: TransactionReport } } | null;
      return { report: (detail["observation"] as Observation)?.last?.report ?? finalReport };
    }
    case REVERSAL_BEGINS: {
      // The state has the baseline of a reversal only until the reversal has an outcome.
      const kept = "sale" in final && "baseline" in final ? final.baseline : nothingKnown;
      return { baseline: detail["baseline"] ?? kept };
    }
    case "settled-by-operator":
      return { outcome: String(detail["outcome"]).replace("_", "-"), report: finalReport };
    case "taken-over":
      return { transaction: owner.handedOff() };
    case "charged-late":
    case "doubted-late":
    case "found-reversed":
    case "told-late":
      return { because: "" };
    default:
      return {};
  }
}

/** Stands for a baseline that was not stored: nothing is known of the terminal. */
export const nothingKnown = {
  identity: noIdentity,
  last: { kind: "none" },
  clockOffsetMs: null,
} as const;
