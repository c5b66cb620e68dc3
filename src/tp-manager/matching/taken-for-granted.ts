import {
  type Assumption,
  type Assumptions,
  assumptionNames,
  assumptionTable,
  familyOf,
} from "./assumptions.ts";
import { type Fact, factTable, type Learned } from "./learned.ts";

/** One assumption at this installation, for people. */
interface Taken {
  readonly name: Assumption;
  readonly says: string;
  readonly isOn: boolean;
  /** The setting or fact that switches it off; null: nothing does. */
  readonly offWith: string | null;
}

/** One fact that a terminal can show. */
interface Shown {
  /** Of the assumption that it switches. */
  readonly name: string;
  readonly says: string;
  /** false: a counterexample came; null: neither has come yet. */
  readonly holds: boolean | null;
}

/** Both in the order of their tables. */
export interface TakenForGranted {
  readonly assumptions: readonly Taken[];
  readonly shown: readonly Shown[];
}

const factNames = Object.keys(factTable) as Fact[];
const echoes = factNames.filter((fact) => factTable[fact].of === "echoes-reference");

/**
 * The assumptions that this installation rests on or has switched off, and what its terminal has
 * shown. `learned` is undefined while nobody knows which terminal it is.
 */
export function takenForGranted(
  terminal: { readonly lastTransaction: boolean; readonly namesNoPayment?: true },
  holds: Assumptions,
  learned: Pick<Learned, "has" | "refuted"> | undefined,
): TakenForGranted {
  const family = familyOf(terminal);
  const isNameless = terminal.namesNoPayment === true;
  const isOn = (name: Assumption): boolean => {
    // Kinds of results that carry our reference do without it; here are no others left.
    const isSpared =
      name === "one-result-each" && learned && echoes.every((fact) => learned.has(fact));
    return holds.has(name) && !isSpared;
  };
  const assumptions = assumptionNames.flatMap((name): Taken[] => {
    const { says, switchedBy, byFamily } = assumptionTable[name];
    if (byFamily[family] === "on") return [{ name, says, isOn: isOn(name), offWith: switchedBy }];
    if (name !== "echoes-reference" || !isNameless) return [];
    return [{ name, says, isOn: false, offWith: "settings that send no reference" }];
  });
  const facts = factNames.filter((fact) => {
    const { family: its, of } = factTable[fact];
    return its === family && !(isNameless && of === "echoes-reference");
  });
  return { assumptions, shown: learned ? facts.map((fact) => shownOf(fact, learned)) : [] };
}

function shownOf(fact: Fact, learned: Pick<Learned, "has" | "refuted">): Shown {
  const { of: name, says } = factTable[fact];
  return { name, says, holds: learned.has(fact) || (learned.refuted(fact) ? false : null) };
}
