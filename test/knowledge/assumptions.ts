/** Something taken for granted about a terminal, by its name. */
const assumptions = [
  "sole-user",
  "storage-real",
  "storage-stable-names",
  "fresh-storage",
  "stores-reversals",
  "counting-receipts",
  "own-report",
  "own-time",
  "decline-final",
  "abort-final",
  "ordered-results",
  "one-result-each",
  "own-connection",
  "echoes-reference",
  "status-remembers",
  "not-found-is-final",
] as const;
export type Assumption = (typeof assumptions)[number];

/** Things that a scope can be about besides, each included or excluded by name. */
export const dimensions = [
  "reversals",
  "repeats",
  "second sales",
  "number resets",
  "restarts",
  "failed attempts",
] as const;
export type Dimension = (typeof dimensions)[number];

export const families = ["zvt", "concert", "caisse-ap", "by-id"] as const;
export type Family = (typeof families)[number];

const ofAll = ["sole-user", "own-report", "decline-final", "abort-final"] as const;
const ofStorage = ["storage-real", "fresh-storage", "counting-receipts", "own-time"] as const;
const ofOneWay = ["ordered-results", "one-result-each"] as const;

/** Taken for granted by default: no world breaks it. */
export const defaults: Readonly<Record<Family, readonly Assumption[]>> = {
  zvt: [...ofAll, ...ofStorage],
  concert: [...ofAll, ...ofOneWay],
  "caisse-ap": [...ofAll, ...ofOneWay, "own-connection"],
  // Who else sells at the terminal does not matter: its answer is about the very command.
  "by-id": ["decline-final", "abort-final", "status-remembers"],
};

/** A verdict under one of these is given at once, and corrected when the contrary shows. */
export const revocable: readonly Assumption[] = ["abort-final"];
