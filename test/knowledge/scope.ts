import {
  type Assumption,
  type Dimension,
  defaults,
  dimensions,
  type Family,
  revocable,
} from "./assumptions.ts";
import type { Needs } from "./chooser.ts";

/** What worlds are about: a kind of terminal, what may go wrong with it, and the kiosk's day. */
export interface Scope {
  readonly family: Family;
  /** Beyond what the family does not take for granted anyway. */
  readonly off: readonly Assumption[];
  /** Those of them that the product takes for granted: it has to correct what it said. */
  readonly believed: readonly Assumption[];
  readonly dimensions: readonly Dimension[];
  /** What the kiosk asks for: orders, and "R" for the reversal of the last one. */
  readonly days: readonly string[];
  /** How far a world may be from normal life. */
  readonly faults: number;
}

/** A card is charged this that should have been charged something else. */
export const WRONG_MINOR = 550;

/** A and B cost the same, C something else. */
const days = ["A A", "A B A", "A B B", "A C B", "A R A", "A R B"] as const;

/**
 * Each assumption of a family off alone, and in a pair with the sole user; a revocable one once
 * more, broken while the product still relies on it.
 */
export function scopesOf(family: Family, faults: number): Scope[] {
  const about = { family, dimensions, days, faults };
  // On a connection for each payment the order of results says nothing by itself.
  const without = family === "caisse-ap" ? ["sole-user", "ordered-results"] : ["sole-user"];
  const others = defaults[family].filter((each) => !without.includes(each));
  const alone = others.map((each): Assumption[] => [each]);
  const isSole = defaults[family].includes("sole-user");
  const shared = [[], ...alone].map((each): Assumption[] => ["sole-user", ...each]);
  const sets: Assumption[][] = [[], ...alone, ...(isSole ? shared : [])];
  const declared = sets.map((off): Scope => ({ ...about, off, believed: [] }));
  const broken = sets
    .map((off): Scope => ({ ...about, off, believed: off.filter((each) => isRevocable(each)) }))
    .filter(({ believed }) => believed.length > 0);
  return [...declared, ...broken];
}

const isRevocable = (each: Assumption): boolean => revocable.includes(each);

export function nameOf({ off, believed }: Scope): string {
  const names = off.map((each) => (believed.includes(each) ? `${each} (broken)` : each));
  return names.length === 0 ? "defaults" : `without ${names.join(", ")}`;
}

export const isShared = ({ off }: Scope): boolean => off.includes("sole-user");

/** Whether the worlds of a scope have it. */
export function has({ family, off, dimensions: included }: Scope, needs: Needs): boolean {
  const isDimension = (each: Needs): each is Dimension => dimensions.some((one) => one === each);
  if (isDimension(needs)) return included.includes(needs);
  return off.includes(needs) || !defaults[family].includes(needs);
}

/**
 * How many assumptions of the scope nothing in a world has broken yet: with none left it is a world
 * of its own, and not one of the defaults once more.
 */
export function missing({ off }: Scope, needed: ReadonlySet<Needs>): number {
  return off.filter((each) => each !== "sole-user" && !needed.has(each)).length;
}
