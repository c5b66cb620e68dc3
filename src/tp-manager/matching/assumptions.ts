/**
 * The one table of assumptions: facts about a class of terminals without which no verdict could be
 * given. Each proof names those that it rests on, and the books show the table.
 */

import type { AbortReason, TerminalIdentity } from "../terminal/terminal.ts";

/** A terminal whose storage can be asked, and one that only reports results. */
export const families = ["asked", "one-way"] as const;
type Family = (typeof families)[number];

/**
 * "on": holds for every terminal of the family. "off": never taken for granted. "learned": off
 * until this terminal has shown it. "none": the family has nothing of the kind.
 */
type Default = "on" | "off" | "learned" | "none";

interface AssumptionRow {
  /** Subject and verb: what we take for granted. */
  readonly says: string;
  /** The verdict that is wrong where it does not hold. */
  readonly breaks: string;
  /** How that comes to light. */
  readonly noticed: string;
  /** The setting or fact that switches it; left out: nothing does. */
  readonly switchedBy?: string;
  readonly byFamily: Readonly<Record<Family, Default>>;
}

const all = (state: Default) => ({ asked: state, "one-way": state });
const asked = (state: Default) => ({ asked: state, "one-way": "none" }) as const;
const oneWay = (state: Default) => ({ asked: "none", "one-way": state }) as const;

const table = {
  "sole-user": {
    says: "nobody else sells at this terminal",
    breaks: "another person's sale is answered as an order's charge",
    noticed: "an unmatched transaction, or totals that differ at the end of the day",
    switchedBy: "TERMINAL_SHARED=yes",
    byFamily: asked("on"),
  },
  "storage-real": {
    says: "the stored last transaction really happened",
    breaks: "an order is answered as charged and nothing was booked",
    noticed: "totals that differ at the end of the day",
    byFamily: asked("on"),
  },
  "storage-stable-names": {
    says: "a stored transaction is reported with the same numbers and moment each time",
    breaks: "an old sale is answered as an order's charge",
    noticed: "equal numbers with another moment, or one moment with other numbers",
    byFamily: asked("off"),
  },
  "fresh-storage": {
    says: "a charged sale is stored within the terminal's own time limit",
    breaks: "a charge is answered as not charged",
    noticed: "an unmatched transaction before the next sale, a missing receipt number",
    byFamily: asked("on"),
  },
  "stores-reversals": {
    says: "a completed reversal shows as the last transaction",
    breaks: "a sale that was given back is answered as charged",
    noticed: "totals that differ at the end of the day",
    switchedBy: "a stored reversal that this terminal has shown",
    byFamily: asked("learned"),
  },
  "counting-receipts": {
    says: "only sales use receipt numbers, in order, with one wrap",
    breaks: "a charge is answered as not charged because its number seems unused",
    noticed: "a record with that number",
    byFamily: asked("on"),
  },
  "own-report": {
    says: "a report inside our command that equals no known record is about our command",
    breaks: "an order is answered as charged with an earlier sale that nobody here knows",
    noticed: "totals that differ at the end of the day",
    byFamily: all("on"),
  },
  "own-time": {
    says: "a record's moment, or its arrival, lies within the time of its command",
    breaks: "an order's own record is taken for nobody's",
    noticed: "an unmatched transaction that names the order as near",
    byFamily: all("on"),
  },
  "decline-final": {
    says: "after the bank's refusal nothing is booked",
    breaks: "a declined order is charged",
    noticed: "an unmatched transaction that names the order as near",
    byFamily: all("on"),
  },
  "abort-final": {
    says: 'after "not carried out" or a cancellation nothing is booked',
    breaks: "an order that was answered as not charged is charged",
    noticed: "the record before the next sale, or a late report",
    byFamily: all("on"),
  },
  "ordered-results": {
    says: "a one-way terminal delivers its results in order",
    breaks: "an order is answered with the result of an earlier one",
    noticed: "totals that differ at the end of the day",
    byFamily: oneWay("on"),
  },
  "one-result-each": {
    says: "a one-way terminal repeats no result after it has accepted the next request",
    breaks: "an order is answered with the result of the order before it",
    noticed: "a result that is byte for byte the last one",
    switchedBy: "results of a kind that has carried our reference",
    byFamily: oneWay("on"),
  },
  "own-connection": {
    says: "where each payment has its connection, a result comes on that of its request alone",
    breaks: "an order is answered with the result of an order in doubt",
    noticed: "totals that differ at the end of the day",
    byFamily: oneWay("on"),
  },
  "echoes-reference": {
    says: "this terminal gives our reference back",
    breaks: "a result of ours counts as nobody's",
    noticed: "an unmatched result while an order is in doubt",
    switchedBy: "a result of that kind that carried one",
    byFamily: oneWay("learned"),
  },
} satisfies Readonly<Record<string, AssumptionRow>>;

export type Assumption = keyof typeof table;
export const assumptionTable: Readonly<Record<Assumption, AssumptionRow>> = table;
export const assumptionNames = Object.keys(table) as Assumption[];

/** Those that hold for the terminal of this installation. */
export type Assumptions = ReadonlySet<Assumption>;

/** The assumption without which a terminal's report that it did not work proves nothing. */
export const finalOf = (reason: AbortReason | null): Assumption =>
  reason === "declined" ? "decline-final" : "abort-final";

export function familyOf({ lastTransaction }: { readonly lastTransaction: boolean }): Family {
  return lastTransaction ? "asked" : "one-way";
}

/** The assumptions of a family without those that are switched off; a learned one is no default. */
export function assumptionsOf(family: Family, off: readonly Assumption[] = []): Assumptions {
  const isOn = (name: Assumption): boolean => assumptionTable[name].byFamily[family] === "on";
  return new Set(assumptionNames.filter((name) => isOn(name) && !off.includes(name)));
}

interface FactRow {
  /** The assumption that the fact switches; the register number is none of them. */
  readonly of: Assumption | "echoes-register";
  readonly family: Family;
  /** The predicate of a sentence about the terminal. */
  readonly says: string;
  readonly permits: boolean;
}

const echoed = { of: "echoes-reference", family: "one-way", permits: false } as const;

/**
 * The facts that a terminal shows of itself. `permits`: a verdict may rest on it, so one
 * counterexample outweighs every later example. The others only forbid verdicts, and hold again
 * with the next example.
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

/** The knowledge about the connected terminal. Throws when the journal fails. */
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
  /** A text that changes with the protocol and its settings. */
  readonly setup: string;
  readonly identity: Pick<TerminalIdentity, "deviceId" | "serialNumber" | "version">;
}

/** For people; both in the order of their tables. */
export interface TakenForGranted {
  readonly assumptions: ReadonlyArray<{
    readonly name: Assumption;
    readonly says: string;
    readonly isOn: boolean;
    /** The setting or fact that switches it off; null: nothing does. */
    readonly offWith: string | null;
  }>;
  /** The facts that the terminal can show. */
  readonly shown: ReadonlyArray<{
    /** Of the assumption that the fact switches. */
    readonly name: string;
    readonly says: string;
    /** false: a counterexample came; null: neither has come yet. */
    readonly holds: boolean | null;
  }>;
}

const factNames = Object.keys(factTable) as Fact[];
const echoes = factNames.filter((fact) => factTable[fact].of === "echoes-reference");

/**
 * Returns the assumptions that this installation rests on or has switched off, and what its
 * terminal has shown. `learned` is undefined while nobody knows which terminal it is.
 */
export function takenForGranted(
  terminal: { readonly lastTransaction: boolean; readonly namesNoPayment?: true },
  holds: Assumptions,
  learned: Pick<Learned, "has" | "refuted"> | undefined,
): TakenForGranted {
  const family = familyOf(terminal);
  const isNameless = terminal.namesNoPayment === true;
  const isOn = (name: Assumption): boolean => {
    // A kind of result that carries our reference does without it, and here every kind does.
    const isSpared =
      name === "one-result-each" && learned && echoes.every((fact) => learned.has(fact));
    return holds.has(name) && !isSpared;
  };
  const assumptions = assumptionNames.flatMap((name) => {
    const { says, switchedBy: offWith = null, byFamily } = assumptionTable[name];
    if (byFamily[family] === "on") return [{ name, says, isOn: isOn(name), offWith }];
    if (name !== "echoes-reference" || !isNameless) return [];
    return [{ name, says, isOn: false, offWith: "settings that send no reference" }];
  });
  const facts = factNames.filter((fact) => {
    const { family: its, of } = factTable[fact];
    return its === family && !(isNameless && of === "echoes-reference");
  });
  const holdsOf = (fact: Fact): boolean | null =>
    learned?.has(fact) || (learned?.refuted(fact) ? false : null);
  const shown = facts.map((fact) => {
    const { of: name, says } = factTable[fact];
    return { name, says, holds: holdsOf(fact) };
  });
  return { assumptions, shown: learned ? shown : [] };
}
