import type { Answer } from "../support/installation.ts";

/** Three ledgers and every answer about one order, when all is quiet. */
export interface Evidence {
  readonly amountMinor: number;
  /** The terminal's bank: movements of this order, oldest first. */
  readonly movements: ReadonlyArray<{
    readonly kind: "charge" | "reversal";
    readonly amountMinor: number;
  }>;
  /** What the kiosk was told when it asked for the payment, every time it got an answer. */
  readonly answers: readonly Answer[];
  /** What the journal answers; its status is "never begun" for an unknown order. */
  readonly found: string;
  readonly eventKinds: readonly string[];
  /** The terminal has heard our acknowledgement of its report. */
  readonly acknowledged: boolean;
}

/** The sentences that a kill broke; crash-house.ts compares the gateway's ledger. */
export function violationsOf(evidence: Evidence): string[] {
  const { amountMinor, movements, answers, found, eventKinds, acknowledged } = evidence;
  let open = 0;
  let twice = false;
  for (const { kind } of movements) {
    open += kind === "charge" ? 1 : -1;
    twice ||= open > 1;
  }
  const balance = open * amountMinor;
  const told = answers.map(({ one }) => one.error?.charged ?? "yes");
  const broken: Array<[boolean, string]> = [
    [twice, "no order is charged twice unless a reversal stands between"],
    [found === "Success" && open !== 1, "an order answered charged is charged"],
    [notCharged.includes(found) && open !== 0, "an order answered not-charged is not charged"],
    [told.at(-1) === "no" && open !== 0, "an order answered not-charged is not charged"],
    [told.includes("yes") && found !== "Success", "an answer never contradicts an earlier one"],
    [found === "Unknown", "what the terminal can prove does not stay unknown"],
    [
      acknowledged && !eventKinds.includes("report"),
      "evidence: no report is acknowledged before it is stored",
    ],
  ];
  return broken
    .filter(([is]) => is)
    .map(([, sentence]) => {
      const facts = `journal ${found}, bank ${balance}, told ${told.join() || "nothing"}`;
      return `${sentence} (${facts}; ${eventKinds.join(", ")})`;
    });
}

const notCharged = ["Declined", "Cancelled", "Failed", "never begun"];
