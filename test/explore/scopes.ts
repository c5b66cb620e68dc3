import { isWhole } from "../support/run/scope.ts";
import { type Character, plain } from "./device.ts";
import type { Quirk, Scope } from "./scope.ts";

/** Terminals as real ones are, and worse. */
const characters = {
  "an older terminal": plain,
  "one that stores its reversals": { ...plain, storesReversals: true, prints: true },
  "one that keeps what was not answered": { ...plain, unanswered: "kept" },
  "one that keeps what was refused": { ...plain, unanswered: "kept", refused: "kept" },
  "one with an empty storage": { ...plain, emptyAtFirst: true, unanswered: "kept" },
  "one that answers while it pays": { ...plain, answersWhilePaying: true, prints: true },
  "one whose closing empties it": { ...plain, closingEmpties: true, unanswered: "kept" },
  "one without receipt numbers": { ...plain, spelling: "no receipt" },
  "one that reports times alone": { ...plain, spelling: "time alone", unanswered: "kept" },
  "one that sold for another register": { ...plain, knowsEarlier: false },
  "one that hides what it keeps": { ...plain, unanswered: "kept", hides: true },
} satisfies Readonly<Record<string, Character>>;

const quirks: readonly Quirk[] = [
  "empties its storage",
  "empties its storage and restarts its numbers",
  "repeats an older receipt",
  "is swapped for a moment",
  "takes the sale back",
  "says that it took the sale back",
  "charges a second time",
  "keeps what was refused",
  "spells short",
  "spells no receipt",
  "spells blank",
];

const few = { asks: 2, losses: 1, crashes: 1, late: 1, locks: 1, quirks: [] } as const;
const calm = { impatient: false, cancels: false } as const;

type Name = keyof typeof characters;
const names = Object.keys(characters) as Name[];

/** One order: a loss, a crash, a late report, a lock at every place. */
export function oneOrder(name: Name, change: Partial<Scope> = {}): Scope {
  return { ...few, ...calm, name, character: characters[name], orders: ["A"], ...change };
}

/** One order on a terminal with one quirk, which may strike at every place. */
export function withQuirk(name: Name, quirk: Quirk, change: Partial<Scope> = {}): Scope {
  return oneOrder(name, { name: `${name}; it ${quirk}`, locks: 0, quirks: [quirk], ...change });
}

/** Two orders, each asked for once: two losses, a crash, a late report and a lock. */
export function twoOrders(name: Name, change: Partial<Scope> = {}): Scope {
  const two = { name: `${name}, two orders`, orders: ["A", "B"], asks: 1, losses: 2 };
  return oneOrder(name, { ...two, ...change });
}

/** Two orders, each asked for again: two losses and a late report. */
export const again: Scope = twoOrders("one that keeps what was not answered", {
  name: "one that keeps what was not answered, two orders asked for twice",
  asks: 2,
  crashes: 0,
  locks: 0,
});

/** The whole of the small scope: minutes. */
const each: readonly Scope[] = names.flatMap((name) => [
  oneOrder(name, { losses: 2, impatient: true, cancels: true }),
  twoOrders(name),
  ...quirks.map((quirk) => withQuirk(name, quirk, { impatient: true })),
]);

export const whole: readonly Scope[] = [...each, again];

/** Of the quirks that differ in a detail one: these are walked in the whole scope of the tests. */
const furtherQuirks: readonly Quirk[] = ["empties its storage", "spells short", "spells blank"];
const reducedQuirks = quirks.filter((quirk) => isWhole || !furtherQuirks.includes(quirk));

/** A part of it that every run of the tests can afford: less outside their whole scope. */
export const reduced: readonly Scope[] = [
  oneOrder("an older terminal", isWhole ? {} : { late: 0 }),
  oneOrder("one that keeps what was not answered", { locks: 0, impatient: true }),
  oneOrder("one that stores its reversals", { locks: 0, cancels: true }),
  oneOrder("one with an empty storage", { late: 0 }),
  twoOrders("one that keeps what was refused", { losses: 1, crashes: 0, locks: 0 }),
  ...reducedQuirks.map((quirk) =>
    withQuirk("one that stores its reversals", quirk, { crashes: 0 }),
  ),
];
