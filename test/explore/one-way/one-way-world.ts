import type { AttemptState } from "../../../src/tp-manager/attempts/payment.ts";
import type { Fact } from "../../../src/tp-manager/matching/assumptions.ts";

/** How a terminal that cannot be asked is made. */
interface OneWayCharacter {
  /** Its reply names the order by the reference that it was given. */
  readonly echoes: boolean;
  /** Its result can come on the payment's own connection alone. */
  readonly isBare: boolean;
}

/** What a walk is about: the terminal, the orders with their amounts, the faults at every place. */
export interface OneWayScope extends OneWayCharacter {
  readonly name: string;
  readonly orders: Readonly<Record<string, number>>;
  readonly asks: number;
  readonly losses: number;
  readonly crashes: number;
  /** How many results may differ from what the terminal should report. */
  readonly odd: number;
  /** Cards that nobody asked for. */
  readonly unmatched: number;
}

/** Of a request, or of nobody. */
export interface Result {
  readonly attempt: number | null;
  /** Another attempt, whose reference the result carries. */
  readonly named: number | null;
  readonly says: "approved" | "declined" | "later" | "nothing clear";
  readonly amountMinor: number;
  /** Reported before; our ACK was lost. */
  readonly isRepeat: boolean;
}

export interface OneWayWorld {
  attempts: Array<{ readonly order: string; readonly state: AttemptState }>;
  /** Amounts of results that no order fits. */
  unmatched: number[];
  /** What the terminal has shown of itself. */
  learned: readonly Fact[];
  /** The attempt on the terminal, and how far it is. */
  run: {
    readonly attempt: number;
    readonly at: "speaking" | "waiting" | "told" | "unclear";
  } | null;
  /** Questions "are you there?" that the terminal has not answered yet, by attempt. */
  questions: number[];
  device: { paying: number | null; results: Result[] };
  bank: Array<{ readonly order: string | null; readonly amountMinor: number }>;
  answers: Record<string, "nothing" | "charged" | "not charged" | "unknown">;
  asked: Record<string, number>;
  left: { losses: number; crashes: number; odd: number; unmatched: number };
  /** For the oracle: attempts whose clear result was stored, and those that were mixed up. */
  acknowledged: number[];
  confused: number[];
}

export function firstWorld(scope: OneWayScope): OneWayWorld {
  const { orders, losses, crashes, odd, unmatched } = scope;
  const each = Object.keys(orders);
  return {
    attempts: [],
    unmatched: [],
    learned: [],
    run: null,
    questions: [],
    bank: [],
    acknowledged: [],
    confused: [],
    device: { paying: null, results: [] },
    answers: Object.fromEntries(each.map((order) => [order, "nothing" as const])),
    asked: Object.fromEntries(each.map((order) => [order, 0])),
    left: { losses, crashes, odd, unmatched },
  };
}
