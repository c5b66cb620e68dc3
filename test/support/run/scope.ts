/**
 * How much a run of the tests tries. `npm test` tries each kind of behaviour; the part "tests" of
 * `npm run acceptance` sets TEST_SCOPE and tries the same tests on each line, row and moment.
 */
export const isWhole = process.env["TEST_SCOPE"] === "whole";

export type Line = "tcp" | "pty";

/** The lines on which a terminal can be reached here: pseudo-terminals are Linux's. */
export const lines: readonly Line[] = process.platform === "linux" ? ["tcp", "pty"] : ["tcp"];

/** Each line in the whole scope; elsewhere the one that is named, or TCP where it is missing. */
export function linesOr(line: Line): readonly Line[] {
  if (isWhole) return lines;
  return lines.includes(line) ? [line] : ["tcp"];
}

/** All rows in the whole scope; elsewhere each `step`th of them, from the row `first` on. */
export function rowsOf<Row>(rows: readonly Row[], step: number, first = 0): readonly Row[] {
  return isWhole ? rows : rows.filter((_, number) => number % step === first);
}

/** How often something is tried at random: as often as given in the whole scope, else a quarter. */
export function tries(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / 4);
}
