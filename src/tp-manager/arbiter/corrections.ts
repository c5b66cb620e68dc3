import type { Charged } from "../../shared/catalog/errors.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { PAYMENT_UNKNOWN } from "../attempts/event-table.ts";
import { lostSince } from "../attempts/next-command.ts";
import { type Attempt, isCharged, type Judgement } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import { type Answer, type Proof, proofInWords, RULES_VERSION } from "../matching/answer.ts";
import { heardIn } from "../matching/candidates.ts";
import { sameTerminal } from "../matching/comparison.ts";
import { effectsOf } from "../matching/effects.ts";
import { freshnessOf } from "../matching/fresh-number.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";

/**
 * Orders that were told otherwise than a record of the terminal shows: what the answer of the
 * matcher makes of each (docs/rules/16-fresh.md, docs/rules/19-late.md). Methods throw when the
 * journal fails.
 */
export class Corrections {
  readonly #parts: ArbiterTools;

  constructor(parts: ArbiterTools) {
    this.#parts = parts;
  }

  /** The terminal keeps the record. Returns the order that is charged with it now, if one is. */
  apply(answer: Answer, report: TransactionReport): string | undefined {
    let charged: string | undefined;
    for (const { attempt, ...effect } of effectsOf(answer)) {
      if (effect.effect === "charge") {
        const { proof } = effect;
        const because = `charged: ${proofInWords(proof)}`;
        const found = { report, because, proof: { ...proof, rules: RULES_VERSION } };
        const how = "the terminal kept a sale that it reported after it had ended the payment";
        chargeLate(attempt, found, how, this.#parts);
        charged = attempt.request.orderId;
      } else {
        const { because } = effect;
        const says = `holds a sale that can be this order's (${because})`;
        doubtLate(attempt, { report, because }, says, this.#parts);
      }
    }
    return charged;
  }

  /**
   * The terminal has stored a reversal that no command here waits for: it carried one out after it
   * had refused it, or somebody gave the money back at its keys. The sale that it names is told as
   * Reversed from now on (docs/rules/16-fresh.md), because told as charged its money would go back
   * once more at the gateway. To be called when two looks have shown that the terminal keeps the
   * reversal. Returns its order; undefined: there is none for certain.
   */
  giveBack(now: Baseline): string | undefined {
    const attempt = this.givenBack(now);
    if (!attempt || now.last.kind !== "transaction") return undefined;
    const { report } = now.last;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal has stored the reversal of this sale";
    writer.advance({ input: "found-reversed", report, because });
    tellReversedBefore(writer, because);
    this.#parts.settled();
    return attempt.request.orderId;
  }

  /** The sale that {@link giveBack} would tell as Reversed. */
  givenBack(now: Baseline): Attempt | undefined {
    if (now.last.kind !== "transaction") return undefined;
    const { report } = now.last;
    const { good, originalTrace } = report;
    if (!good || originalTrace === null) return undefined;
    const { records, attempts } = this.#parts;
    const named = records.sharingTrace(originalTrace).toReversed();
    for (const transactionId of new Set(named)) {
      const attempt = attempts.read(transactionId);
      if (attempt && this.#isGivenBack(attempt, now)) return attempt;
      // Traces come again: the sale that a later command told is the one that was taken back.
      const told = heardIn(attempts.events(transactionId));
      if (told.some((one) => one.good && givesBack(one, report))) return undefined;
    }
    return undefined;
  }

  /** Under the same condition under which a reversal of ours may leave. */
  #isGivenBack({ state, baseline, startedAtMs, transactionId }: Attempt, now: Baseline): boolean {
    const { attempts, records, terminalLog, matcher } = this.#parts;
    const { isShared } = matcher;
    if (!isCharged(state) || !baseline || !sameTerminal(baseline.identity, now.identity)) {
      return false;
    }
    if (now.last.kind !== "transaction" || !givesBack(state.report, now.last.report)) return false;
    if (terminalLog.wasClosedSince(startedAtMs, transactionId)) return false;
    // In a time that the journal has lost its traces may have begun again.
    if (records.nextCommand(transactionId) === lostSince) return false;
    const since = attempts.since(transactionId);
    const unmatched = terminalLog.wasUnmatchedSince(transactionId);
    const sold = { transactionId, report: state.report };
    return (
      since !== undefined &&
      freshnessOf(sold, now, { ...since, unmatched, isShared }).freshness === "reversed"
    );
  }
}

/** The customer has the money; who gave it back is for a person to find out. */
export function tellReversedBefore(writer: AttemptWriter, how: string): void {
  const alarm = { alarm: "reversed-elsewhere" };
  writer.log("error", alarm, `${how}; told as Reversed, see who gave the money back`);
}

interface LateSale {
  readonly report: TransactionReport;
  readonly because: string;
  /** Left out: the report agrees with what was asked. */
  readonly judgement?: Judgement;
  readonly proof?: Proof & { readonly rules: number };
}

/** An order that was told as not charged is charged. `how`: the way in which it came to light. */
export function chargeLate(
  attempt: Attempt,
  found: LateSale,
  how: string,
  parts: ArbiterTools,
): void {
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "found-charged", ...found });
  const words =
    `${how}; the order had been answered as not charged and is charged: see that the customer ` +
    "gets the goods, or give the money back";
  writer.log("error", { alarm: "charged-late" }, words);
  parts.settled();
  tellIfTwice(attempt, parts);
}

/** An attempt that was told as not charged is unknown until a person settles it. */
export function doubtLate(
  attempt: Attempt,
  found: LateSale,
  says: string,
  parts: ArbiterTools,
): void {
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "found-doubtful", ...found });
  const words =
    `attempt ${attempt.number} of order ${attempt.request.orderId} is unknown now: it had been ` +
    "answered as not charged, and " +
    `the terminal ${says}: compare, and settle it`;
  writer.log("error", { alarm: PAYMENT_UNKNOWN }, words);
  // Of two in doubt one record can be either's: that is no second charge yet.
  tellIfTwice(attempt, parts, ["yes"]);
}

/** Another attempt of the order is charged too, or may be. */
export function tellIfTwice(
  { transactionId, ...attempt }: Attempt,
  parts: ArbiterTools,
  when: readonly Charged[] = ["yes", "unknown"],
): void {
  const others = parts.attempts.ofOrder(attempt.request.orderId);
  const other = others.find(
    (one) => one.transactionId !== transactionId && when.includes(chargedOf(one)),
  );
  if (!other) return;
  const words = `attempts ${attempt.number} and ${other.number} of one order have a sale, or can`;
  tellTwice({ transactionId, ...attempt }, words, parts);
}

/** Nothing is decided: a person looks for a second charge of the order. */
export function tellTwice(
  { transactionId, request: { orderId } }: Attempt,
  what: string,
  { log }: Pick<ArbiterTools, "log">,
): void {
  const advice = "look at the terminal's journal, and give one charge back if there are two";
  log.error({ alarm: "order-charged-twice", orderId, transactionId }, `${what}: ${advice}`);
}
