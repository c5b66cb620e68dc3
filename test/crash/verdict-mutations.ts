import { type Mutation, oneEdit } from "./mutation.ts";

const facts = "src/tp-manager/matching/facts.ts";
const table = "src/tp-manager/matching/table.ts";
const time = "src/tp-manager/attempts/comparison.ts";
const machine = "src/tp-manager/attempts/payment-machine.ts";
const tableTests = ["test/tp-manager/matching/table.test.ts"];
const columns = ["test/tp-manager/matching/table-columns.test.ts"];
const unwritten = "test/tp-manager/arbiter/unwritten-evidence.test.ts";

/** What the facts of a probe prove. */
export const verdictMutations: readonly Mutation[] = [
  oneEdit(
    "the moment in an unchanged storage",
    ["matching", "(date and time) do not prove an unchanged storage"],
    tableTests,
    [
      facts,
      'return is === "same" && !haveMoments(before.report, last.report) ? "unsure" : is;',
      "return is;",
    ],
  ),
  oneEdit(
    "the end of day over an empty storage",
    ["28-unchanged-storage", "no end of day ran since"],
    tableTests,
    [facts, "mayHaveStored || known.closedSince) return", "mayHaveStored) return"],
  ),
  oneEdit(
    "the good result before an empty storage",
    ["28-unchanged-storage", "no good result was heard whose end was not"],
    tableTests,
    [facts, "heard.unclear || mayHaveStored ||", "heard.unclear ||"],
  ),
  oneEdit(
    "the number that the command in doubt had reported itself",
    ["02-proof", "the command in doubt had reported no number of its own"],
    columns,
    [facts, "isUnused && heard.good?.receiptNumber != null ? null", "isUnused === null ? null"],
  ),
  oneEdit(
    "the numbers that a new numbering reaches",
    ["28-unchanged-storage", "that number is too great for one that began anew"],
    columns,
    [facts, "[formerReceipt, number].every(", "[formerReceipt, number].some("],
  ),
  oneEdit(
    "the end of day over a receipt number",
    ["28-unchanged-storage", "terminals begin anew when they close"],
    columns,
    [facts, "if (number === null || closedSince || before", "if (number === null || before"],
  ),
  oneEdit(
    "the prints that make a sale final",
    ["28-unchanged-storage", "ACK proves less, and the unchanged storage counts"],
    tableTests,
    [
      facts,
      "(heard.ackArrived || heard.earlierAckArrived) && !inquiry.printsCount",
      "(heard.ackArrived || heard.earlierAckArrived)",
    ],
  ),
  oneEdit(
    "the prints in the proof of a charge",
    ["28-unchanged-storage", "ACK proves less, and the unchanged storage counts"],
    tableTests,
    [
      facts,
      "ackArrived: heard.ackArrived && !inquiry.printsCount,",
      "ackArrived: heard.ackArrived,",
    ],
  ),
  oneEdit(
    "the ACK that another report followed",
    ["28-unchanged-storage", "the ACK counts as arrived all the same"],
    [unwritten],
    [facts, "(heard.ackArrived || heard.earlierAckArrived) &&", "heard.ackArrived &&"],
  ),
  oneEdit(
    "the terminal id of a record",
    ["02-proof", "its amount, currency and terminal id agree, and its time is within"],
    tableTests,
    [facts, "&& found.terminalId !== identity.terminalId) {", '&& found.terminalId === "") {'],
  ),
  oneEdit(
    "the clock that a reported record needs none of",
    ["02-proof", "a record that was reported while the payment ran needs no time"],
    tableTests,
    [facts, 'if (heard.good && compareReports(found, heard.good) === "same") return true;', ""],
  ),
  oneEdit(
    "the original of a stored reversal",
    ["02-proof", "it is of exactly the reported trace and amount: the money went back"],
    tableTests,
    [
      facts,
      "if (namesTrace(found.originalTrace, heard.good?.traceNumber ?? null)) {",
      "if (heard.good) {",
    ],
  ),
  oneEdit("the reversal that was not good", ["02-proof", "the money went back"], tableTests, [
    facts,
    'if (!found.good) return "another";',
    "",
  ]),
  oneEdit(
    "the check for a sale of the order after the terminal's own cancel",
    ["22-heard-end", "unless a sale is stored that fits the order"],
    tableTests,
    [table, 'facts.end === "only-bad" && !mayHoldOurs(facts)', 'facts.end === "only-bad"'],
  ),
  oneEdit(
    "the sale without a known time after a cancel",
    ["22-heard-end", "unless a sale is stored that fits the order"],
    tableTests,
    [table, "unfit === null && timely !== false;", "unfit === null && timely === true;"],
  ),
  oneEdit(
    "the rule that without a baseline an undecided record proves nothing",
    ["02-proof", "Without a baseline only the very transaction that was reported counts as new."],
    tableTests,
    [
      table,
      'noBaseline && asReported !== "same"',
      'noBaseline && !["same", "unsure"].includes(asReported)',
    ],
  ),
  oneEdit(
    "the second probe after the terminal reported that the payment failed",
    ["22-heard-end", "is proved not charged by two unchanged idle reads"],
    tableTests,
    [
      table,
      'asBefore === "same" && end !== "unheard" && confirmed',
      'asBefore === "same" && end !== "unheard" && confirmed !== undefined',
    ],
  ),
  oneEdit(
    "the ACK before a bad end",
    ["22-heard-end", "unless a good report's ACK provably arrived"],
    [...tableTests, ...columns],
    [
      table,
      'approvalAcked }) => asBefore === "same" && approvalAcked,',
      'approvalAcked, end }) => asBefore === "same" && approvalAcked && end === "unheard",',
    ],
  ),
  oneEdit(
    "the ACK that may have arrived in the last moment",
    ["28-unchanged-storage", "It counts as arrived against an unchanged storage"],
    tableTests,
    [
      table,
      'asBefore === "same" && ackMayHaveArrived,',
      'asBefore === "same" && ackMayHaveArrived === null,',
    ],
  ),
  oneEdit(
    "the report that says nothing clear",
    ["matching", "but had reported a result that says nothing clear | unsettled"],
    tableTests,
    [table, 'asBefore === "same" && unclear,', 'asBefore === "same" && unclear === null,'],
  ),
  oneEdit(
    "the terminal that never showed a reversal",
    ["07-returns", "On any other terminal the unchanged storage proves nothing"],
    ["test/scenario/matching/own-terminal.test.ts"],
    [
      table,
      'asBefore === "same" && !storesReversals,',
      'asBefore === "same" && storesReversals === null,',
    ],
  ),
  oneEdit(
    "the second sale of an order when the first one was reversed",
    ["20-second-sale", "the terminal is asked about both"],
    tableTests,
    [
      table,
      'takesBack === "ours" && !hasSecond,',
      'takesBack === "ours" && hasSecond !== undefined,',
    ],
  ),
  oneEdit(
    "the ACK of the first of two sales",
    [
      "20-second-sale",
      "got its ACK, and the terminal shows a stored reversal of the second sale | is charged",
    ],
    tableTests,
    [table, 'takesBack === "the-second" && ackArrived,', 'takesBack === "the-second",'],
  ),
  oneEdit(
    "the second look at a stored reversal",
    ["matching", "| the reversal is stored; it could still be taken back | – | confirm |"],
    columns,
    [
      table,
      'facts.takesBack === "ours" && (facts.confirmed || isProven(facts)),',
      'facts.takesBack === "ours",',
    ],
  ),
  oneEdit(
    "the sale that is another one than it had reported",
    ["02-proof", "a transaction that is certainly another one than the accepted report"],
    tableTests,
    [table, 'asReported === "different" && !refused,', 'asReported === "different" && refused,'],
  ),
  oneEdit(
    "the whole of which a part got its ACK",
    ["02-proof", "a sale of more than the part that was reported and whose ACK provably arrived"],
    tableTests,
    [
      table,
      "facts.approvalAcked && isMoreThanReported(facts),",
      "isMoreThanReported(facts) && facts.hasSecond,",
    ],
  ),
  oneEdit(
    "the rule that a record which may be the one from before the payment proves nothing",
    ["matching", "may be the one from before the payment | unsettled"],
    tableTests,
    [
      table,
      'asBefore === "unsure" && !noBaseline,',
      'asBefore === "unsure" && noBaseline === null,',
    ],
  ),
  oneEdit(
    "the rule that a record without a time proves nothing for a sale in doubt",
    ["02-proof", "and its time is within the payment's own"],
    tableTests,
    [table, "holds: ({ timely }) => timely !== true,", "holds: ({ timely }) => timely === false,"],
  ),
  oneEdit(
    "the other order that can have made the record",
    ["matching", "| the terminal's last transaction can be that of … as well | unsettled |"],
    ["test/tp-manager/arbiter/late-reports.test.ts", "test/tp-manager/matching/candidates.test.ts"],
    [
      table,
      "holds: ({ otherCandidate }) => otherCandidate !== null,",
      'holds: ({ otherCandidate }) => otherCandidate === "",',
    ],
  ),
  oneEdit(
    "the order whose record it is",
    ["02-proof", "a transaction that is known as another order's"],
    tableTests,
    [table, "holds: ({ foundIs }) => foundIs !== null,", 'holds: ({ foundIs }) => foundIs === "",'],
  ),
  oneEdit(
    "the sale that the terminal held for two orders",
    ["19-late", "The stored reversal of the sale makes them what they were answered as."],
    ["test/tp-manager/arbiter/late-reports.test.ts"],
    [table, 'held && takesBack !== "ours",', 'held && takesBack === "another",'],
  ),
  oneEdit(
    "the reversal above an unmatched sale",
    ["04-approval", "A transaction is not `gone` when something may have been stored above it"],
    columns,
    [table, "soldSince || (takesBack !== null && !stoodBefore),", "soldSince,"],
  ),
  oneEdit(
    "the reversal that stood before an unmatched sale",
    ["04-approval", "A transaction is not `gone` when something may have been stored above it"],
    columns,
    [table, "takesBack !== null && !stoodBefore", "takesBack !== null"],
  ),
  oneEdit(
    "the sale above an unmatched one",
    ["04-approval", "A transaction is not `gone` when something may have been stored above it"],
    columns,
    [table, "soldSince || (takesBack !== null", "(takesBack !== null"],
  ),
  oneEdit(
    "the end of day over an unmatched sale",
    ["matching", "| an end of day may have closed the transaction | – | – | unclear |"],
    [...columns, "test/tp-manager/arbiter/unmatched.test.ts"],
    [
      table,
      "holds: ({ closedSince }) => closedSince,",
      "holds: ({ closedSince, good }) => closedSince && good === null,",
    ],
  ),
  oneEdit(
    "the next command that was not carried out",
    ["02-proof", "the terminal carried that command out to its end, so that"],
    columns,
    [table, "if (!next?.served || inquiry", "if (!next || inquiry"],
  ),
  oneEdit(
    "the rule that a failed end after the ACK of a sale leaves the order in doubt",
    ["04-approval", "in doubt; a charge then takes two probes"],
    tableTests,
    [
      table,
      'asReported === "same" && end === "unheard";',
      'asReported === "same" && end !== undefined;',
    ],
  ),
  oneEdit(
    "the window in which a clock may have been set back",
    ["28-unchanged-storage", "without a gap of more than `EMPTY_GAP_MS = 10_000`"],
    tableTests,
    [facts, "=> gapMs >= 0 && gapMs <= EMPTY_GAP_MS;", "=> gapMs <= EMPTY_GAP_MS;"],
  ),
  oneEdit(
    "the clock of the terminal",
    ["02-proof", "uses the terminal's own clock as it was before the payment"],
    tableTests,
    [time, "saidAtMs - (time.clockOffsetMs ?? 0);", "saidAtMs;"],
  ),
  oneEdit(
    "the days on which a clock may be an hour off",
    ["02-proof", "is allowed within a day of a change to or from summer time"],
    tableTests,
    [time, "return changes ? [0, HOUR_MS, -HOUR_MS] : [0];", "return [0, HOUR_MS, -HOUR_MS];"],
  ),
  oneEdit(
    "the turn of the year",
    ["02-proof", "and its time is within the payment's own"],
    tableTests,
    [time, "[year - 1, year, year + 1]", "[year, year + 1]"],
  ),
  oneEdit(
    "the good result that a contrary one followed",
    ["28-unchanged-storage", "the ACK counts as arrived all the same"],
    ["test/tp-manager/matching/inquiry.test.ts"],
    [
      facts,
      "const good = last?.report.good ? last : earlier;",
      "const good = last?.report.good ? last : null;",
    ],
  ),
  oneEdit(
    "the outcome that an order was answered with before a sale was found",
    ["19-late", "The stored reversal of the sale makes them what they were answered as."],
    ["test/tp-manager/arbiter/late-reports.test.ts"],
    [machine, "last, told: state.outcome };", "last };"],
  ),
];
