import fc from "fast-check";
import { expect, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import { newId } from "../../../src/shared/new-id.ts";
import { eventAt, stepOf } from "../../../src/tp-manager/attempts/attempt-event.ts";
import type { AttemptInput } from "../../../src/tp-manager/attempts/attempt-input.ts";
import { AttemptWriter } from "../../../src/tp-manager/attempts/attempt-writer.ts";
import type { AttemptState } from "../../../src/tp-manager/attempts/payment.ts";
import type { Probe } from "../../../src/tp-manager/matching/facts.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, request } from "../../support/house/payment-house.ts";
import { foldedState, storedEvents } from "../../support/house/stored-events.ts";
import { baseline, declined, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

const other = report({ receiptNumber: "0777", traceNumber: "000777", amountMinor: 500 });
const back = report({ traceNumber: "000013", originalTrace: "000012" });
const observation: Probe = {
  identity: baseline.identity,
  last: { kind: "transaction", report: back },
  atMs: 7,
};
const proof = { facts: ["it says so"], assumes: ["sole-user"], rules: 1 } as const;
const judgements = ["agrees", "not-good", "disagrees", "no-result"] as const;
const advice = { hostCode: "51", tryAgain: "no" } as const;
const stop = { code: "6C", text: "abort", ticket: "" } as const;
const aborted: PaymentEnd = { end: "aborted", reason: "cancelled", ...stop, advice };
const reports = [report(), other, declined(), back];

/** Every input, and of each one what makes a difference to a state. */
const inputs: readonly AttemptInput[] = [
  ...reports.flatMap((each): AttemptInput[] => [
    ...judgements.map((judgement) => ({ input: "report", report: each, judgement }) as const),
    { input: "second-sale", report: each },
    { input: "late-result", report: each, judgement: "agrees", because: "a", wasStored: true },
    { input: "late-result", report: each, judgement: "not-good", because: "b" },
    { input: "proved-charged", report: each, because: "c", observation, proof },
    { input: "proved-reversed", report: each, because: "d", observation: null },
    { input: "found-reversed", report: each, because: "e" },
    { input: "found-charged", report: each, because: "f", proof },
    { input: "found-in-doubt", report: each, because: "g" },
    { input: "found-in-doubt", report: each, judgement: "disagrees", because: "g" },
    { input: "settled", outcome: "charged", report: each, note: "n", amountMinor: 5 },
    { input: "settled", outcome: "not-charged", report: each, note: "n" },
    { input: "settled", outcome: "reversed", report: each, note: "n" },
  ]),
  { input: "hold", report: report(), decideByMs: 1_767_225_600_123 },
  { input: "decide", decision: { goods: "issued" }, why: "w" },
  { input: "decide", decision: { goods: "not-issued" }, why: "w" },
  { input: "decide", decision: { goods: "not-issued", unsaid: true }, why: "w" },
  { input: "decide-late", decision: { goods: "issued" } },
  { input: "decide-late", decision: { goods: "issued" }, approved: true },
  { input: "decide-late", decision: { goods: "not-issued" } },
  { input: "decide", decision: { goods: "partly-issued", amountMinor: 500 }, why: "w" },
  { input: "acknowledged" },
  { input: "end", end: { end: "completed", ticket: "t|u" } },
  { input: "end", end: aborted },
  { input: "end", end: aborted, cancelled: true },
  { input: "end", end: lost("line broken") },
  { input: "end", end: { end: "refused", code: "9C", text: "wait", reason: "busy" } },
  { input: "end", end: { end: "not-sent", code: "", text: "no link" } },
  { input: "end", end: { end: "withdrawn", text: "withdrawn" } },
  { input: "interrupted" },
  { input: "interrupted", unwritten: true },
  { input: "reverse", baseline: { ...baseline, clockOffsetMs: 9 } },
  { input: "proved-not-charged", because: "nothing new", observation, proof },
  { input: "proved-not-charged", because: "reversed", observation, proof, takenBack: true },
  { input: "proved-not-reversed", because: "nothing new", observation },
  { input: "proved-requested", because: "passed on", observation },
];

/** An attempt after the inputs of these numbers, without those that its state forbids. */
function attemptOf({ journal, clock, log }: House, tried: readonly number[]) {
  const { attempts } = journal;
  const transactionId = newId();
  const begun = { transactionId, request: request(transactionId), baseline, startedAtMs: 1 };
  const writer = new AttemptWriter(attempts.begin(begun), { journal, clock, log });
  const taken = tried.flatMap((each) => {
    const input = inputs[each];
    try {
      if (input) writer.advance(input);
      return input ?? [];
    } catch (error) {
      if (!(error instanceof BrokenInvariant)) throw error;
      return [];
    }
  });
  return { attempt: writer.attempt, taken };
}

test("the stored events are the inputs of an attempt, and their fold is its state", () => {
  const at = house();
  const covered = new Set<string>();
  const numbers = fc.array(fc.nat(inputs.length - 1), { minLength: 40, maxLength: 80 });
  fc.assert(
    fc.property(numbers, (tried) => {
      const { attempt, taken } = attemptOf(at, tried);
      const { attempts } = at.journal;
      expect(storedEvents(attempts, attempt)).toMatchObject(taken);
      expect(foldedState(attempts, attempt)).toEqual(attempt.state);
      expect(attempts.read(attempt.transactionId)?.state).toEqual(attempt.state);
      for (const { input } of taken) covered.add(input);
    }),
    { seed: 27, numRuns: 300 },
  );
  expect(inputs.filter(({ input }) => !covered.has(input))).toEqual([]);
});

const outcome = { status: "cancelled", error: "PAYMENT_CANCELLED" } as const;
const notCharged: AttemptState = {
  phase: "not-charged",
  outcome: { ...outcome, message: "", terminalCode: null },
};
const said = { because: "the terminal keeps it" };
const verdict = { ...said, observation, proof };

test.each<[string, AttemptInput, object]>([
  ["charged-late", { input: "found-charged", report: other, ...said }, { toldBefore: notCharged }],
  ["doubted-late", { input: "found-in-doubt", report: other, ...said }, { toldBefore: notCharged }],
  ["found-reversed", { input: "found-reversed", report: other, ...said }, {}],
  ["told-late", { input: "late-result", report: other, judgement: "agrees", ...said }, {}],
])("a late verdict is published as %s, with its reason and the report", (kind, input, detailed) => {
  const { judgement, because } = { judgement: undefined, ...input, ...said };
  const detail = { report: other, because, ...(judgement ? { judgement } : {}), ...detailed };
  expect(stepOf(eventAt(9, input), notCharged)).toEqual({ atMs: 9, kind, detail, input: { v: 1 } });
});

test.each<[string, AttemptInput, object, object]>([
  [
    "recovery-charged",
    { input: "proved-charged", report: other, ...verdict },
    { report: other },
    {},
  ],
  ["recovery-not-charged", { input: "proved-not-charged", ...verdict }, {}, {}],
  [
    "recovery-reversed",
    { input: "proved-reversed", report: other, ...verdict },
    {},
    { report: other },
  ],
  ["recovery-not-reversed", { input: "proved-not-reversed", ...verdict }, {}, {}],
  ["recovery-requested", { input: "proved-requested", ...verdict }, {}, {}],
])("a proof is published as %s, with its grounds", (kind, input, detailed, kept) => {
  const detail = { ...detailed, ...verdict };
  const step = stepOf(eventAt(9, input), notCharged);
  expect(step).toEqual({ atMs: 9, kind, detail, input: { v: 1, ...kept } });
});

test("a late decision about goods is published with its goods alone", () => {
  const decision = { goods: "partly-issued", amountMinor: 500 } as const;
  const step = stepOf(eventAt(9, { input: "decide-late", decision }), notCharged);
  const kind = "goods-decided-late";
  expect(step).toEqual({ atMs: 9, kind, detail: decision, input: { v: 2, decision } });
});

test("only what version 1 lacks, and an end with a code that it lacks, has version 2", () => {
  const names = (version: number): Set<string> =>
    new Set(inputs.filter((one) => eventAt(9, one).v === version).map(({ input }) => input));
  expect([...names(2)]).toEqual(["decide-late"]);
  const at = house();
  const held = inputs.findIndex(({ input }) => input === "hold");
  const decided = inputs.findIndex((one) => one.input === "decide" && "unsaid" in one.decision);
  const ended = inputs.findIndex(({ input }) => input === "end") + 1;
  const { attempt } = attemptOf(at, [held, decided, ended]);
  const steps = at.journal.attempts.events(attempt.transactionId);
  expect(steps.map(({ kind, input }) => [kind, input?.["v"]])).toEqual([
    ["approved", 1],
    ["goods-decided", 1],
    ["end-aborted", 2],
  ]);
});

// A kind of its own, because a reversal's report does not show whose sale a record is.
test("the report of a reversal is published apart from the report of its sale", () => {
  const event = eventAt(9, { input: "report", report: back, judgement: "agrees" });
  const sale = { report: report(), by: "payment" } as const;
  const kinds = [notCharged, { phase: "reversing", sale, baseline, last: null } as const].map(
    (state) => stepOf(event, state).kind,
  );
  expect(kinds).toEqual(["report", "reversal-report"]);
});
