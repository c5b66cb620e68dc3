import { type Mutation, oneEdit } from "./mutation.ts";

const rule = "src/tp-manager/matching/one-way.ts";
const order = "src/tp-manager/matching/one-way.ts";
const lies = "test/tp-manager/terminal/one-way/one-way-lies.test.ts";
const kept = "test/tp-manager/terminal/one-way/delayed-results.test.ts";
const late = "test/tp-manager/arbiter/late-results.test.ts";
const unstored = "test/tp-manager/terminal/one-way/unstored.test.ts";
const driver = "src/tp-manager/terminal/one-way/one-way-terminal.ts";
const nameless = "test/tp-manager/arbiter/nameless-results.test.ts";

const mutation = (
  removes: string,
  rule: "25-one-way" | "30-whose-result" | "31-result-effects" | "33-references",
  sentence: string,
  tests: readonly string[],
  edit: readonly [file: string, from: string, to: string],
): Mutation => oneEdit(removes, [rule, sentence], tests, edit);

/** The order to which a result of a one-way terminal belongs. */
export const oneWayMutations: readonly Mutation[] = [
  mutation(
    "the rule that the last result once more decides nothing",
    "33-references",
    "or when it carries none and is byte for byte the last result",
    [lies],
    [rule, "  if (isAgain && echoes) return", "  if (false && echoes) return"],
  ),
  mutation(
    "the driver's knowledge of the last result's bytes",
    "33-references",
    "or when it carries none and is byte for byte the last result",
    [lies],
    [
      driver,
      "    return this.#stored && Buffer",
      "    return this.#storedAtMs === undefined ? false : this.#stored && Buffer",
    ],
  ),
  mutation(
    "the rule that a foreign reference in the place of ours decides nothing",
    "33-references",
    "decides nothing when it carries a foreign reference",
    [lies],
    [
      rule,
      "  if (echoes && isForeign) return",
      "  if (echoes && isForeign && result.isEarly) return",
    ],
  ),
  mutation(
    "what a connection for each payment has learned of references",
    "30-whose-result",
    "carried a reference of ours before: then it decides nothing there either",
    [
      lies,
      "test/tp-manager/terminal/one-way/after-the-504.test.ts",
      "test/scenario/one-way-lies.test.ts",
    ],
    [rule, "line.isShared || echoes || !holds", "line.isShared || !holds"],
  ),
  mutation(
    "the earlier attempts in doubt to which a payment's result may belong",
    "30-whose-result",
    "is not taken for the current payment's while it can be that of an earlier attempt in doubt",
    [kept],
    [rule, "owed.length > 0 && mayBeLate", "owed.length > 9 && mayBeLate"],
  ),
  mutation(
    "the action in what a result contradicts",
    "31-result-effects",
    "cannot be refused on the wire, and has another amount, currency or action",
    [lies],
    [rule, '    member === "action" || (member', '    member === "" || (member'],
  ),
  mutation(
    "the register number in what a result contradicts",
    "31-result-effects",
    "another register's number where this terminal has given ours back before",
    [lies],
    [rule, '(member === "register number" && learned', '(member === "" && learned'],
  ),
  mutation(
    "the warning alone before our register number came back",
    "31-result-effects",
    "is a finding of the doctor",
    [lies, "test/tp-manager/arbiter/one-way-payments.test.ts"],
    [rule, '&& learned.has("echoes-register"));', ");"],
  ),
  mutation(
    "the rule that an approval after a refusal decides nothing",
    "31-result-effects",
    "comes after a refusal of the same payment",
    [lies],
    [rule, "...(wasRefused && !isOutweighed ?", "...(wasRefused && isOutweighed ?"],
  ),
  mutation(
    "the check of the orders in doubt that a refusal without a name contradicts",
    "31-result-effects",
    "or of such a register, that carries no reference of ours ends nothing",
    [lies],
    [
      rule,
      "  return !isAmount || contradicts.length > 0;",
      "  return !isAmount || contradicts.length > 9;",
    ],
  ),
  mutation(
    "the kind of answer in what is learned",
    "33-references",
    "the reference, separately for approvals, refusals and cancellations",
    [lies],
    [
      rule,
      '  return isCancelled ? "echoes-cancellations" : "echoes-refusals";',
      '  return isCancelled ? "echoes-refusals" : "echoes-refusals";',
    ],
  ),
  mutation(
    "the late payment of the same amount",
    "30-whose-result",
    "and a payment of that amount was sent since",
    [late],
    [
      rule,
      "sent.find((one) => agrees(one, report) && attempts.canHaveLeft(one)) === attempt;",
      "sent.includes(attempt) && agrees(attempt, report) && attempts.canHaveLeft(attempt);",
    ],
  ),
  mutation(
    "the last proved order of results",
    "30-whose-result",
    "after that own result neither an approval nor a refusal is still delayed",
    [kept],
    [
      order,
      "    if (had && (isOrdered || waiting.length === 0))",
      "    if (had && waiting.length === 0)",
    ],
  ),
  mutation(
    "the comparison of a late result with the last one before the payment in doubt",
    "30-whose-result",
    "and the last result before that payment, or the last that was no order's, was the very same",
    [late],
    [
      rule,
      "  const isNew = !result.isAgain && !wasReportedBefore(",
      "  const isNew = !result.isAgain || !wasReportedBefore(",
    ],
  ),
  mutation(
    "the order that an approval without a name contradicts",
    "30-whose-result",
    "a terminal can approve what it had turned away",
    [nameless],
    [rule, "  const denied = report.good ? denied", "  const denied = !report.good ? denied"],
  ),
  mutation(
    "the result that an order settled by a person still waits for",
    "30-whose-result",
    "because a person's decision does not replace the result",
    [kept],
    [
      order,
      '  const open = "settled" in state ? state.settled?.doubt : state;',
      "  const open = state;",
    ],
  ),
  mutation(
    "the person's decision in what a late result can be",
    "30-whose-result",
    "but only an approval of one that was charged, and a refusal of one that was not",
    [kept],
    [rule, "  return isInDoubt(state) || isCharged(state) === good;", "  return good || !good;"],
  ),
  mutation(
    "the late result of an order that a person has settled",
    "30-whose-result",
    "until it has come, or until a person settles a later order",
    [kept],
    [
      "src/tp-manager/arbiter/one-way.ts",
      'if ("settled" in state && state.settled) this.#noteSettledResult(transactionId, report);',
      "",
    ],
  ),
  mutation(
    "the result that agrees with a person's decision",
    "30-whose-result",
    "with a decision that a result of its time agrees with",
    [kept],
    [
      "src/tp-manager/arbiter/one-way.ts",
      "    journal.attempts.addEvent(transactionId, note);\n",
      "",
    ],
  ),
  mutation(
    "the search for a reference among the attempts that have ended",
    "30-whose-result",
    "looked for among all that are not in the archive",
    [late],
    [
      rule,
      "  for (const id of attempts.ids()) {",
      "  for (const { transactionId: id } of attempts.unfinished()) {",
    ],
  ),
  mutation(
    "the result that could not be judged and is judged again",
    "31-result-effects",
    "or cannot be judged because the journal cannot be read, on a line without ACK",
    [unstored],
    [driver, "      return undefined;", "      return false;"],
  ),
  mutation(
    "the approval in memory that stops the next request",
    "25-one-way",
    "An approval that waits in memory because the disk failed stops the request",
    [unstored],
    [driver, "nothing is sent.\n    this.#unstored.storeAll();", "nothing is sent."],
  ),
  mutation(
    "the early approval that could not be judged",
    "25-one-way",
    "so the request is not sent: the payment ends as not sent",
    [unstored],
    [driver, "if (!isOwn && isEarly && this", "if (isOwn === false && isEarly && this"],
  ),
];
