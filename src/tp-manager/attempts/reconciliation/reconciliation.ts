import type { Charged } from "../../../shared/catalog/errors.ts";
import type { DeliveryState } from "../../../shared/ipc/contract.ts";
import type { TelecollectionEnd, TerminalIdentity } from "../../terminal/terminal.ts";
import type { NotCharged } from "../payment.ts";

/** One attempt as a comparison needs it, also of the archive (docs/rules/18-totals.md). */
export interface LedgerEntry {
  readonly transactionId: string;
  readonly orderId: string;
  /** The newest end of day that had been begun before this attempt; 0 before the first one. */
  readonly afterClosing: number;
  /** Of its phase: returns at the gateway are in `returnedMinor`. */
  readonly charged: Charged;
  /** The status that was answered when nothing was charged. */
  readonly answered: NotCharged["status"] | null;
  /** The command may have left. */
  readonly wasSent: boolean;
  readonly amountMinor: number;
  /** Charged by the terminal, reversed or not; null unless it did. */
  readonly chargedMinor: number | null;
  /** Sums that the terminal can have charged, should it have charged something. */
  readonly possibleMinor: readonly number[];
  readonly currency: string;
  readonly exponent: number;
  readonly cardName: string | null;
  readonly receiptNumber: string | null;
  /** The receipt number of its reversal at the terminal. */
  readonly reversalReceipt: string | null;
  /** null where it is not known any more. */
  readonly identity: TerminalIdentity | null;
  /** null: it was never handed off. */
  readonly delivery: DeliveryState | null;
  /** The amount that was handed off; null when it was not, or is in the archive. */
  readonly handedMinor: number | null;
  /** Minor units that went back by way of the gateway. */
  readonly returnedMinor: number;
}

/** Facts kept in the archive as long as an end of day may still be compared with them. */
export type KeptLedger = Pick<
  LedgerEntry,
  "wasSent" | "possibleMinor" | "cardName" | "receiptNumber" | "reversalReceipt" | "identity"
>;

export interface PlacedEntry extends LedgerEntry {
  /** Receipt numbers are missing between the sales around it. */
  readonly isInGap: boolean;
}

/** An order that a difference could be about. */
export interface Suspect {
  readonly orderId: string;
  readonly transactionId: string;
  /** Minor units that the terminal has more, or less, if this order is the difference. */
  readonly amountMinor: number;
  /** The status of this attempt when it was compared. */
  readonly told: "charged" | "reversed" | NotCharged["status"] | "unknown";
  /** Another attempt of the order was charged: the customer may have paid twice. */
  readonly chargedElsewhere: boolean;
}

export interface CountAndSum {
  /** null: not reported. */
  readonly count: number | null;
  readonly sumMinor: number;
}

/** The totals of one end of day next to the journal. */
export type ClosingVerdict =
  | { readonly result: "not-comparable"; readonly because: string }
  | Difference;

/** The two sums, which agree or differ. */
export interface Difference {
  readonly result: "agrees" | "differs";
  readonly because: string;
  readonly currency: string;
  readonly exponent: number;
  readonly terminal: CountAndSum;
  readonly journal: CountAndSum;
  /** The terminal's sum less the journal's. */
  readonly differenceMinor: number;
  /** Orders that could be the difference; empty: none explains it. */
  readonly suspects: readonly Suspect[];
  /** These orders together are the only explanation. */
  readonly isSole: boolean;
}

/** How much of the charged sales the gateway has, of one currency. */
export interface DeliveredSums {
  readonly currency: string;
  readonly charged: CountAndSum;
  /** The gateway has them. */
  readonly sent: CountAndSum;
  /** They are on their way, or wait for an operator. */
  readonly waiting: CountAndSum;
  /** An operator closed them without sending. */
  readonly closed: CountAndSum;
}

/** An order of which the gateway has something else than the journal. */
export interface DeliveryFault {
  readonly orderId: string;
  readonly transactionId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly because: string;
}

export interface DeliveryVerdict {
  readonly sums: readonly DeliveredSums[];
  readonly faults: readonly DeliveryFault[];
}

/** Sums by the name of the card, as the terminal and the journal spell it. They are only listed. */
export interface CardSum {
  readonly name: string;
  readonly count: number;
  readonly sumMinor: number;
}

/** A number that was given between two sales of ours, to none that we know. */
export interface JumpBody {
  readonly kind: "receipt-jump";
  readonly from: string;
  readonly to: string;
  readonly missing: number;
  readonly suspects: readonly Suspect[];
}

export interface ClosingBody {
  readonly kind: "end-of-day";
  readonly receiptFrom: string | null;
  readonly receiptTo: string | null;
  readonly terminal: ClosingVerdict;
  readonly gateway: DeliveryVerdict;
  readonly cards: { readonly terminal: readonly CardSum[]; readonly journal: readonly CardSum[] };
}

export interface Reconciliation {
  readonly id: number;
  readonly atMs: number;
  /** "jump": numbers are missing. "refuted": they are, and an end of day agreed all the same. */
  readonly result: ClosingVerdict["result"] | "jump" | "refuted";
  readonly body: ClosingBody | JumpBody;
}

/** An end of day that may have closed something. */
export interface ClosingRow {
  readonly id: number;
  readonly startedAtMs: number;
  /** null: its end was not received. */
  readonly end: TelecollectionEnd | null;
  /** null in rows of older versions. */
  readonly identity: TerminalIdentity | null;
}

/** One end of day with everything that it is compared with. */
export interface ClosingPeriod {
  readonly closing: ClosingRow;
  /** Earlier ones after which its range may begin, newest first. */
  readonly earlier: readonly ClosingRow[];
  /** Attempts since the oldest of these, in the order they were begun. */
  readonly entries: readonly LedgerEntry[];
  /** Attempts are missing here: too many, or in an archive without their times. */
  readonly isCutOff: boolean;
}
