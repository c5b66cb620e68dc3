/** What the kiosk was answered about an order, in one answer. */
interface KioskAnswer {
  readonly one: {
    readonly status: string;
    readonly error: { readonly code: string; readonly charged: string } | null;
  };
}

/** Three ledgers and every answer about one order, when all is quiet. */
export interface Evidence {
  /** What a charged order may have cost, minor units. */
  readonly worth: readonly number[];
  /** The terminal's bank: movements of this order, oldest first. */
  readonly movements: ReadonlyArray<{ readonly kind: string; readonly amountMinor: number }>;
  /** What the kiosk was answered about the order each time, oldest first. */
  readonly answers: readonly KioskAnswer[];
  /** What the journal answers; its status is "never begun" for an unknown order. */
  readonly found: string;
  /** The kinds of the attempt's events, each with its reason after a colon where it has one. */
  readonly eventKinds: readonly string[];
  /** The terminal has heard our ACK of its report. */
  readonly gotAck: boolean;
  /** The kiosk asked for the money back. */
  readonly reversalAsked?: boolean;
  /** No source that is left can prove what became of the order. */
  readonly mayStayUnknown?: boolean;
}

/** The sentences that a kill broke; crash-house.ts compares the gateway's ledger. */
export function violationsOf(evidence: Evidence): string[] {
  const { worth, movements, answers, found, eventKinds, gotAck } = evidence;
  let balance = 0;
  let twice = false;
  for (const { kind, amountMinor } of movements) {
    twice ||= kind === "charge" && balance > 0;
    balance += kind === "charge" ? amountMinor : -amountMinor;
  }
  const answered = answers.map(({ one }) => one.error?.charged ?? meaning[one.status] ?? "unknown");
  const returned = found === "Reversed" && evidence.reversalAsked === true;
  const broken: Array<[boolean, string]> = [
    [twice, "no order is charged twice unless a reversal stands between"],
    [found === "Success" && !worth.includes(balance), "an order answered charged is charged"],
    [notCharged.includes(found) && balance !== 0, "an order answered not-charged is not charged"],
    [answered.at(-1) === "no" && balance !== 0, "an order answered not-charged is not charged"],
    [
      answered.includes("yes") && found !== "Success" && !returned,
      "an answer never contradicts an earlier one",
    ],
    [
      found === "Unknown" && evidence.mayStayUnknown !== true,
      "what the terminal can prove does not stay unknown",
    ],
    [
      gotAck && !eventKinds.some((kind) => reports.includes(kind.split(": ")[0] ?? "")),
      "evidence: no report gets its ACK before it is stored",
    ],
  ];
  return broken
    .filter(([is]) => is)
    .map(([, sentence]) => {
      const facts = `journal ${found}, bank ${balance}, answered ${answered.join() || "nothing"}`;
      return `${sentence} (${facts}; ${eventKinds.join(", ")})`;
    });
}

const meaning: Readonly<Record<string, string>> = { Success: "yes", Reversed: "no" };
const notCharged = ["Declined", "Cancelled", "Failed", "Reversed", "never begun"];
const reports = ["report", "approved", "reversal-report", "told-late"];

/** What is left of charges after what was taken back. */
export function balanceOf(movements: Evidence["movements"]): number {
  return movements.reduce(
    (sum, { kind, amountMinor }) => sum + (kind === "charge" ? 1 : -1) * amountMinor,
    0,
  );
}
