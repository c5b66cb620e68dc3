import { type Mutation, oneEdit } from "./mutation.ts";

const own = ["test/scenario/matching/own-neighbours.test.ts"];
const inquiries = ["test/scenario/matching/probes.test.ts"];
const effects = ["test/tp-manager/matching/effects.test.ts"];
const granted = ["test/tp-manager/matching/not-granted.test.ts"];
const late = ["test/tp-manager/arbiter/late-results.test.ts"];
const twice = ["test/tp-manager/arbiter/charged-twice.test.ts"];
const neverGiven = ["matching", "A verdict whose assumption is off is never given"] as const;

/** What an inquiry shows of other orders, and the assumptions about a terminal. */
export const inquiryMutations: readonly Mutation[] = [
  oneEdit("the assumptions of a proof", neverGiven, granted, [
    "src/tp-manager/matching/match.ts",
    "answer.proof.assumes.every((each) => assumptions.has(each));",
    "answer.proof.assumes.length >= 0;",
  ]),
  oneEdit("the assumptions of a row of the table", neverGiven, granted, [
    "src/tp-manager/matching/table.ts",
    "(each) => facts.holds.has(each));",
    "(each) => facts.holds.size > 0 || each === null);",
  ]),
  oneEdit("the assumption of a terminal's own end", neverGiven, granted, [
    "src/tp-manager/arbiter/payment-run.ts",
    "if (assumptions.has(needed)) return end;",
    "if (assumptions.size > 0) return end;",
  ]),
  oneEdit(
    "the order that becomes unknown when the terminal does not show whether it keeps a sale",
    ["19-late", "The terminal does not show whether it keeps the one that fits"],
    inquiries,
    [
      "src/tp-manager/arbiter/unmatched.ts",
      'if (finding === "unclear" && conclusion.verdict !== "held" && answer) {',
      'if (finding === "held" && answer) {',
    ],
  ),
  oneEdit(
    "the check of the other orders that a probe concerns",
    ["19-late", "and whenever the storage is read"],
    inquiries,
    ["src/tp-manager/arbiter/inquiries.ts", "    this.#callbacks.probed(probe);\n", ""],
  ),
  oneEdit(
    "the sale that was stored over another one",
    ["matching", "another transaction was stored since, so this one need not be the last one"],
    inquiries,
    ["src/tp-manager/matching/matcher.ts", "isStoredSince || id === null", "id === null"],
  ),
  oneEdit(
    "the alarm for the second sale of an order that a probe has shown",
    ["19-late", "becomes charged or in doubt all the same, with the alarm `order-charged-twice`"],
    inquiries,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "if (isTwice) {",
      "if (isTwice && before.number === 0) {",
    ],
  ),
  oneEdit(
    "the second attempt that can have made the sale itself",
    [
      "19-late",
      "one of them is charged, and the record can be its own | no second charge, so no alarm",
    ],
    effects,
    [
      "src/tp-manager/matching/answer.ts",
      'if (fitting.some((attempt) => chargedOf(attempt) === "yes")) return [];',
      "if (fitting.length === 0) return [];",
    ],
  ),
  oneEdit(
    "the declined order that fits as well as the order in doubt",
    [
      "30-whose-result",
      "it is an approval that can also be that of another order, which was answered as not charged",
    ],
    late,
    ["src/tp-manager/matching/one-way.ts", "orders.size === 1 &&", "orders.size > 0 &&"],
  ),
  oneEdit(
    "the approval that a former version has kept",
    ["31-result-effects", "has kept with its"],
    late,
    [
      "src/tp-manager/arbiter/one-way.ts",
      "if (first) this.#askPerson(",
      "if (first?.good === false) this.#askPerson(",
    ],
  ),
  oneEdit(
    "the attempt in doubt that an operator's decision is about when another one is charged",
    ["19-late", "about the attempt that it names, else about the one in doubt"],
    twice,
    [
      "src/tp-manager/orders/orders.ts",
      "const inDoubt = all.findLast(({ state }) => isInDoubt(state)) ?? latest;",
      "const inDoubt = latest;",
    ],
  ),
  oneEdit(
    "the other charge, when one of an order is reversed",
    ["19-late", "the answer to the reversal of one names the other"],
    twice,
    [
      "src/tp-manager/orders/after-sale.ts",
      'chargedOf(spoken) === "no" ? end : spoken',
      'chargedOf(spoken) === "no" ? spoken : end',
    ],
  ),
  oneEdit(
    "the orders near a sale of a terminal that was never probed",
    ["matching", "Orders that fit but for one fact are near: an alarm names them"],
    own,
    [
      "src/tp-manager/matching/matcher.ts",
      'if (answer.answer === "none") return concernsNotCharged(answer);',
      'if (answer.answer === "none") return false;',
    ],
  ),
];
