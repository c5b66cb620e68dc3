import { type Mutation, oneEdit } from "./mutation.ts";

const match = "src/tp-manager/matching/match.ts";
const matcher = "src/tp-manager/matching/matcher.ts";
const knowledge = "src/tp-manager/matching/matcher.ts";
const candidates = "src/tp-manager/matching/candidates.ts";
const effects = "src/tp-manager/matching/answer.ts";
const answers = ["test/tp-manager/matching/match.test.ts"];
const sees = ["test/tp-manager/matching/matcher.test.ts"];
const late = "test/tp-manager/arbiter/late-reports.test.ts";
const recovery = "test/tp-manager/arbiter/recovery.test.ts";

/** Whose a record is, and what follows. */
export const matchingMutations: readonly Mutation[] = [
  oneEdit(
    "the match of a record that may equal a known record",
    ["matching", "leaves no alarm out"],
    answers,
    [
      match,
      'if (known?.answer === "one" || known?.isCertain) return known;',
      "if (known) return known;",
    ],
  ),
  oneEdit(
    "the belief in a refusal where others are paid",
    ["matching", "A payment that the bank declined is a candidate only if no other attempt is"],
    answers,
    [
      match,
      "others.length > 0 || isShared || !isNew ? others",
      "others.length > 0 || !isNew ? others",
    ],
  ),
  oneEdit(
    "the belief in a refusal where nothing was seen before",
    ["matching", "A payment that the bank declined is a candidate only if no other attempt is"],
    answers,
    [match, "|| isShared || !isNew ? others", "|| isShared ? others"],
  ),
  oneEdit(
    "the rule that a storage which was not read before the payment proves nothing",
    ["matching", "what was stored before is not known"],
    answers,
    [match, 'if (!isNew) return "never probed";', ""],
  ),
  oneEdit(
    "the rule that an undecided record from before the payment may be the same",
    ["matching", "what was stored before is not known"],
    answers,
    [match, 'isNew ||= asStored === "different" ||', 'isNew ||= asStored !== "same" ||'],
  ),
  oneEdit(
    "the repeated record of another order",
    ["matching", "proves no charge, disproves none"],
    answers,
    [
      match,
      "    known !== undefined &&\n    (known.transactionId",
      "    known?.isCertain === true &&\n    (known.transactionId",
    ],
  ),
  oneEdit(
    "the record that may have been there before one of several",
    ["matching", "proves no charge, disproves none"],
    answers,
    [
      match,
      "left.some(({ attempt }) => mayHaveBeenThere(",
      "left.every(({ attempt }) => mayHaveBeenThere(",
    ],
  ),
  oneEdit("the second order that fits", ["matching", "| `many` | Several fit;"], answers, [
    match,
    ".size > 1) return",
    ".size > 2) return",
  ]),
  oneEdit("the outsider", ["matching", "nothing proves it: others are paid here"], answers, [
    match,
    'if (isShared) return "outsider";',
    "",
  ]),
  oneEdit(
    "the order that was lost with the journal",
    ["34-journal-gap", "no order in doubt is charged by it"],
    answers,
    [
      match,
      "view.records.nextCommand(attempt.transactionId) === lostSince;",
      "view.records.nextCommand(attempt.transactionId) === lostSince && first === undefined;",
    ],
  ),
  oneEdit("the rule for a record that names no time", ["matching", "it names no time"], answers, [
    match,
    'if (left.some(({ candidacy }) => candidacy === "untimed")) return "untimed";',
    "",
  ]),
  oneEdit(
    "the other commands that were sent since",
    ["matching", "other commands were sent since"],
    answers,
    [match, 'if (first?.attempt.transactionId !== newest?.transactionId) return "later";', ""],
  ),
  oneEdit(
    "the end of day that may have run since",
    ["matching", "other commands were sent since, an end of day may have run"],
    answers,
    [
      match,
      'wasClosedSince(startedAtMs, transactionId) ? "closed" :',
      "wasClosedSince(startedAtMs, transactionId) ? undefined :",
    ],
  ),
  oneEdit(
    "the command that never left and saw nothing",
    ["matching", "Once a later command has been charged, has found another record stored"],
    ["test/tp-manager/matching/number-alone.test.ts"],
    [match, "if (!isUnread) stored.push", "stored.push"],
  ),
  oneEdit(
    "the numbering period of a record without a moment",
    ["matching", "same, within one numbering period"],
    answers,
    [
      match,
      '(one.is === "same" && haveMoments(one.record, found.record)) ||',
      'one.is === "same" ||',
    ],
  ),
  oneEdit(
    "the end of day in a numbering period",
    ["matching", "same, within one numbering period"],
    answers,
    [match, "!view.records.closedSince(known.atMs) &&", ""],
  ),
  oneEdit(
    "the storage that does not go back",
    ["matching", "Once a later command has been charged, has found another record stored"],
    answers,
    [match, 'return isStillThere ? is : "unsure";', "return is;"],
  ),
  oneEdit(
    "the sale that was stored over a record",
    ["matching", "Once a later command has been charged, has found another record stored"],
    answers,
    [
      match,
      'if (sale) stored.push({ last: { kind: "transaction", report: sale.report }, sentAtMs });',
      "",
    ],
  ),
  oneEdit(
    "the later command that counts for a record although the clock was set back",
    ["matching", "Once a later command has been charged, has found another record stored"],
    ["test/tp-manager/matching/number-alone.test.ts"],
    [match, "sentAtMs >= atMs || sentAtMs < begunAtMs", "sentAtMs >= atMs"],
  ),
  oneEdit(
    "the number that was stored before a declined order",
    ["matching", "a record with an older receipt number and without date and time can be"],
    ["test/tp-manager/matching/number-alone.test.ts"],
    [
      match,
      'compareReports(last.report, record) !== "different";',
      'compareReports(last.report, record) === "unsure";',
    ],
  ),
  oneEdit(
    "the check that a record equals the one from before the command that reported it",
    ["matching", "The attempt's own command reported it, and nothing of it is charged yet"],
    answers,
    [
      match,
      'compareReports(last.report, record) === "same") return false;',
      "!record) return false;",
    ],
  ),
  oneEdit(
    "the unmatched transaction that a terminal has numbered anew",
    ["matching", "Once a later command has been charged, has found another record stored"],
    ["test/scenario/matching/by-receipt.test.ts"],
    [
      matcher,
      'return compareKnown(known, { ...now, record: now.report }, this.#parts.journal) === "same";',
      'return compareReports(known.record, now.report) === "same";',
    ],
  ),
  oneEdit(
    "the match with the oldest attempt for which a record was reported",
    ["matching", "| payment | known, of another attempt;"],
    answers,
    [
      match,
      "  const same = ofNumber.filter(",
      `  const rows = view.sharingNumber(record, sinceMs);
  if (rows.some((one) => one.transactionId === running)) return undefined;
  const same = ofNumber.filter(`,
    ],
  ),
  oneEdit(
    "the payment's own report once more",
    ["matching", "it is the payment's own, and is judged by amount and currency"],
    answers,
    [match, "? by !== null : by !== running", "? by !== null : true"],
  ),
  oneEdit(
    "the match of a record that was reported when nothing ran",
    ["19-late", "Exactly one order fits: it becomes charged"],
    [late],
    [match, "running === undefined ? by !== null :", "running === undefined ? true :"],
  ),
  oneEdit(
    "the order whose own result another payment reported again",
    ["matching", "The attempt's own command reported it, and nothing of it is charged yet"],
    ["test/tp-manager/arbiter/late-repeats.test.ts"],
    [
      match,
      "if (attempt && isCertain && isOpenTo(attempt, found)) return",
      "if (attempt && isCertain && others.length === 1 && isOpenTo(attempt, found)) return",
    ],
  ),
  oneEdit(
    "the rule that an undecided repeat of an open order's result charges nothing",
    ["matching", "proves no charge, disproves none"],
    answers,
    [match, "if (attempt && isCertain && isOpenTo(", "if (attempt && isOpenTo("],
  ),
  oneEdit(
    "the charge of an attempt by the record that its command reported",
    ["matching", "and nothing of it is charged yet"],
    answers,
    [match, "return saleOf(state) === undefined && record.good &&", "return record.good &&"],
  ),
  oneEdit(
    "the number that a repeated record shares",
    ["01-baseline", "One second alone is shared by two sales of a fast terminal"],
    answers,
    [match, "(running === undefined || sharesNumber(before, record))", "before !== record"],
  ),
  oneEdit(
    "the repeated record within a payment",
    [
      "01-baseline",
      "So is one that shares a number with a known record and cannot be distinguished from it",
    ],
    answers,
    [match, "(running === undefined || sharesNumber(before, record))", "running === undefined"],
  ),
  oneEdit(
    "the result in what may be a repeat",
    [
      "01-baseline",
      "So is one that shares a number with a known record and cannot be distinguished from it",
    ],
    answers,
    [match, "return before.good === record.good && (", "return ("],
  ),
  oneEdit(
    "the baseline's own transaction within a payment",
    ["01-baseline", "as the baseline's own transaction"],
    answers,
    [
      matcher,
      'if (last?.kind === "transaction" && compareReports(last.report, record) === "same") {',
      'if (last?.kind === "none") {',
    ],
  ),
  oneEdit(
    "the reversal that is no new sale",
    ["19-late", "A sale can also be stored and never reported"],
    sees,
    [
      matcher,
      "if (!report.good || report.originalTrace !== null) return undefined;",
      "if (!report.good) return undefined;",
    ],
  ),
  oneEdit(
    "the record that stood before an earlier command",
    ["matching", "| baseline | known | nothing |"],
    sees,
    [
      matcher,
      'return answer.answer === "none" && this.#wasStoredBefore(now, report) ? undefined : answer;',
      "return answer;",
    ],
  ),
  oneEdit(
    "the record of a charge that an operator settled",
    ["19-late", "so before a payment or an end of day leaves, and whenever the storage is read"],
    sees,
    [matcher, 'if (sale?.by === "operator") return "new";', ""],
  ),
  oneEdit(
    "the reversal that a terminal has stored last",
    ["19-late", "so before a payment or an end of day leaves, and whenever the storage is read"],
    sees,
    [matcher, "report: isReversed(state) ? state.report : sale.report", "report: sale.report"],
  ),
  oneEdit(
    "the counterexample of a terminal that stores reversals",
    [
      "07-returns",
      "on a terminal that has shown a completed reversal as its last transaction before",
    ],
    sees,
    [
      matcher,
      'reversed && compareReports(reversed, report) === "same"',
      'reversed && compareReports(reversed, report) !== "same"',
    ],
  ),
  oneEdit(
    "the one charge among the candidates of a new record",
    ["19-late", "so before a payment or an end of day leaves, and whenever the storage is read"],
    sees,
    [
      matcher,
      "return candidatesIn(answer).some(({ attempt }) => !isCharged(",
      "return candidatesIn(answer).every(({ attempt }) => !isCharged(",
    ],
  ),
  oneEdit(
    "the rule that an attempt from before a loss explains no record",
    ["34-journal-gap", "An attempt that was begun before the loss explains nothing"],
    sees,
    [
      matcher,
      "records.nextCommand(attempt.transactionId) !== lostSince,",
      "records.nextCommand(attempt.transactionId) !== null,",
    ],
  ),
  oneEdit(
    "the rule that a late report decides nothing while another attempt is in doubt",
    ["19-late", "when no other is in doubt at that terminal"],
    ["test/tp-manager/arbiter/late-repeats.test.ts"],
    [
      knowledge,
      "if (others.length !== 1) return undefined;",
      "if (others.length < 1) return undefined;",
    ],
  ),
  oneEdit(
    "the rule that an unmatched transaction is known only when its order is certain",
    ["matching", "proves no charge, disproves none"],
    ["test/tp-manager/arbiter/late-repeats.test.ts"],
    [knowledge, 'answer.answer === "known" && answer.isCertain ?', 'answer.answer === "known" ?'],
  ),
  oneEdit(
    "the transaction that an empty storage has shown",
    ["28-unchanged-storage", "no probe has shown anything in between"],
    [recovery, "test/tp-manager/arbiter/empty-storage.test.ts"],
    [
      knowledge,
      'some(({ last }) => last.kind === "transaction")',
      'some(({ last }) => last.kind === "none")',
    ],
  ),
  oneEdit(
    "the sale of a wrong clock",
    ["matching", "counts as a record of that time whatever the terminal's clock says"],
    answers,
    [candidates, "byClock === false && isNear && isStoredSince()", "false"],
  ),
  oneEdit(
    "the baseline of a sale of another time",
    ["matching", "counts as a record of that time whatever the terminal's clock says"],
    answers,
    [candidates, "byClock === false && isNear && isStoredSince()", "byClock === false"],
  ),
  oneEdit(
    "the charge of an attempt after which another attempt of the order was charged",
    ["19-late", "the late attempt becomes charged or in doubt all the same"],
    ["test/tp-manager/arbiter/charged-twice.test.ts"],
    [
      effects,
      'if (answer.answer === "one") {',
      'if (answer.answer === "one" && answer.candidate.attempt.number === 0) {',
    ],
  ),
  oneEdit(
    "the charged earlier attempt that stands when the money of a later one went back",
    ["19-late", "or their money went back"],
    ["test/tp-manager/arbiter/late-repeats.test.ts"],
    [
      "src/tp-manager/journal/attempt-rows.ts",
      'newest.number > 1 && chargedOf(newest) === "no";',
      "newest.number > 1 && isNotCharged(newest.state);",
    ],
  ),
  oneEdit(
    "the charged order that a second sale nearly fits",
    ["matching", "whose own record is another one, is near as well"],
    answers,
    [
      candidates,
      'return candidacy === "timely" ? { but: "its own sale is another one" } : no;',
      "return no;",
    ],
  ),
  oneEdit(
    "the later attempt that charged the order",
    ["19-late", "becomes charged or in doubt all the same, with the alarm `order-charged-twice`"],
    ["test/tp-manager/arbiter/late-repeats.test.ts"],
    ["src/tp-manager/arbiter/corrections.ts", "if (!other) return;", "if (other) return;"],
  ),
  oneEdit(
    "the orders that were answered as not charged, when several fit",
    ["matching", "each order that was answered as not charged and fits is unknown"],
    [late],
    [
      effects,
      "const byOrder = Map.groupBy(attempts,",
      "const byOrder = Map.groupBy(attempts.slice(1),",
    ],
  ),
];
