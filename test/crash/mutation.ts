/** One safety measure taken out of the product; each text must be there exactly once. */
export interface Mutation {
  readonly removes: string;
  /** A rule as "17-loss", "matching" or a section of the design; its sentence that breaks. */
  readonly breaks: readonly [section: string, sentence: string];
  /** Tests of `npm test` that fail without it, within four minutes. */
  readonly tests: readonly string[];
  readonly edits: ReadonlyArray<{
    readonly file: string;
    readonly from: string;
    readonly to: string;
  }>;
}

/** A measure that stands in one place. */
export function oneEdit(
  removes: string,
  breaks: Mutation["breaks"],
  tests: readonly string[],
  [file, from, to]: readonly [file: string, from: string, to: string],
): Mutation {
  return { removes, breaks, tests, edits: [{ file, from, to }] };
}
