import type { AbortReason, TerminalCapabilities, TerminalIdentity } from "../terminal/terminal.ts";
import catalogue from "./assumptions-en.json" with { type: "json" };

/**
 * The families of terminals: "asked" have a storage to probe, "one-way" only report results, and
 * "by-id" can be asked about each command by its reference.
 */
export const families = ["asked", "one-way", "by-id"] as const;
type Family = (typeof families)[number];

/**
 * "on": holds for every terminal of the family. "off": never assumed. "learned": assumed once this
 * terminal has shown it (docs/rules/33-references.md). "none": has no meaning for the family.
 */
type Default = "on" | "off" | "learned" | "none";

const none = { asked: "none", "one-way": "none", "by-id": "none" } as const;
const all = (state: Default) => ({ asked: state, "one-way": state, "by-id": state });
const asked = (state: Default) => ({ ...none, asked: state });
const oneWay = (state: Default) => ({ ...none, "one-way": state });
const byId = (state: Default) => ({ ...none, "by-id": state });

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
  "status-remembers": byId("on"),
  "not-found-is-final": byId("off"),
} as const;

export type Assumption = keyof typeof table;
/**
 * The assumptions about terminals without which no verdict could be given, with the default for
 * each family. Each proof names those on which it rests (docs/matching.md explains them).
 */
export const assumptionTable: Readonly<Record<Assumption, Readonly<Record<Family, Default>>>> =
  table;
export const assumptionNames = Object.keys(table) as Assumption[];

interface AssumptionTexts {
  readonly says: string;
  /** Which verdict would be wrong if the assumption did not hold for the terminal. */
  readonly breaks: string;
  /** How an operator would notice that the assumption is wrong. */
  readonly noticed: string;
  /** The setting or the fact about the terminal that switches the assumption; missing: none. */
  readonly switchedBy?: string;
}
export const assumptionTexts: Readonly<Record<Assumption, AssumptionTexts>> = catalogue.assumptions;

/** The assumptions that hold for the terminal of this installation. */
export type Assumptions = ReadonlySet<Assumption>;

/** Returns the assumption by which a reported failure proves "not charged". */
export const finalOf = (reason: AbortReason | null): Assumption =>
  reason === "declined" ? "decline-final" : "abort-final";

type Asking = Pick<TerminalCapabilities, "lastTransaction" | "recalls">;

export function familyOf({ lastTransaction, recalls }: Asking): Family {
  if (recalls) return "by-id";
  return lastTransaction ? "asked" : "one-way";
}

/** Returns the assumptions that are "on" for a family of terminals, except those in `off`. */
export function assumptionsOf(family: Family, off: readonly Assumption[] = []): Assumptions {
  const isOn = (name: Assumption): boolean => assumptionTable[name][family] === "on";
  return new Set(assumptionNames.filter((name) => isOn(name) && !off.includes(name)));
}

const echoed = { of: "echoes-reference", family: "one-way", permits: false } as const;

/**
 * The facts that a terminal shows about itself, each with the assumption that it switches.
 * `permits`: a verdict may rest on the fact, so one counterexample outweighs every later example.
 * Other facts only forbid verdicts, and hold again with the next example.
 */
export const factTable = {
  "echoes-approvals": echoed,
  "echoes-refusals": echoed,
  "echoes-cancellations": echoed,
  "echoes-register": { ...echoed, of: "echoes-register" },
  "stores-reversals": { of: "stores-reversals", family: "asked", permits: true },
} as const;

export type Fact = keyof typeof factTable;

/**
 * What the connected terminal has shown about itself. The members throw if the journal fails.
 * An interface, because the matcher must not know the journal.
 */
export interface Learned {
  has(fact: Fact): boolean;
  /** Whether the terminal disproved the fact, and no later example counts more. */
  refuted(fact: Fact): boolean;
  saw(fact: Fact): void;
  contradicted(fact: Fact): void;
}

/** The terminal that has shown the facts; one without an identity is known by its setup alone. */
export interface LearnedFrom {
  /** A text that names the protocol and its settings, and changes with them. */
  readonly setup: string;
  readonly identity: Pick<TerminalIdentity, "deviceId" | "serialNumber" | "version">;
}

const factNames = Object.keys(factTable) as Fact[];
const echoes = factNames.filter((fact) => factTable[fact].of === "echoes-reference");

/**
 * Returns for people the assumptions that this installation makes or has switched off, and the
 * facts that its terminal has shown. `learned` undefined: no terminal is known.
 */
export function takenForGranted(
  terminal: Asking & Pick<TerminalCapabilities, "namesNoPayment">,
  holds: Assumptions,
  learned: Learned | undefined,
) {
  const family = familyOf(terminal);
  const isNameless = terminal.namesNoPayment === true;
  const isOn = (name: Assumption): boolean => {
    // If every kind of result carries our reference, "one-result-each" is not needed.
    const isSpared =
      name === "one-result-each" && learned && echoes.every((fact) => learned.has(fact));
    return holds.has(name) && !isSpared;
  };
  const assumptions = assumptionNames.flatMap((name) => {
    const { says, switchedBy: offWith = null } = assumptionTexts[name];
    if (assumptionTable[name][family] === "on") return [{ name, says, isOn: isOn(name), offWith }];
    if (name !== "echoes-reference" || !isNameless) return [];
    return [{ name, says, isOn: false, offWith: "settings that send no reference" }];
  });
  if (!learned) return { assumptions, shown: [] };
  const learnedFacts = factNames.flatMap((fact) => {
    const { family: its, of: name } = factTable[fact];
    if (its !== family || (isNameless && name === "echoes-reference")) return [];
    /** null: the terminal has shown nothing about this fact; false: it has disproved the fact. */
    const holds = learned.has(fact) || (learned.refuted(fact) ? false : null);
    return [{ name, says: catalogue.facts[fact], holds }];
  });
  return { assumptions, shown: learnedFacts };
}
