import type { AbortReason, TerminalIdentity } from "../terminal/terminal.ts";
import catalogue from "./assumptions-en.json" with { type: "json" };

/** A terminal whose storage can be asked, and one that only reports results. */
export const families = ["asked", "one-way"] as const;
type Family = (typeof families)[number];

/**
 * "on": holds for every terminal of the family. "off": never taken for granted. "learned": off
 * until this terminal has shown it. "none": the family has nothing of the kind.
 */
type Default = "on" | "off" | "learned" | "none";

const all = (state: Default) => ({ asked: state, "one-way": state });
const asked = (state: Default) => ({ asked: state, "one-way": "none" }) as const;
const oneWay = (state: Default) => ({ asked: "none", "one-way": state }) as const;

const table = {
  "sole-user": asked("on"),
  "storage-real": asked("on"),
  "storage-stable-names": asked("off"),
  "fresh-storage": asked("on"),
  "stores-reversals": asked("learned"),
  "counting-receipts": asked("on"),
  "own-report": all("on"),
  "own-time": all("on"),
  "decline-final": all("on"),
  "abort-final": all("on"),
  "ordered-results": oneWay("on"),
  "one-result-each": oneWay("on"),
  "own-connection": oneWay("on"),
  "echoes-reference": oneWay("learned"),
} as const;

export type Assumption = keyof typeof table;
/**
 * The one table of assumptions: facts about a class of terminals without which no verdict could be
 * given, with their default for each family. Each proof names those that it rests on; their texts
 * are in assumptions-en.json, and the books show both.
 */
export const assumptionTable: Readonly<Record<Assumption, Readonly<Record<Family, Default>>>> =
  table;
export const assumptionNames = Object.keys(table) as Assumption[];

interface AssumptionTexts {
  /** Subject and verb: what we take for granted. */
  readonly says: string;
  /** The verdict that is wrong where it does not hold. */
  readonly breaks: string;
  /** How that comes to light. */
  readonly noticed: string;
  /** The setting or fact that switches it; left out: nothing does. */
  readonly switchedBy?: string;
}
export const assumptionTexts: Readonly<Record<Assumption, AssumptionTexts>> = catalogue.assumptions;

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
  const isOn = (name: Assumption): boolean => assumptionTable[name][family] === "on";
  return new Set(assumptionNames.filter((name) => isOn(name) && !off.includes(name)));
}

const echoed = { of: "echoes-reference", family: "one-way", permits: false } as const;

/**
 * The facts that a terminal shows of itself, each with the assumption that it switches (the
 * register number switches none). `permits`: a verdict may rest on it, so one counterexample
 * outweighs every later example. The others only forbid verdicts, and hold again with the next
 * example. Their texts, predicates of a sentence about the terminal, are in assumptions-en.json.
 */
export const factTable = {
  "echoes-approvals": echoed,
  "echoes-refusals": echoed,
  "echoes-cancellations": echoed,
  "echoes-register": { ...echoed, of: "echoes-register" },
  "stores-reversals": { of: "stores-reversals", family: "asked", permits: true },
} as const;

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

const factNames = Object.keys(factTable) as Fact[];
const echoes = factNames.filter((fact) => factTable[fact].of === "echoes-reference");

/**
 * Returns the assumptions that this installation rests on or has switched off, and what its
 * terminal has shown, for people; both in the order of their tables. `learned` is undefined while
 * nobody knows which terminal it is.
 */
export function takenForGranted(
  terminal: { readonly lastTransaction: boolean; readonly namesNoPayment?: true },
  holds: Assumptions,
  learned: Pick<Learned, "has" | "refuted"> | undefined,
) {
  const family = familyOf(terminal);
  const isNameless = terminal.namesNoPayment === true;
  const isOn = (name: Assumption): boolean => {
    // A kind of result that carries our reference does without it, and here every kind does.
    const isSpared =
      name === "one-result-each" && learned && echoes.every((fact) => learned.has(fact));
    return holds.has(name) && !isSpared;
  };
  const assumptions = assumptionNames.flatMap((name) => {
    /** null: nothing switches it off. */
    const { says, switchedBy: offWith = null } = assumptionTexts[name];
    if (assumptionTable[name][family] === "on") return [{ name, says, isOn: isOn(name), offWith }];
    if (name !== "echoes-reference" || !isNameless) return [];
    return [{ name, says, isOn: false, offWith: "settings that send no reference" }];
  });
  if (!learned) return { assumptions, shown: [] };
  const shown = factNames.flatMap((fact) => {
    const { family: its, of: name } = factTable[fact];
    if (its !== family || (isNameless && name === "echoes-reference")) return [];
    /** false: a counterexample came; null: neither has come yet. */
    const holds = learned.has(fact) || (learned.refuted(fact) ? false : null);
    return [{ name, says: catalogue.facts[fact], holds }];
  });
  return { assumptions, shown };
}
