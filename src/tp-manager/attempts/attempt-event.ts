import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { isoTime } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { AttemptInput } from "./attempt-input.ts";
import {
  type AttemptState,
  type AttemptStep,
  begun,
  type Detail,
  REVERSAL_BEGINS,
  saleOf,
} from "./payment.ts";
import { advance } from "./payment-machine.ts";
import { restOfOld, type StepPlace } from "./step-inputs.ts";
import { newerState } from "./taken-over.ts";

/** The version of the events that this program writes. */
const VERSION = 1;

/** The kinds of steps that are notes: no state follows from them. */
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

/** The supervisor knows the sale, and the journal was lost or restored (docs/rules/17-loss.md). */
interface TakenOver {
  readonly input: "taken-over";
  /** null: a step of an older version whose hand-off is gone. */
  readonly transaction: Transaction | null;
  readonly reversed: boolean;
  readonly delivery: DeliveryState;
  readonly returnedMinor: number;
}

/**
 * Something that happened to an attempt. Behind its record of the beginning an attempt is the list
 * of its events, and its state is their {@link fold}: the payload is the machines' very input.
 */
export type AttemptEvent =
  | WrittenEvent
  | (Head & { readonly input: "note"; readonly kind: NoteKind; readonly detail: Detail });

/** One that changes the state, or could. */
export type WrittenEvent = Head & Written;
type Written = AttemptInput | TakenOver;

interface Head {
  readonly v: typeof VERSION;
  readonly atMs: number;
}

/** An event in the present version. */
export function eventAt<I extends Written>(atMs: number, input: I) {
  return { v: VERSION, atMs, ...input } as const;
}

/** The state after events. `first`: that before them; null: the journal had nothing of it. */
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
  if (event.input === "taken-over") return takenOver(state, event);
  invariant(state, `an attempt that is not known got ${event.input}`);
  return advance(state, event);
}

function takenOver(state: AttemptState | null, { transaction, reversed }: TakenOver): AttemptState {
  const taken = transaction && newerState(state ?? undefined, { transaction, reversed });
  invariant(taken, "an attempt was taken over that was known already");
  return taken;
}

const grounds = ["because", "observation", "proof"] as const;

/** The kind of step of each input, and the members that its detail has unchanged. */
const forms: {
  readonly [I in Written["input"]]: readonly [
    kind: string,
    ...told: ReadonlyArray<keyof Extract<Written, { input: I }>>,
  ];
} = {
  report: ["report", "judgement", "report", "because"],
  hold: ["approved", "report"],
  decide: ["goods-decided", "why"],
  acknowledged: ["acknowledged"],
  "second-sale": ["second-sale", "report"],
  end: ["end"],
  interrupted: ["interrupted", "unwritten"],
  reverse: [REVERSAL_BEGINS, "baseline"],
  "proved-charged": ["recovery-charged", "report", ...grounds],
  "proved-not-charged": ["recovery-not-charged", ...grounds],
  "proved-reversed": ["recovery-reversed", ...grounds],
  "proved-not-reversed": ["recovery-not-reversed", ...grounds],
  "found-charged": ["charged-late", "report", ...grounds],
  "found-doubtful": ["doubted-late", "report", "judgement", ...grounds],
  "found-reversed": ["found-reversed", "report", ...grounds],
  "told-late": ["told-late", "report", "judgement", "wasStored", ...grounds],
  settled: ["settled-by-operator", "note", "amountMinor"],
  "taken-over": ["taken-over", "delivery", "reversed", "returnedMinor"],
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
 * An event as the journal keeps it: the kind and the detail that people and older programs read,
 * and in `input` what these two do not hold of it, with its version.
 */
export function stepOf(
  { v, atMs, ...event }: WrittenEvent,
  before: AttemptState | undefined,
): AttemptStep {
  const [kind, ...told] = forms[event.input];
  const detail: Record<string, unknown> = {};
  const input: Record<string, unknown> = { v };
  for (const [name, value] of Object.entries(event)) {
    if (name === "input" || name === "end") continue;
    ((told as string[]).includes(name) ? detail : input)[name] = value;
  }
  Object.assign(detail, wordsOf(event, before));
  return { atMs, kind: kindOf(event, before) ?? kind, detail, input };
}

function kindOf(event: Written, before: AttemptState | undefined): string | undefined {
  if (event.input === "end") return `end-${event.end.end}`;
  return event.input === "report" && before && saleOf(before) ? "reversal-report" : undefined;
}

/** Members of a detail that the event has under another name, or that its state has. */
function wordsOf(event: Written, before: AttemptState | undefined): Detail {
  switch (event.input) {
    case "hold":
      return { decideBy: isoTime(event.decideByMs) };
    case "decide":
      return event.decision;
    case "end": {
      const { end: _, ...said } = event.end;
      return said;
    }
    case "reverse":
      return { receiptNumber: before && saleOf(before)?.report.receiptNumber };
    case "found-charged":
    case "found-doubtful":
      return { toldBefore: before };
    case "settled":
      return { outcome: event.outcome.replace("-", "_") };
    case "taken-over":
      return { report: saleOf(takenOver(before ?? null, event))?.report };
    default:
      return {};
  }
}

/** The event that a step keeps; undefined: a newer version wrote it. */
export function eventOf(step: AttemptStep, at: StepPlace): AttemptEvent | undefined {
  const { atMs, kind, detail } = step;
  const input = inputs.get(kind);
  if (input === undefined || Number(step.input?.["v"] ?? VERSION) > VERSION) return undefined;
  const payload = input === "note" ? { kind, detail } : { ...detail, ...rest(step, at) };
  const end = input === "end" ? { end: { ...detail, end: kind.slice("end-".length) } } : {};
  return { ...payload, ...end, v: VERSION, atMs, input } as AttemptEvent;
}

const rest = (step: AttemptStep, at: StepPlace): Detail => step.input ?? restOfOld(step, at);
