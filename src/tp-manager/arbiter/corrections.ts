import type { Charged } from "../../shared/catalog/errors.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { type Stored, sameTerminal } from "../attempts/comparison.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { chargedOf, PAYMENT_UNKNOWN } from "../attempts/phase-table.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import {
  type Answer,
  effectsOf,
  type Proof,
  RULES_VERSION,
  textOfProof,
} from "../matching/answer.ts";
import { reportsOf } from "../matching/candidates.ts";
import { lostSince } from "../matching/facts.ts";
import { freshnessOf } from "../matching/fresh-number.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";

/**
 * Corrects the orders whose answer differs from the transaction that the terminal has stored
 * (docs/rules/19-late.md). Returns the id of the order that the transaction now charges, if there
 * is one. Throws when the journal fails.
 */
export function applyAnswer(
  answer: Answer,
  report: TransactionReport,
  parts: ArbiterParts,
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
export const chargedBy = (proof: Proof) => ({
  because: `charged: ${textOfProof(proof)}`,
  proof: { ...proof, rules: RULES_VERSION },
});

/**
 * Marks a sale as reversed after two probes have shown its reversal in the terminal's storage,
 * although no command of ours requested the reversal (docs/rules/16-fresh.md). If the sale stayed
 * charged, the gateway could refund the money a second time. Returns the id of the sale's order;
 * undefined: no sale is certain. Throws when the journal fails.
 */
export function giveBack(now: Stored, parts: ArbiterParts): string | undefined {
  const attempt = givenBack(now, parts);
  if (!attempt || now.last.kind !== "transaction") return undefined;
  const writer = new AttemptWriter(attempt, parts);
  const because = "the terminal has stored the reversal of this sale";
  writer.advance({ input: "found-reversed", report: now.last.report, because });
  alarmReversedBefore(writer, because);
  parts.settled();
  return attempt.request.orderId;
}

/** Returns the sale whose reversal the terminal has stored. Throws when the journal fails. */
export function givenBack(now: Stored, parts: ArbiterParts): Attempt | undefined {
  if (now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  const { good, originalTrace } = report;
  if (!good || originalTrace === null) return undefined;
  const { records, attempts } = parts.journal;
  for (const transactionId of new Set(records.sharingTrace(originalTrace).toReversed())) {
    const attempt = attempts.read(transactionId);
    if (attempt && isGivenBack(attempt, now, report, parts)) return attempt;
    // Trace numbers wrap, so only the newest command that reported the number can be meant.
    const reported = reportsOf(attempts.events(transactionId));
    if (reported.some((one) => one.good && givesBack(one, report))) return undefined;
  }
  return undefined;
}

/** Whether the stored reversal undid exactly this sale (docs/rules/16-fresh.md). */
function isGivenBack(
  { state, baseline, startedAtMs, transactionId }: Attempt,
  now: Stored,
  reversal: TransactionReport,
  parts: ArbiterParts,
): boolean {
  if (!isCharged(state) || !baseline || !sameTerminal(baseline.identity, now.identity)) {
    return false;
  }
  if (!givesBack(state.report, reversal)) return false;
  if (parts.journal.terminalLog.wasClosedSince(startedAtMs, transactionId)) return false;
  // The journal lost commands after this sale, and with one of them the number may have come again.
  if (parts.journal.records.nextCommand(transactionId) === lostSince) return false;
  const sold = { transactionId, report: state.report };
  return freshnessOf(sold, now, parts.journal, parts.matcher.isShared).freshness === "reversed";
}

/** Raises the alarm that a sale was reversed without our request: a person has to find out why. */
export function alarmReversedBefore(writer: AttemptWriter, how: string): void {
  const text = `${how}; answered as Reversed from now on, see who gave the money back`;
  writer.log("error", { alarm: "reversed-elsewhere" }, text);
}

type LateSale = Omit<Extract<AttemptInput, { input: "found-in-doubt" }>, "input">;

/** Marks an order as charged that was answered as not charged. `how`: how that was found. */
export function chargeLate(
  attempt: Attempt,
  found: LateSale,
  how: string,
  parts: ArbiterParts,
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

/** Puts in doubt an attempt that was answered as not charged, so that a person settles it. */
export function putInDoubt(
  attempt: Attempt,
  found: LateSale,
  says: string,
  parts: ArbiterParts,
): void {
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "found-in-doubt", ...found });
  const text =
    `attempt ${attempt.number} of order ${attempt.request.orderId} is unknown now: it had been ` +
    `answered as not charged, and the terminal ${says}: compare, and settle it`;
  writer.log("error", { alarm: PAYMENT_UNKNOWN }, text);
  // One sale can put several attempts in doubt, so only a certain other charge is alarmed.
  alarmIfTwice(attempt, parts, ["yes"]);
}

/** Raises an alarm when another attempt of the same order is charged, or may be charged. */
export function alarmIfTwice(
  attempt: Attempt,
  parts: ArbiterParts,
  when: readonly Charged[] = ["yes", "unknown"],
): void {
  const { transactionId, number, request } = attempt;
  const other = parts.journal.attempts
    .ofOrder(request.orderId)
    .find((one) => one.transactionId !== transactionId && when.includes(chargedOf(one)));
  if (!other) return;
  const text = `attempts ${number} and ${other.number} of one order have a sale, or can`;
  alarmTwice(attempt, text, parts.log);
}

/** Raises the alarm that an order can have been charged twice. Changes no attempt. */
export function alarmTwice(
  { transactionId, request: { orderId } }: Attempt,
  what: string,
  log: AlarmLog,
): void {
  const advice = "see the terminal's journal, and give one charge back if there are two";
  log.error({ alarm: "order-charged-twice", orderId, transactionId }, `${what}: ${advice}`);
}

/** Raises the alarm that an approval is not as requested. `fate`: whether we refused it. */
export function alarmMismatch(
  writer: AttemptWriter,
  { amountMinor }: TransactionReport,
  fate: string,
): void {
  const detail = { alarm: "report-mismatch", amountMinor } as const;
  writer.log("error", detail, `the terminal approved something else than was asked; ${fate}`);
}

/** Raises an alarm when an approval differs from the request (docs/rules/25-one-way.md). */
export function alarmDifference(writer: AttemptWriter, { good, differs }: TransactionReport): void {
  if (!good || !differs?.length) return;
  const detail = { alarm: "report-differs", differs } as const;
  const text = `the terminal approved with another ${differs.join(" and ")} than was sent`;
  writer.log("error", detail, text);
}

/** Raises alarms when the terminal charged more than the goods that came out are worth. */
export function alarmBeyondGoods(writer: AttemptWriter, before: Attempt): void {
  const { state } = writer.attempt;
  if ("goods" in before.state && before.state.goods?.decision === null) {
    const alarm = { alarm: "charged-without-delivery" } as const;
    writer.log("error", alarm, "the terminal kept a sale of which nobody said that goods came out");
  }
  if (!isCharged(state) || state.goodsMinor === undefined) return;
  const { amountMinor: chargedMinor } = state.report;
  const detail = {
    alarm: "charged-beyond-goods",
    chargedMinor,
    goodsMinor: state.goodsMinor,
  } as const;
  writer.log("error", detail, "the terminal charged more than the goods that came out were worth");
}
