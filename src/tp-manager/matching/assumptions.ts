/**
 * The one table of assumptions: facts about a class of terminals without which no verdict could be
 * given. Each proof names those that it rests on, and the books show the table.
 */

import type { AbortReason } from "../terminal/terminal.ts";

/** A terminal whose storage can be asked, and one that only tells. */
export const families = ["asked", "one-way"] as const;
export type Family = (typeof families)[number];

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
  /** The setting or fact that switches it; null: nothing does. */
  readonly switchedBy: string | null;
  readonly byFamily: Readonly<Record<Family, Default>>;
}

const all = (word: Default) => ({ asked: word, "one-way": word });
const asked = (word: Default) => ({ asked: word, "one-way": "none" as const });
const oneWay = (word: Default) => ({ asked: "none" as const, "one-way": word });

export const assumptionTable = {
  "sole-user": {
    says: "nobody else sells at this terminal",
    breaks: "a sale of somebody else is told as an order's charge",
    noticed: "an unmatched transaction, or totals that differ at the end of the day",
    switchedBy: "TERMINAL_SHARED=yes",
    byFamily: asked("on"),
  },
  "storage-real": {
    says: "the stored last transaction really happened",
    breaks: "an order is told as charged and nothing was booked",
    noticed: "totals that differ at the end of the day",
    switchedBy: null,
    byFamily: asked("on"),
  },
  "storage-stable-names": {
    says: "a stored transaction is told with the same numbers and moment each time",
    breaks: "an old sale is told as an order's charge",
    noticed: "equal numbers with another moment, or one moment with other numbers",
    switchedBy: null,
    byFamily: asked("off"),
  },
  "fresh-storage": {
    says: "a charged sale is stored within the terminal's own time limit",
    breaks: "a charge is told as not charged",
    noticed: "an unmatched transaction before the next sale, a missing receipt number",
    switchedBy: null,
    byFamily: asked("on"),
  },
  "stores-reversals": {
    says: "a completed reversal shows as the last transaction",
    breaks: "a sale that was given back is told as charged",
    noticed: "totals that differ at the end of the day",
    switchedBy: "a stored reversal that this terminal has shown",
    byFamily: asked("learned"),
  },
  "counting-receipts": {
    says: "only sales use receipt numbers, in order, with one wrap",
    breaks: "a charge is told as not charged because its number seems unused",
    noticed: "a record with that number",
    switchedBy: null,
    byFamily: asked("on"),
  },
  "own-report": {
    says: "a report inside our command that equals no known record is about our command",
    breaks: "an order is told as charged with a sale of before that nobody here knows",
    noticed: "totals that differ at the end of the day",
    switchedBy: null,
    byFamily: all("on"),
  },
  "own-time": {
    says: "a record's moment, or its arrival, lies within the time of its command",
    breaks: "an order's own record is taken for nobody's",
    noticed: "an unmatched transaction that names the order as near",
    switchedBy: null,
    byFamily: all("on"),
  },
  "decline-final": {
    says: "after the bank's refusal nothing is booked",
    breaks: "a declined order is charged",
    noticed: "an unmatched transaction that names the order as near",
    switchedBy: null,
    byFamily: all("on"),
  },
  "abort-final": {
    says: 'after "not carried out" or a cancellation nothing is booked',
    breaks: "an order that was told as not charged is charged",
    noticed: "the record before the next sale, or a late report",
    switchedBy: null,
    byFamily: all("on"),
  },
  "ordered-results": {
    says: "a one-way terminal tells its results in order",
    breaks: "an order is answered with the result of an earlier one",
    noticed: "totals that differ at the end of the day",
    switchedBy: null,
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
    switchedBy: null,
    byFamily: oneWay("on"),
  },
  "echoes-reference": {
    says: "this terminal gives our reference back",
    breaks: "a result of ours counts as nobody's",
    noticed: "an unmatched result while an order is in doubt",
    switchedBy: "a result of that kind that carried one",
    byFamily: oneWay("learned"),
  },
} as const satisfies Readonly<Record<string, AssumptionRow>>;

export type Assumption = keyof typeof assumptionTable;
export const assumptionNames = Object.keys(assumptionTable) as Assumption[];

/** Those that hold for the terminal of this installation. */
export type Assumptions = ReadonlySet<Assumption>;

/** The assumption without which a terminal's word that it did not work proves nothing. */
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
