import { type Mutation, oneEdit } from "./mutation.ts";

const fresh = "src/tp-manager/matching/fresh-number.ts";
const machine = "src/tp-manager/attempts/payment-machine.ts";
const states = "src/tp-manager/attempts/payment.ts";
const reversals = "src/tp-manager/attempts/reversal-machine.ts";
const events = "src/tp-manager/attempts/attempt-event.ts";
const safety = ["test/tp-manager/orders/reversal-safety.test.ts"];
const ofStaff = ["test/tp-manager/orders/shared-reversal.test.ts"];
const commands = "src/tp-manager/arbiter/financial-commands.ts";
const folds = ["test/tp-manager/attempts/payment-machine.test.ts"];
const lateGoods = "test/tp-manager/orders/late-goods.test.ts";
const goodsInAnyOrder = "test/tp-manager/orders/goods-in-any-order.test.ts";
const unwritten = "test/tp-manager/arbiter/unwritten-evidence.test.ts";

/** Whether a receipt number still names its sale. */
const ofFreshness: readonly Mutation[] = [
  oneEdit(
    "the later result with the sale's number",
    ["16-fresh", "a later result has the sale's number | it leaves in no case"],
    safety,
    [
      fresh,
      "(report) => report.good && receiptNumberOf(report.receiptNumber) === number,",
      "(report) => !report.good && receiptNumberOf(report.receiptNumber) === number,",
    ],
  ),
  oneEdit(
    "the moment of a sale that is to be reversed",
    ["16-fresh", "equal in number, date and time as well"],
    safety,
    [
      fresh,
      "return haveMoments(sale.report, last.report) ? ofLast(facts) : ofNewest(facts);",
      "return ofLast(facts);",
    ],
  ),
  oneEdit(
    "the later sale that a terminal does not show",
    ["16-fresh", "no later sale of ours is known to be stored above it"],
    safety,
    [
      fresh,
      "later.some((attempt) => keptNumbers(attempt).length > 0)",
      "later.some((attempt) => keptNumbers(attempt).length > 1)",
    ],
  ),
  oneEdit(
    "the storage that each later command found",
    ["16-fresh", "what each later command had found stored must be known here too"],
    safety,
    [fresh, "(baseline ? [baseline.last] : [])), last];", "(baseline ? [] : [])), last];"],
  ),
  oneEdit(
    "the numbers that began again",
    ["16-fresh", "the numbers of the sales since must have gone up"],
    safety,
    [fresh, "return number > before || (", "return number !== before || ("],
  ),
  oneEdit(
    "the greatest number before a wrap",
    ["16-fresh", "with or without the step from 9999 to 0001"],
    safety,
    [
      fresh,
      "(before > RECEIPT_MAX - WRAP_WINDOW && number < WRAP_WINDOW)",
      "(number < WRAP_WINDOW)",
    ],
  ),
  oneEdit(
    "the later command of which nobody knows",
    ["16-fresh", "nothing may be unknown or unmatched since"],
    safety,
    [
      fresh,
      'if ([...later, ...given].some(({ state }) => "last" in state)) {',
      'if ([...later, ...given].every(({ state }) => "last" in state)) {',
    ],
  ),
  oneEdit(
    "the earlier sale whose reversal nobody knows the end of",
    ["16-fresh", "nothing may be unknown or unmatched since"],
    safety,
    [fresh, "if ([...later, ...given].some(", "if ([...later].some("],
  ),
  oneEdit(
    "the check that a sale is the newest command of a terminal that reports no last sale",
    ["16-fresh", "the sale is the newest command on this terminal"],
    safety,
    [fresh, "if (touched.length > 0) {", "if (touched.length > 1) {"],
  ),
  oneEdit(
    "the rule that staff may have sold after the newest command",
    ["16-fresh", "the newest command proves nothing: staff may have closed the day"],
    ofStaff,
    [fresh, "  if (isShared) return stale(", "  if (isShared && unmatched) return stale("],
  ),
  oneEdit(
    "the moment of what a later command found where staff sell too",
    ["16-fresh", "every probe counts only with its date and time"],
    ofStaff,
    [fresh, "(!isShared || haveMoments(one, report)),", "(!isShared || report.good),"],
  ),
  oneEdit(
    "the terminal of a later attempt",
    ["16-fresh", "attempts on another terminal | do not count"],
    safety,
    [
      fresh,
      "baseline !== null && sameTerminal(baseline.identity, now.identity);",
      "baseline !== null;",
    ],
  ),
  oneEdit(
    "the reversal of the sale at the terminal's own keys",
    ["16-fresh", "made at the terminal's own keys: then no command leaves"],
    safety,
    [fresh, 'if (givesBack(sale.report, report)) return { freshness: "reversed", report };', ""],
  ),
];

/** How the events of an attempt become its state. */
const ofFold: readonly Mutation[] = [
  oneEdit(
    "the other amount before the right one",
    ["04-approval", "good report with another amount or currency, or with an original trace"],
    folds,
    [
      states,
      'const worse = contradicted || last?.judgement === "disagrees";',
      "const worse = contradicted;",
    ],
  ),
  oneEdit(
    "the approval before a refusal",
    ["04-approval", "good report, then another that is not good"],
    folds,
    [
      states,
      'const worse = contradicted || last?.judgement === "disagrees";',
      'const worse = last?.judgement === "disagrees";',
    ],
  ),
  oneEdit(
    "the part of the goods that came out before a refusal",
    ["04-approval", "in doubt, except before goods were confirmed"],
    folds,
    [states, 'goods.decision.goods === "not-issued");', 'goods.decision.goods !== "issued");'],
  ),
  oneEdit(
    "the approval before two refusals",
    ["04-approval", "good report, then another that is not good"],
    folds,
    [machine, "const earlier = good ?? before;", "const earlier = good;"],
  ),
  oneEdit(
    "the second sale of which the first got no ACK",
    ["20-second-sale", "provably got its ACK | is charged, and the payment completes"],
    folds,
    [machine, "if (second && !last.acknowledged) {", "if (second && last.report.good === false) {"],
  ),
  oneEdit(
    "the read of the storage after a cancel of ours",
    ["22-heard-end", "the terminal's end is believed only after one more read"],
    [...folds, "test/tp-manager/arbiter/heard-ends.test.ts"],
    [machine, "if (!cancelled || after.phase", "if (cancelled || after.phase"],
  ),
  oneEdit(
    "the approvals before a late refusal",
    ["31-result-effects", "a result that contradicts an earlier approval"],
    folds,
    [
      machine,
      "=== true || earlier !== undefined || second !== undefined;",
      "=== true || second !== undefined;",
    ],
  ),
  oneEdit(
    "the late approval that was contradicted before",
    [
      "31-result-effects",
      "is kept, raises the alarm `report-mismatch`, and leaves the attempt in doubt",
    ],
    folds,
    [machine, 'const kept = isContradicted ? "disagrees" : judgement;', "const kept = judgement;"],
  ),
  oneEdit(
    "the ACK of an earlier report",
    ["28-unchanged-storage", "the ACK counts as arrived all the same"],
    [...folds, unwritten],
    [
      machine,
      "return { ...rest, ...earlierAckOf(state), last, ...(isSecond ?",
      "return { ...rest, last, ...(isSecond ?",
    ],
  ),
  oneEdit(
    "the goods that nobody spoke of",
    ["5.12", "An order whose goods were not delivered ends `Cancelled`"],
    folds,
    [
      machine,
      'if (goods && goods.decision?.goods !== "issued" && !isPart(goods, last)) {',
      'if (goods?.decision && goods.decision.goods !== "issued" && !isPart(goods, last)) {',
    ],
  ),
  oneEdit(
    "the code of goods that may be out",
    ["5.12", "ends `Cancelled` with `DELIVERY_UNCONFIRMED`"],
    [...folds, lateGoods],
    [machine, "goods ? mayBeOut(goods) : before", "goods ? false : before"],
  ),
  oneEdit(
    "the record of a late decision about goods",
    ["5.12", "is written to the order's timeline before it is answered"],
    [lateGoods],
    [
      commands,
      'writer.advance({ input: "decide-late", decision, ...(approved && { approved }) });',
      "void approved;",
    ],
  ),
  oneEdit(
    "the alarm about goods that are not charged",
    ["5.12", "calls an operator when the kiosk reports too late that goods came out"],
    [lateGoods],
    [commands, 'isOut && chargedOf(decisive) !== "yes"', "isCharged(decisive.state)"],
  ),
  oneEdit(
    "the attempt whose goods are reported",
    ["5.12", "is about the newest attempt of the order that was approved or charged"],
    [goodsInAnyOrder],
    [commands, "all.findLast((each) => attempts.hadGoods(each));", "all.at(-1);"],
  ),
  oneEdit(
    "the goods of an attempt before one that charged nothing",
    ["5.12", "as long as one of its attempts does, whatever became of later attempts"],
    [goodsInAnyOrder],
    [
      "src/tp-manager/journal/attempt-rows.ts",
      "?? attempts.findLast(({ state }) => isUnconfirmed(state)) ??",
      "??",
    ],
  ),
  oneEdit(
    "the order's answer to the request of an attempt that charged nothing",
    ["5.12", "also to the request of a later attempt"],
    [goodsInAnyOrder],
    [
      "src/tp-manager/orders/orders.ts",
      "(isNotCharged(end.state) ? this.decisive(request.orderId, true) : end)",
      "end",
    ],
  ),
  oneEdit(
    "the lost line before a sale that was taken back",
    ["22-heard-end", "No other proof gives this error"],
    ["test/tp-manager/arbiter/recovery.test.ts"],
    [
      "src/tp-manager/arbiter/recovery.ts",
      '=== "end-lost" && detail["code"] === LINE_LOST',
      '=== "end-lost"',
    ],
  ),
  oneEdit(
    "the amount of the part that came out",
    ["5.12", "the stored sale is read back from the terminal and compared."],
    [...folds, "test/tp-manager/orders/two-phase.test.ts"],
    [
      machine,
      'decision?.goods === "partly-issued" && report.amountMinor === decision.amountMinor;',
      'decision?.goods === "partly-issued" && report.amountMinor !== null;',
    ],
  ),
  oneEdit(
    "the first word of an operator's two",
    ["24-amount", "is possible once | it corrects the operator's first one"],
    folds,
    [
      machine,
      "if (!isOpposite || !settled || settled.corrected) throw",
      "if (!isOpposite || !settled) throw",
    ],
  ),
  oneEdit(
    "the reversal that the terminal had reported before a refusal",
    ["07-returns", "A reversal whose end was not heard makes the order"],
    folds,
    [
      reversals,
      "last: nextReport(last, input.report, input.judgement),",
      "last: nextReport(last, input.report, input.judgement, true),",
    ],
  ),
  oneEdit(
    "the clear report in the end of a reversal",
    ["16-fresh", "leaves the order in doubt"],
    ["test/tp-manager/orders/after-sale.test.ts", ...safety],
    [
      reversals,
      'if (last?.judgement === "agrees") return { phase: "reversed"',
      'if (last?.report.good) return { phase: "reversed"',
    ],
  ),
  oneEdit(
    "the report of a reversal before its refusal",
    ["16-fresh", '"Already reversed" | it is believed'],
    folds,
    [
      reversals,
      "if (notReversed && saysReversedBefore(last, end)) {",
      "if (saysReversedBefore(last, end)) {",
    ],
  ),
  oneEdit(
    "the version of an event",
    ["9.6", "The audit counts the steps that a newer version stored"],
    ["test/tp-manager/audit/audit.test.ts", "test/tp-manager/attempts/attempt-event.test.ts"],
    [
      events,
      'Number(step.input?.["v"] ?? VERSION) > VERSION',
      'Number(step.input?.["v"] ?? VERSION) > 9',
    ],
  ),
  oneEdit(
    "the kind of a reversal's report among the events",
    ["3", "one table derives them from the event"],
    ["test/tp-manager/attempts/attempt-event.test.ts"],
    [
      events,
      'event.input === "report" && before && saleOf(before) ? "reversal-report"',
      'event.input === "report" && !before ? "reversal-report"',
    ],
  ),
  oneEdit(
    "the sale of an attempt that the supervisor has handed back",
    ["9.6", "is replayed from what the supervisor gave back."],
    ["test/tp-manager/audit/imported.test.ts", "test/tp-manager/attempts/attempt-event.test.ts"],
    [events, "newerState(state ?? undefined, {", "newerState(undefined, {"],
  ),
];

/** Numbers that name a sale, and the fold of an attempt. */
export const foldMutations: readonly Mutation[] = [...ofFreshness, ...ofFold];
