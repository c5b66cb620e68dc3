import { type Mutation, oneEdit } from "./mutation.ts";

const comparison = "src/tp-manager/attempts/comparison.ts";
const candidates = "src/tp-manager/matching/candidates.ts";
const match = "src/tp-manager/matching/match.ts";
const answers = ["test/tp-manager/matching/match.test.ts"];
const records = ["test/tp-manager/attempts/comparison.test.ts"];
const late = "test/tp-manager/arbiter/late-reports.test.ts";
const contradicted = ["test/tp-manager/arbiter/contradicted-reports.test.ts"];
const candidateTests = "test/tp-manager/matching/candidates.test.ts";

/** Which two records are one transaction. */
const ofComparison: readonly Mutation[] = [
  oneEdit(
    "the rule that one second with other numbers is undecided",
    ["matching", "| equal | both reported, and other | equal | undecided: a terminal that spells"],
    records,
    [
      comparison,
      'if (numbers === "differ") return content ? "unsure" : "different";',
      'if (numbers === "differ") return "different";',
    ],
  ),
  oneEdit(
    "the rule that an equal trace with another receipt number within an hour is undecided",
    [
      "matching",
      "| within an hour | the trace is equal; or the receipt, where no trace is reported |",
    ],
    records,
    [comparison, "content && sharesNumber(a, b) ?", 'content && numbers === "agree" ?'],
  ),
  oneEdit(
    "the trace before the receipt number, which a decline does not use up",
    ["matching", "or the receipt, where no trace is reported"],
    records,
    [comparison, '(trace === "silent" && receipt === "agree")', '(receipt === "agree")'],
  ),
  oneEdit(
    "the clock that was set by an hour and a second",
    ["matching", "| whole hours apart | equal | | undecided: a clock that was set |"],
    records,
    [comparison, "    hours >= 1 &&", "    hours > 1 &&"],
  ),
  oneEdit(
    "the rule that equal numbers whole hours apart are undecided",
    ["matching", "| whole hours apart | equal | | undecided: a clock that was set |"],
    records,
    [comparison, 'return moment === "silent" && numbers', "return numbers"],
  ),
  oneEdit(
    "the rule that one equal number of two is undecided",
    ["matching", "Receipt number, trace number and moment (date and time) together identify"],
    records,
    [comparison, '? "mixed" : "differ"', '? "agree" : "differ"'],
  ),
  oneEdit(
    "the reversal that has the receipt number of its sale",
    ["matching", "Receipt number, trace number and moment (date and time) together identify"],
    records,
    [
      comparison,
      'if (numbers !== "agree" && isReversalOfOther(a, b))',
      'if (numbers === "differ" && isReversalOfOther(a, b))',
    ],
  ),
  oneEdit("the leading zeros of numbers", ["matching", "and leading zeros do not count"], records, [
    comparison,
    "  return bare(a) === bare(b);",
    "  return a === b;",
  ]),
  oneEdit(
    "the number between 9999 and 0001",
    ["28-unchanged-storage", "some terminals give 0000 between 9999 and 0001"],
    records,
    [comparison, "return to === 1 ? null : to === 0;", "return to === 1 || to === 0;"],
  ),
  oneEdit(
    "the rule that two empty storages may differ",
    ["28-unchanged-storage", "may have been filled and emptied between two probes"],
    records,
    [comparison, 'a.kind === b.kind ? "unsure"', 'a.kind === b.kind ? "same"'],
  ),
  oneEdit(
    "the one equal number in two results of one sale",
    [
      "20-second-sale",
      "names a receipt or trace, as the first does, and these differ | it is refused",
    ],
    records,
    [
      comparison,
      'return compareNumbers(a, b) === "differ";',
      'return ["mixed", "differ"].includes(compareNumbers(a, b));',
    ],
  ),
];

/** Which attempts can have produced a record. */
const ofCandidates: readonly Mutation[] = [
  oneEdit(
    "the attempts of which nothing left, among those sent since",
    ["matching", "A candidate is an attempt of whose command at least a part was sent"],
    answers,
    [match, "if (isNeverSent(events)) continue;", "if (isNeverSent([])) continue;"],
  ),
  oneEdit(
    "the operator's decision against a late record",
    ["19-late", "A person had settled the one that fits as not charged"],
    contradicted,
    [match, 'if (first.attempt.state.settled) return "settled";', ""],
  ),
  oneEdit(
    "the order that was taken back and whose record comes again",
    ["19-late", "or it cannot be distinguished from a sale of that order"],
    contradicted,
    [match, "|| isNotCharged(only.attempt.state));", ");"],
  ),
  oneEdit(
    "the sale that was reported within a command of another amount",
    ["matching", "and not as a sale of another amount than its command had asked for"],
    contradicted,
    [match, "!(attempt && isForeignTo(attempt, found))", "true"],
  ),
  oneEdit(
    "the amount of a report that counts as the own one",
    ["matching", "and not as a sale of another amount than its command had asked for"],
    contradicted,
    [
      candidates,
      'return unfit === null ? "own" : { but: unfit };',
      'return unfit ? "own" : "own";',
    ],
  ),
  oneEdit(
    "the record of the sale in the answer to its reversal",
    ["16-fresh", "the record of the sale itself, reported once more, the same to the second"],
    contradicted,
    [
      "src/tp-manager/attempts/reversal-machine.ts",
      "agrees && !isSaleItself(sale, report) ?",
      "agrees ?",
    ],
  ),
  oneEdit(
    "the later sale of a trace that came again",
    ["16-fresh", "that sale was given back, and no earlier one"],
    contradicted,
    [
      "src/tp-manager/arbiter/corrections.ts",
      "if (reported.some((one) => one.good && givesBack(one, report))) return undefined;",
      "if (reported.length < 0) return undefined;",
    ],
  ),
  oneEdit(
    "the first of two transactions in one answer",
    ["19-late", "the others are checked as well"],
    ["test/tp-manager/terminal/zvt/connection.test.ts"],
    ["src/tp-manager/terminal/zvt/enquiries.ts", "also.length > 0 ?", "also.length > 9 ?"],
  ),
  oneEdit(
    "the probe of the first of two transactions in one answer",
    ["19-late", "the others are checked as well"],
    contradicted,
    ["src/tp-manager/arbiter/unmatched.ts", "probesIn(probe).find(isIt) ?? probe", "probe"],
  ),
  oneEdit(
    "the own record of an order where others are paid too",
    ["19-late", "is the order's for certain: it is asked about first"],
    contradicted,
    ["src/tp-manager/arbiter/unmatched.ts", '? answer.answer === "one"', "? false"],
  ),
  oneEdit(
    "the sale within an end of day",
    ["04-approval", "a receipt or a card within a command that sells nothing"],
    ["test/tp-manager/terminal/zvt/upkeep.test.ts"],
    [
      "src/tp-manager/terminal/zvt/session/message-machine.ts",
      'if (state.command.name !== "repeat-receipt" && isSale(arrived)) {',
      "if (state.command.judged) {",
    ],
  ),
  oneEdit(
    "the place of the last question, whatever the clock says",
    ["04-approval", "The same report that was asked about last is asked about again only when"],
    contradicted,
    [
      "src/tp-manager/arbiter/unmatched.ts",
      "return isUnnamed || (newest.id !== null && !terminalLog.soldSinceUnmatched(newest.id));",
      "return isUnnamed;",
    ],
  ),
  oneEdit(
    "the second effect of what the terminal holds",
    ["04-approval", "What if it can be the record of a reversal in doubt? | it is `unclear`"],
    contradicted,
    [
      "src/tp-manager/arbiter/unmatched.ts",
      'if (finding === "unclear" && conclusion.verdict !== "held" && answer) {',
      'if (finding === "unclear" && answer) {',
    ],
  ),
  oneEdit(
    "the undecided repeat of an attempt's own report",
    ["matching", "proves no charge, disproves none"],
    answers,
    [
      candidates,
      'if (!reported.good || compareReports(reported, record) !== "different") return false;',
      'if (!reported.good || compareReports(reported, record) === "same") return false;',
    ],
  ),
  oneEdit(
    "the sale that came after a result that was not good",
    ["matching", "when the attempt's own record is another one"],
    answers,
    [
      candidates,
      'if (!reported.good || compareReports(reported, record) !== "',
      'if (compareReports(reported, record) !== "',
    ],
  ),
  oneEdit(
    "the other sale of a payment whose report was refused",
    ["02-proof", "because none of it was ours"],
    answers,
    [
      candidates,
      'return !("last" in state && state.last?.judgement === "disagrees");',
      "return true;",
    ],
  ),
  oneEdit(
    "the record that was found for several orders",
    ["19-late", "Several fit, or nothing proves the one"],
    answers,
    [
      candidates,
      '("told" in state && state.told)) return [];',
      '("told" in state && false)) return [];',
    ],
  ),
  oneEdit(
    "the bank's refusal among those that fit",
    ["matching", "A payment that the bank declined is a candidate only if no other attempt is"],
    [late],
    [match, 'return as === "sale" && isNotCharged(state) &&', 'return as === "sale" && false &&'],
  ),
  oneEdit(
    "the time of a late report's arrival",
    ["matching", "a record's moment, or its arrival, lies within the time of its command"],
    [late],
    [candidates, "found.isLate && isNear", "found.isLate"],
  ),
  oneEdit(
    "the orders near a record of another amount",
    ["matching", "Orders that fit but for one fact are near"],
    [late],
    [
      candidates,
      "if (unfit) return { but: isTimely === false ? null : unfit };",
      "if (unfit) return no;",
    ],
  ),
  oneEdit(
    "the record that was there before a reversal",
    ["matching", "when the record was stored before the attempt"],
    answers,
    [candidates, "if (wasThere) return false;", ""],
  ),
  oneEdit(
    "the amount of a reversal in doubt",
    ["matching", "or when amount, currency or time differ"],
    answers,
    [candidates, "if (sale.report.amountMinor !== record.amountMinor) return false;", ""],
  ),
  oneEdit(
    "the own report of a reversal in doubt",
    ["matching", "when the attempt's own record is another one"],
    answers,
    [
      candidates,
      'if (last?.report.good && compareReports(last.report, record) === "different") return false;',
      "",
    ],
  ),
  oneEdit(
    "the charge that only some numbers name",
    ["matching", "and nothing of it is charged yet"],
    answers,
    [comparison, "localTime].some(", "localTime].every("],
  ),
  oneEdit(
    "the reversal in doubt as a candidate",
    ["04-approval", "What if it can be the record of a reversal in doubt? | it is `unclear`"],
    [late, candidateTests, "test/tp-manager/arbiter/nameless-sale.test.ts"],
    [
      match,
      "|| !canBeReversal(attempt, found, events)) continue;",
      "|| canBeReversal(attempt, found, events)) continue;",
    ],
  ),
  oneEdit(
    "the time since which a reversal can be there",
    ["matching", "when the record was stored before the attempt"],
    answers,
    [match, "if (isLater || isOver(", "if (isOver("],
  ),
  oneEdit(
    "the old reversal that was over",
    ["matching", "when the attempt was over before a later command found something else"],
    [late, candidateTests],
    [match, "if (isLater || isOver(attempt, events) ||", "if (isLater ||"],
  ),
  oneEdit(
    "the later commands that found the record stored",
    ["matching", "when the record was stored before the attempt"],
    answers,
    [match, "      fitting.length = 0;\n", ""],
  ),
  oneEdit(
    "the command that was over before another record was found",
    ["matching", "when the attempt was over before a later command found something else"],
    [candidateTests],
    [match, "if (wasThere || isOver(attempt, events)) continue;", "if (wasThere) continue;"],
  ),
  oneEdit(
    "the rule that an undecided record before a later command is no other one",
    ["matching", "proves no charge, disproves none"],
    answers,
    [
      match,
      'if (asStored === "different") otherStoredMs',
      'if (asStored !== "same") otherStoredMs',
    ],
  ),
  oneEdit(
    "the age of a baseline when its command begins",
    ["matching", "when the attempt was over before a later command found something else"],
    [candidateTests],
    [match, "return wasAsked ? atMs : atMs + BASELINE_AGE_MS;", "return atMs;"],
  ),
  oneEdit(
    "the terminal that an attempt was sent to",
    ["matching", "A candidate is an attempt of whose command at least a part was sent"],
    answers,
    [
      match,
      "if (!baseline || !sameTerminal(baseline.identity, identity)) continue;",
      "if (!baseline) continue;",
    ],
  ),
];

/** Two records, and the attempts that can have made one. */
export const recordMutations: readonly Mutation[] = [...ofComparison, ...ofCandidates];
