import { describe, expect, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import type { AttemptInput } from "../../../src/tp-manager/attempts/attempt-input.ts";
import {
  type AttemptState,
  isUnconfirmed,
  type Judgement,
} from "../../../src/tp-manager/attempts/payment.ts";
import { advance, judgeReport } from "../../../src/tp-manager/attempts/payment-machine.ts";
import { referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import type { PaymentEnd, TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, declined, report } from "../../support/terminals/reports.ts";
import { aborted } from "../../support/terminals/scripted-terminal.ts";

const sent: AttemptState = { phase: "sent", last: null, goods: null };
const order = { amountMinor: 999, currencyNumeric: "978" };
const completed: PaymentEnd = { end: "completed", ticket: "" };
const lost: PaymentEnd = { end: "lost", code: "T4", text: "silence", ticket: "" };
const refused: PaymentEnd = { end: "refused", code: "9C", text: "wait" };
const notSent: PaymentEnd = { end: "not-sent", code: "", text: "no link" };

const says = (said: TransactionReport): AttemptInput => ({
  input: "report",
  report: said,
  judgement: judgeReport(order, said),
});

function run(...inputs: AttemptInput[]): AttemptState {
  return inputs.reduce(advance, sent);
}

function phase(...inputs: AttemptInput[]): string {
  const state = run(...inputs);
  return state.phase === "not-charged" ? state.outcome.status : state.phase;
}

const end = (how: PaymentEnd): AttemptInput => ({ input: "end", end: how });

describe("how a report is judged (docs/rules/04-approval.md)", () => {
  const table: Array<[string, Partial<TransactionReport>, Judgement]> = [
    ["good, amount and currency as asked", {}, "agrees"],
    ["good without a currency where the euro was asked for", { currencyNumeric: null }, "agrees"],
    ["good with another amount", { amountMinor: 1000 }, "disagrees"],
    ["good without an amount", { amountMinor: null }, "disagrees"],
    ["good with another currency", { currencyNumeric: "756" }, "disagrees"],
    ["good but the reversal of an earlier sale", { originalTrace: "000011" }, "disagrees"],
    ["without a result code", { resultCode: null, good: false }, "no-result"],
    ["not good", { resultCode: "05", good: false }, "not-good"],
  ];
  test.each(table)("%s", (_name, change, judgement) => {
    expect(judgeReport(order, report(change))).toBe(judgement);
  });

  test("good without a currency disagrees where another currency was asked for", () => {
    const francs = { amountMinor: 999, currencyNumeric: "756" };
    expect(judgeReport(francs, report({ currencyNumeric: null }))).toBe("disagrees");
  });
});

describe("how an attempt ends", () => {
  const good = says(report());
  const bad = says(declined());
  const other = says(report({ amountMinor: 1 }));
  const empty = says(report({ resultCode: null, good: false }));
  const held: AttemptInput = { input: "hold", report: report(), decideByMs: 0 };
  const withheld: AttemptInput = { input: "decide", decision: { goods: "not-issued" }, why: "" };
  const issued: AttemptInput = { input: "decide", decision: { goods: "issued" }, why: "" };
  const some = { goods: "partly-issued", amountMinor: 500 } as const;
  const part: AttemptInput = { input: "decide", decision: some, why: "" };
  const withdrawn: PaymentEnd = { end: "withdrawn", text: "cancelled in time" };

  const table: Array<[string, AttemptInput[], string]> = [
    ["good report, good completion", [good, end(completed)], "charged"],
    ["several reports, the last one good", [bad, good, end(completed)], "charged"],
    ["declined and aborted", [bad, end(aborted)], "declined"],
    ["declined and completed", [bad, end(completed)], "declined"],
    ["aborted without a report", [end(aborted)], "cancelled"],
    ["refused at once", [end(refused)], "failed"],
    ["nothing left this process", [end(notSent)], "failed"],
    ["completed without a report", [end(completed)], "in-doubt"],
    ["good report, then aborted", [good, end(aborted)], "in-doubt"],
    ["good report, then not good, then aborted", [good, bad, end(aborted)], "in-doubt"],
    ["good report, then not good, then completed", [good, bad, end(completed)], "in-doubt"],
    ["another amount approved and completed", [other, end(completed)], "in-doubt"],
    ["another amount approved, refused and reversed", [other, bad, end(aborted)], "in-doubt"],
    ["another amount, then the right one", [other, good, end(completed)], "in-doubt"],
    ["no result code, completed", [empty, end(completed)], "in-doubt"],
    ["no result code, aborted", [empty, end(aborted)], "in-doubt"],
    ["lost before any report", [end(lost)], "in-doubt"],
    ["lost after a good report", [good, end(lost)], "in-doubt"],
    ["lost after a decline", [bad, end(lost)], "in-doubt"],
    ["refused after a report", [good, end(refused)], "in-doubt"],
    ["goods withheld, then aborted", [held, withheld, end(aborted)], "cancelled"],
    ["goods withheld, not good, aborted", [held, withheld, bad, end(aborted)], "cancelled"],
    ["goods withheld, and yet completed", [held, withheld, end(completed)], "in-doubt"],
    ["goods undecided, then aborted", [held, end(aborted)], "in-doubt"],
    ["goods undecided, not good, then aborted", [held, bad, end(aborted)], "cancelled"],
    ["goods undecided, and yet completed", [held, end(completed)], "in-doubt"],
    ["goods issued, not good, then aborted", [held, issued, bad, end(aborted)], "in-doubt"],
    ["a part of the goods, not good, then aborted", [held, part, bad, end(aborted)], "in-doubt"],
    ["cancelled before the command left", [end(withdrawn)], "cancelled"],
    ["the process ended while it ran", [good, { input: "interrupted" }], "in-doubt"],
  ];
  test.each(table)("%s", (_name, inputs, expected) => {
    expect(phase(...inputs)).toBe(expected);
  });

  const silent: AttemptInput = {
    input: "decide",
    decision: { goods: "not-issued", unsaid: true },
    why: "the time was over",
  };
  const late = (goods: "issued" | "not-issued") =>
    ({ input: "decide-late", decision: { goods } }) as const;
  const proved: AttemptInput = { input: "proved-not-charged", because: "nothing new" };
  const codes: Array<[string, AttemptInput[], string]> = [
    ["no goods, said by the kiosk", [held, withheld, bad, end(aborted)], "none"],
    ["no goods, because the time was over", [held, silent, bad, end(aborted)], "may be out"],
    ["given up by the terminal", [held, bad, end(aborted)], "may be out"],
    ["given up, then issued", [held, bad, issued, end(aborted)], "may be out"],
    ["the line lost without a decision", [held, end(lost), proved], "may be out"],
    ["the line lost after the goods", [held, issued, end(lost), proved], "may be out"],
    ["unclear after the goods", [held, issued, bad, end(aborted), proved], "may be out"],
    ["interrupted after silence", [held, silent, { input: "interrupted" }, proved], "may be out"],
    ["no goods, said too late", [held, silent, end(aborted), late("not-issued")], "none"],
    ["goods, said too late", [held, silent, end(aborted), late("issued")], "may be out"],
    ["no goods, then goods", [held, withheld, end(aborted), late("issued")], "may be out"],
  ];
  test.each(codes)("a sale with goods that is not charged: %s", (_name, inputs, expected) => {
    const known = { status: "cancelled", error: "GOODS_NOT_DELIVERED" };
    const state = run(...inputs);
    expect(state).toMatchObject({ phase: "not-charged", outcome: known });
    expect(isUnconfirmed(state)).toBe(expected === "may be out");
    expect("newer" in (state.phase === "not-charged" ? state.outcome : {})).toBe(
      expected === "may be out",
    );
  });

  test("a late decision changes no state but that of an approved, uncharged sale", () => {
    const others = [
      run(good, end(completed)),
      run(good, end(lost)),
      run(held, issued, end(completed)),
      run(bad, end(aborted)),
      run(good, end(lost), proved),
      run(held),
    ];
    for (const state of others) {
      expect(advance(state, late("issued"))).toEqual(state);
      expect(advance(state, late("not-issued"))).toEqual(state);
    }
  });

  test("in doubt, the last decision about the goods gives an end without a charge its code", () => {
    const fault = { phase: "not-charged", outcome: { error: "TERMINAL_FAULT" } };
    const none = run(held, end(lost), late("not-issued"), proved);
    expect(none).toMatchObject(fault);
    expect(isUnconfirmed(none)).toBe(false);
    const inDoubt = run(held, withheld, end(lost));
    expect(advance(inDoubt, proved)).toMatchObject(fault);
    const out = advance(inDoubt, late("issued"));
    expect({ ...out, goods: null }).toEqual({ ...inDoubt, goods: null });
    expect(isUnconfirmed(advance(out, proved))).toBe(true);
    expect(isUnconfirmed(advance(advance(out, late("not-issued")), proved))).toBe(false);
  });

  test("goods that came out after the proof give the end of an approved sale its code", () => {
    const ended = run(held, withheld, end(lost), proved);
    const out = advance(ended, { ...late("issued"), approved: true });
    expect(out).toMatchObject({ outcome: { status: "cancelled", error: "GOODS_NOT_DELIVERED" } });
    expect(isUnconfirmed(out)).toBe(true);
    const none = advance(out, { ...late("not-issued"), approved: true });
    expect(none).toMatchObject({ outcome: { error: "GOODS_NOT_DELIVERED" } });
    expect(isUnconfirmed(none)).toBe(false);
    expect(advance(ended, { ...late("not-issued"), approved: true })).toEqual(ended);
  });

  test("the answer before a sale was found follows the decisions after it", () => {
    const found = (state: AttemptState) =>
      advance(state, { input: "found-in-doubt", report: report(), because: "it is stored" });
    const finding = {
      input: "settled",
      outcome: "not-charged",
      report: report(),
      note: "",
    } as const;
    const [out, none] = [silent, withheld].map((one) => found(run(held, one, end(aborted))));
    if (!out || !none) throw new Error("both were found");
    const codes = [
      [out, [], true],
      [out, [late("not-issued")], false],
      [none, [], false],
      [none, [late("issued")], true],
      [
        found(run(held, withheld, end(lost), proved)),
        [{ ...late("issued"), approved: true }],
        true,
      ],
      [found(run(bad, end(aborted))), [late("issued")], false],
    ] as const;
    for (const [state, inputs, isOut] of codes) {
      const known = inputs.reduce<AttemptState>(advance, state);
      for (const last of [proved, finding]) expect(isUnconfirmed(advance(known, last))).toBe(isOut);
    }
  });

  test("goods that may be out give an operator's finding its code, which can be corrected", () => {
    const found = (outcome: "charged" | "not-charged"): AttemptInput => {
      return { input: "settled", outcome, report: report(), note: "seen" };
    };
    const settled = run(held, issued, end(lost), found("not-charged"));
    expect(isUnconfirmed(settled)).toBe(true);
    expect(advance(settled, found("charged"))).toMatchObject({ phase: "charged", by: "operator" });
    expect(run(held, withheld, end(lost), found("not-charged"))).toMatchObject({
      outcome: { status: "failed", error: "SETTLED_NOT_CHARGED" },
    });
  });

  test("only a reversal that the terminal reported after a lost line has a code of its own", () => {
    const ended = (input: AttemptInput, ...before: AttemptInput[]) => run(...before, input);
    const because = "the terminal has reversed what it had reported";
    const back: AttemptInput = { input: "proved-not-charged", because, takenBack: true };
    const fault = { status: "failed", error: "TERMINAL_FAULT", message: because };
    expect(ended(back, good, end(lost))).toMatchObject({
      outcome: { ...fault, newer: "SALE_TAKEN_BACK" },
    });
    expect(ended({ input: "proved-not-charged", because }, good, end(lost))).toEqual({
      phase: "not-charged",
      outcome: { ...fault, terminalCode: null },
    });
    // What the terminal reported of the end, or the kiosk was answered, is said again.
    expect(ended(back, good, end(aborted))).toMatchObject({
      outcome: { error: "PAYMENT_CANCELLED" },
    });
  });

  test("an ACK counts for its own report and not for the next one", () => {
    const acked = run(good, { input: "acknowledged" });
    expect(acked).toMatchObject({ last: { acknowledged: true } });
    expect(advance(acked, good)).toMatchObject({ last: { acknowledged: false } });
  });

  test("an attempt in doubt keeps the ACK and the terminal's abort", () => {
    const state = run(good, { input: "acknowledged" }, end(aborted));
    expect(state).toMatchObject({
      phase: "in-doubt",
      last: { acknowledged: true },
      heard: { status: "cancelled", error: "PAYMENT_CANCELLED" },
    });
  });

  test.each([1, 2])("a good report stays known after %d later ones that are not good", (count) => {
    const refusals = Array.from({ length: count }, () => bad);
    const state = run(good, { input: "acknowledged" }, ...refusals, end(lost));
    expect(state).toMatchObject({
      last: { report: { good: false } },
      earlier: { report: { traceNumber: "000012" }, acknowledged: true },
    });
  });

  test("a second sale is kept with the attempt, and only the first one charges it", () => {
    const other = report({ receiptNumber: "0003", traceNumber: "000013" });
    const refusedSecond: AttemptInput = { input: "second-sale", report: other };
    expect(phase(good, { input: "acknowledged" }, refusedSecond, end(completed))).toBe("charged");
    expect(phase(good, refusedSecond, end(completed))).toBe("in-doubt");
    expect(run(good, refusedSecond, end(aborted))).toMatchObject({
      last: { report: { receiptNumber: "0002" } },
      second: { receiptNumber: "0003" },
    });
  });

  test("an abort after our cancel is in doubt until probes prove it", () => {
    const ended = advance(sent, { input: "end", end: aborted, cancelled: true });
    expect(ended).toMatchObject({ phase: "in-doubt", heard: { status: "cancelled" } });
    expect(advance(ended, { input: "proved-not-charged", because: "" })).toMatchObject({
      phase: "not-charged",
      outcome: { error: "PAYMENT_CANCELLED" },
    });
  });

  test("a decline carries the terminal's code and text", () => {
    expect(run(bad, end(aborted))).toMatchObject({
      outcome: { error: "PAYMENT_DECLINED", terminalCode: "05", message: "do not honour" },
    });
  });

  test("the customer's time-out has an error of its own, apart from a cancel", () => {
    const slow = says(declined({ resultCode: "6C", reason: "customer-timeout" }));
    expect(run(slow, end(aborted))).toMatchObject({
      outcome: { status: "cancelled", error: "CUSTOMER_TIMEOUT" },
    });
  });
});

describe("an attempt in doubt", () => {
  const attemptInDoubt = run(end(lost));

  test("ends only by a proof", () => {
    expect(
      advance(attemptInDoubt, { input: "proved-charged", report: report(), because: "" }),
    ).toMatchObject({
      phase: "charged",
      by: "recovery",
    });
    expect(
      advance(attemptInDoubt, { input: "proved-not-charged", because: "no trace" }),
    ).toMatchObject({
      phase: "not-charged",
      outcome: { status: "failed", message: "no trace" },
    });
  });

  test("refuses every other input", () => {
    for (const input of [says(report()), { input: "acknowledged" }, end(completed)] as const) {
      expect(() => advance(attemptInDoubt, input)).toThrow(BrokenInvariant);
    }
  });
});

test("an operator's decision can be corrected once", () => {
  const settled = (outcome: "charged" | "not-charged"): AttemptInput => ({
    input: "settled",
    outcome,
    report: report(),
    note: "seen",
  });
  const corrected = [end(lost), settled("not-charged"), settled("charged")];
  expect(phase(...corrected)).toBe("charged");
  expect(() => run(...corrected, settled("not-charged"))).toThrow(BrokenInvariant);
});

describe("a reversal that the terminal reported as done", () => {
  const back = report({ traceNumber: "000013", originalTrace: "000012" });
  const reversing: AttemptInput[] = [
    says(report()),
    end(completed),
    { input: "reverse", baseline },
    { input: "report", report: back, judgement: "agrees" },
  ];

  test("is in doubt after a refusal that follows", () => {
    expect(phase(...reversing, says(declined()), end(aborted))).toBe("reversal-in-doubt");
  });

  test("is in doubt after the answer that the sale was already reversed", () => {
    const before = { ...aborted, reason: "already-reversed" } as const;
    expect(phase(...reversing, end(before))).toBe("reversal-in-doubt");
  });
});

test("an attempt that has ended refuses every input", () => {
  const inputs: AttemptInput[] = [
    says(report()),
    { input: "acknowledged" },
    end(completed),
    { input: "interrupted" },
    { input: "proved-charged", report: report(), because: "" },
    { input: "proved-not-charged", because: "" },
  ];
  const reversed: AttemptState = {
    phase: "reversed",
    sale: { report: report(), by: "payment" },
    report: report(),
  };
  for (const state of [run(says(report()), end(completed)), run(end(aborted)), reversed]) {
    for (const input of inputs) expect(() => advance(state, input)).toThrow(BrokenInvariant);
  }
});

test("a running attempt refuses a proof of recovery", () => {
  const proof: AttemptInput = { input: "proved-charged", report: report(), because: "" };
  expect(() => advance(sent, proof)).toThrow(BrokenInvariant);
});

describe("a late result (docs/rules/25-one-way.md)", () => {
  const late = (said: TransactionReport): AttemptInput => ({
    input: "late-result",
    report: said,
    because: "",
    judgement: judgeReport(order, said),
  });
  const other = says(report({ amountMinor: 1 }));

  const approvals: Array<[string, AttemptInput[]]> = [
    ["that was contradicted", [says(report()), says(declined())]],
    ["of a second sale", [{ input: "second-sale", report: report() }]],
  ];
  test.each(approvals)("that refuses after an approval %s leaves it in doubt", (_name, heard) => {
    expect(run(...heard, end(lost), late(declined())).phase).toBe("in-doubt");
  });

  test("that contradicts an earlier one leaves the attempt in doubt, even twice", () => {
    const state = run(other, end(completed), late(report()), late(report()));
    expect(state.phase).toBe("in-doubt");
  });

  test("that names the attempt outweighs an approval that names none", () => {
    const named = late(report({ reference: referenceOf("A") }));
    expect(run(other, end(completed), named).phase).toBe("charged");
    const otherNamed = says(report({ amountMinor: 1, reference: referenceOf("A") }));
    expect(run(otherNamed, end(completed), named).phase).toBe("in-doubt");
  });
});
