import type { Charged } from "../../shared/catalog/errors.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { PAYMENT_UNKNOWN } from "../attempts/event-table.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import {
  type Answer,
  effectsOf,
  type Proof,
  RULES_VERSION,
  textOfProof,
} from "../matching/answer.ts";
import { reportsOf } from "../matching/candidates.ts";
import { type Stored, sameTerminal } from "../matching/comparison.ts";
import { lostSince } from "../matching/facts.ts";
import { freshnessOf } from "../matching/fresh-number.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";

/**
 * Corrects the orders that were answered otherwise than a record shows that the terminal keeps
 * (docs/rules/19-late.md). Returns the order that is charged with the record now, if one is. Throws
 * when the journal fails.
 */
export function applyAnswer(
  answer: Answer,
  report: TransactionReport,
  parts: ArbiterTools,
): string | undefined {
  let charged: string | undefined;
  for (const { attempt, ...effect } of effectsOf(answer)) {
    if (effect.effect === "charge") {
      const how = "the terminal kept a sale that it reported after it had ended the payment";
      chargeLate(attempt, { report, ...chargedBy(effect.proof) }, how, parts);
      charged = attempt.request.orderId;
    } else {
      const { because } = effect;
      const says = `holds a sale that can be this order's (${because})`;
      putInDoubt(attempt, { report, because }, says, parts);
    }
  }
  return charged;
}
/** The grounds of a charge that a proof shows. */
export const chargedBy = (proof: Proof) => ({
  because: `charged: ${textOfProof(proof)}`,
  proof: { ...proof, rules: RULES_VERSION },
});

/**
 * Marks a sale as reversed whose reversal the terminal has stored although no command from here
 * waits for it: the terminal carried one out after it had refused it, or a person gave the money
 * back at its keys (docs/rules/16-fresh.md). A sale that stayed charged would be given back once
 * more at the gateway. To be called when two probes have shown that the terminal keeps the
 * reversal. Returns the sale's order; undefined: none for certain. Throws when the journal fails.
 */
export function giveBack(now: Stored, parts: ArbiterTools): string | undefined {
  const attempt = givenBack(now, parts);
  if (!attempt || now.last.kind !== "transaction") return undefined;
  const writer = new AttemptWriter(attempt, parts);
  const because = "the terminal has stored the reversal of this sale";
  writer.advance({ input: "found-reversed", report: now.last.report, because });
  alarmReversedBefore(writer, because);
  parts.settled();
  return attempt.request.orderId;
}

/** The sale that {@link giveBack} would have reversed. Throws when the journal fails. */
export function givenBack(now: Stored, parts: ArbiterTools): Attempt | undefined {
  if (now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  const { good, originalTrace } = report;
  if (!good || originalTrace === null) return undefined;
  const { records, attempts } = parts;
  for (const transactionId of new Set(records.sharingTrace(originalTrace).toReversed())) {
    const attempt = attempts.read(transactionId);
    if (attempt && isGivenBack(attempt, now, report, parts)) return attempt;
    // Traces come again: the sale that a later command reported is the one that was taken back.
    const reported = reportsOf(attempts.events(transactionId));
    if (reported.some((one) => one.good && givesBack(one, report))) return undefined;
  }
  return undefined;
}

/** Whether the sale was taken back, on the condition on which a reversal of ours may leave. */
function isGivenBack(
  { state, baseline, startedAtMs, transactionId }: Attempt,
  now: Stored,
  reversal: TransactionReport,
  parts: ArbiterTools,
): boolean {
  if (!isCharged(state) || !baseline || !sameTerminal(baseline.identity, now.identity)) {
    return false;
  }
  if (!givesBack(state.report, reversal)) return false;
  if (parts.terminalLog.wasClosedSince(startedAtMs, transactionId)) return false;
  // In a time that the journal has lost its traces may have begun again.
  if (parts.records.nextCommand(transactionId) === lostSince) return false;
  const sold = { transactionId, report: state.report };
  return freshnessOf(sold, now, parts).freshness === "reversed";
}

/** Raises the alarm that the customer has the money; a person finds out who gave it back. */
export function alarmReversedBefore(writer: AttemptWriter, how: string): void {
  const text = `${how}; answered as Reversed from now on, see who gave the money back`;
  writer.log("error", { alarm: "reversed-elsewhere" }, text);
}

type LateSale = Omit<Extract<AttemptInput, { input: "found-in-doubt" }>, "input">;

/** Marks an order as charged that was answered as not charged. `how`: how it came to light. */
export function chargeLate(
  attempt: Attempt,
  found: LateSale,
  how: string,
  parts: ArbiterTools,
): void {
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "found-charged", ...found });
  const text =
    `${how}; the order had been answered as not charged and is charged: see that the customer ` +
    "gets the goods, or give the money back";
  writer.log("error", { alarm: "charged-late" }, text);
  parts.settled();
  alarmIfTwice(attempt, parts);
}

/** Puts an attempt in doubt that was answered as not charged: a person has to settle it. */
export function putInDoubt(
  attempt: Attempt,
  found: LateSale,
  says: string,
  parts: ArbiterTools,
): void {
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "found-in-doubt", ...found });
  const text =
    `attempt ${attempt.number} of order ${attempt.request.orderId} is unknown now: it had been ` +
    `answered as not charged, and the terminal ${says}: compare, and settle it`;
  writer.log("error", { alarm: PAYMENT_UNKNOWN }, text);
  // Of two in doubt one record can be either's: that is no second charge yet.
  alarmIfTwice(attempt, parts, ["yes"]);
}

/** Raises an alarm where another attempt of the order is charged too, or may be. */
export function alarmIfTwice(
  attempt: Attempt,
  parts: ArbiterTools,
  when: readonly Charged[] = ["yes", "unknown"],
): void {
  const { transactionId, number, request } = attempt;
  const other = parts.attempts
    .ofOrder(request.orderId)
    .find((one) => one.transactionId !== transactionId && when.includes(chargedOf(one)));
  if (!other) return;
  const text = `attempts ${number} and ${other.number} of one order have a sale, or can`;
  alarmTwice(attempt, text, parts);
}

/** Raises the alarm of a second charge; nothing is decided by it. */
export function alarmTwice(
  { transactionId, request: { orderId } }: Attempt,
  what: string,
  { log }: Pick<ArbiterTools, "log">,
): void {
  const advice = "see the terminal's journal, and give one charge back if there are two";
  log.error({ alarm: "order-charged-twice", orderId, transactionId }, `${what}: ${advice}`);
}

/** Raises the alarm of an approval of something else than was asked. `fate`: of the report. */
export function alarmMismatch(
  writer: AttemptWriter,
  { amountMinor }: TransactionReport,
  fate: string,
): void {
  const detail = { alarm: "report-mismatch", amountMinor };
  writer.log("error", detail, `the terminal approved something else than was asked; ${fate}`);
}

/** Raises an alarm about a charge that differs from what was sent (docs/rules/25-one-way.md). */
export function alarmDifference(writer: AttemptWriter, { good, differs }: TransactionReport): void {
  if (!good || !differs?.length) return;
  const detail = { alarm: "report-differs", differs };
  const text = `the terminal approved with another ${differs.join(" and ")} than was sent`;
  writer.log("error", detail, text);
}
