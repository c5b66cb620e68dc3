import type { TerminalIdentity } from "../terminal/terminal.ts";
import type { Assumption, Family } from "./assumptions.ts";

interface FactRow {
  /** The assumption that the fact switches; the register number is none of them. */
  readonly of: Assumption | "echoes-register";
  readonly family: Family;
  /** Of the terminal. */
  readonly says: string;
  readonly permits: boolean;
}

const echoed = { of: "echoes-reference", family: "one-way", permits: false } as const;

/**
 * The facts that a terminal shows of itself. `permits`: a verdict may rest on it, so one
 * counterexample outweighs whatever is shown later; the others only forbid verdicts, and are shown
 * anew.
 */
export const factTable = {
  "echoes-approvals": { ...echoed, says: "gives our reference back with approvals" },
  "echoes-refusals": { ...echoed, says: "gives our reference back with refusals" },
  "echoes-cancellations": { ...echoed, says: "gives our reference back with cancellations" },
  "echoes-register": { ...echoed, of: "echoes-register", says: "gives our register number back" },
  "stores-reversals": {
    of: "stores-reversals",
    family: "asked",
    permits: true,
    says: "shows a completed reversal as its last transaction",
  },
} as const satisfies Readonly<Record<string, FactRow>>;

export type Fact = keyof typeof factTable;

/** The knowledge about the terminal of now. Throws when the journal fails. */
export interface Learned {
  has(fact: Fact): boolean;
  /** A counterexample came, and no example since that could count. */
  refuted(fact: Fact): boolean;
  saw(fact: Fact): void;
  /** A counterexample. */
  contradicted(fact: Fact): void;
}

/** Whose facts: a terminal without a name is known by the setup of its line alone. */
export interface LearnedFrom {
  /** A word that changes with the protocol and its settings. */
  readonly setup: string;
  readonly identity: Pick<TerminalIdentity, "deviceId" | "serialNumber" | "version">;
}
