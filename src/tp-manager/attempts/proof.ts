/** The ground of a verdict as the rules of its time saw it; operators read it in the timeline. */
export interface Proof {
  /** Each one a sentence: what was seen, told or known. */
  readonly facts: readonly string[];
  /** The names of what was taken for granted. */
  readonly assumes: readonly string[];
  /** The version of the rules that gave the verdict. */
  readonly rules: 1;
}
