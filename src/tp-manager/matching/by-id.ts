import { compareReports } from "../attempts/comparison.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { EvidenceRow } from "./evidence-row.ts";
import type { Facts } from "./facts.ts";

/**
 * The decision table of a terminal that is asked about a command by its reference: what its answer
 * proves about a payment or a reversal in doubt (docs/rules/37-by-id.md). Pure. docs/matching.md
 * shows its rows.
 *
 * Nothing that a later command finds is evidence here: only the answer to a question about the very
 * command counts, together with each earlier answer to such a question.
 */
export const byIdTable: readonly EvidenceRow[] = [
  {
    holds: ({ sameTerminal }) => !sameTerminal,
    because: "another terminal is connected",
    sale: "no-answer",
    reversal: "no-answer",
  },
  {
    holds: ({ recalled, silenceLeftMs }) => recalled === "unanswered" && silenceLeftMs > 0,
    because: "the terminal is there, and does not answer the question: {why}",
    sale: "no-answer",
    reversal: "no-answer",
  },
  {
    // Such an answer hides whether the command runs: the card can still be charged.
    holds: ({ recalled, otherCandidate, silenceLeftMs }) =>
      (recalled === "not-told" || otherCandidate !== null) && silenceLeftMs > 0,
    because: "the terminal answered something else, and can still carry the command out",
    sale: "silence",
    reversal: "silence",
  },
  {
    holds: ({ recalled, silenceLeftMs }) => recalled === "running" && silenceLeftMs > 0,
    because: "the terminal still carries the command out",
    sale: "silence",
    reversal: "silence",
  },
  {
    holds: ({ recalled }) => recalled === "running",
    because: "the terminal says that it still carries the command out, after its time limit",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ recalled, otherCandidate }) => recalled === "answered" && otherCandidate !== null,
    because: "what the terminal answers about this command is not its own: {otherCandidate}",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ recalled, found }) => recalled === "answered" && found?.resultCode == null,
    because: "what the terminal answered to this command says nothing clear",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: (facts) => facts.recalled === "answered" && isOtherAnswer(facts),
    because: "the terminal gave another answer about this command before",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    // After a result without a clear meaning the card may be charged, as after an approval.
    holds: ({ recalled, found, good, unclear }) =>
      recalled === "answered" && found?.good === false && (good !== null || unclear),
    because: "the terminal had reported a result that was no failure, and remembers a failure",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ recalled, found }) => recalled === "answered" && found?.good === false,
    because: "the terminal remembers that this command failed",
    sale: "not-charged",
    assumes: ["abort-final", "decline-final", "status-remembers"],
  },
  {
    // The terminal passes a reversal on; the answer to it may not have come back.
    holds: ({ recalled, found }) => recalled === "answered" && found?.good === false,
    because: "the terminal remembers a failed reversal, which can have been carried out",
    reversal: "unsettled",
  },
  {
    holds: ({ recalled }) => recalled === "answered",
    because: "the terminal has received the reversal, and does not know what became of it",
    reversal: "requested",
    assumes: ["status-remembers"],
  },
  {
    holds: ({ recalled, asReported }) => recalled === "answered" && asReported === "different",
    because: "the terminal remembers another transaction than it had reported",
    sale: "unsettled",
  },
  {
    holds: ({ recalled, unfit }) => recalled === "answered" && unfit !== null,
    because: "what the terminal remembers is not what was asked for",
    sale: "unsettled",
  },
  {
    holds: ({ recalled }) => recalled === "answered",
    because: "the terminal remembers that it approved this very payment",
    sale: "charged",
    assumes: ["status-remembers"],
  },
  {
    holds: ({ held }) => held,
    because: "the terminal held a sale that can be that of this order and of another one",
    sale: "unsettled",
  },
  {
    holds: ({ recalled, end, answeredBefore, untoldBefore }) =>
      recalled === "not-found" &&
      end === "only-bad" &&
      !untoldBefore &&
      answeredBefore.every(isClearFailure),
    because: "the terminal ended the payment itself, and remembers nothing else about it",
    sale: "not-charged",
    assumes: ["abort-final"],
  },
  {
    holds: ({ recalled, silenceLeftMs }) => recalled === "not-found" && silenceLeftMs > 0,
    because: "the terminal does not know the command, which could still reach it",
    sale: "silence",
    reversal: "silence",
  },
  {
    holds: ({ recalled, good, unclear, answeredBefore }) =>
      recalled === "not-found" && (good !== null || unclear || answeredBefore.length > 0),
    because: "the terminal does not know the command any more, but had reported a result",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ recalled }) => recalled === "not-found",
    because: "the terminal does not know the command, and the time limit is over",
    sale: "not-charged",
    reversal: "not-reversed",
    assumes: ["not-found-is-final"],
  },
  {
    holds: () => true,
    because: "the terminal did not say what it answered to this command: {why}",
    sale: "unsettled",
    reversal: "unsettled",
  },
];

/** Whether an earlier question about this command got an answer that contradicts the new one. */
const isOtherAnswer = ({ found, answeredBefore }: Facts): boolean =>
  found !== null && answeredBefore.some((before) => !isSameAnswer(before, found));

/** Whether two answers agree; two failures do, whatever else they say. */
function isSameAnswer(a: TransactionReport, b: TransactionReport): boolean {
  if (isClearFailure(a) || isClearFailure(b)) return isClearFailure(a) && isClearFailure(b);
  return a.good && b.good && compareReports(a, b) === "same";
}

const isClearFailure = ({ good, resultCode }: TransactionReport): boolean =>
  !good && resultCode !== null;
