/**
 * Every fault that the simulator can play with a protocol, as data. `--help`, the command line,
 * scenario files and the control API all read this table; see `fault-box.ts` for how a fault is
 * armed and used.
 */
export interface FaultTable {
  readonly kinds: Readonly<Record<string, FaultKind>>;
  /** Arguments that every fault takes. */
  readonly shared: FaultParameters;
  /** Moments of a command at which a fault can strike, in their order. */
  readonly points: Readonly<Record<string, string>>;
}

export interface FaultKind {
  /** Without one of these it never strikes. */
  readonly needs?: readonly LineTrait[];
  readonly description: string;
  /** Arguments added to those of every fault, or replacing them. */
  readonly arguments: FaultParameters;
}

type FaultParameters = Readonly<Record<string, FaultArgument>>;

export interface FaultArgument {
  readonly description: string;
  readonly type: "number" | "word" | "hex" | "control";
  readonly words?: readonly string[];
  readonly fallback?: number | string;
}

/** A property of the lines of a terminal; "bare": messages without sessions. */
export type LineTrait = "tcp" | "serial" | "sessions" | "bare";

/** A fault of any line. */
export function fault(description: string, parameters: FaultParameters = {}): FaultKind {
  return { description, arguments: parameters };
}

/** A fault of lines that have all of these properties. */
export function faultOf(
  needs: readonly LineTrait[],
  description: string,
  parameters: FaultParameters = {},
): FaultKind {
  return { needs, description, arguments: parameters };
}

export function number(description: string, fallback: number): FaultArgument {
  return { description, type: "number", fallback };
}

/** Bytes in hexadecimal digits. */
export function hex(description: string, fallback: string): FaultArgument {
  return { description, type: "hex", fallback };
}

export function word(
  description: string,
  words: readonly string[],
  fallback: string,
): FaultArgument {
  return { description, type: "word", words, fallback };
}

/** How often a fault strikes, and after how many chances. */
export const repetition = {
  times: number("how often it strikes, 0 without end", 1),
  skip: number("chances to let pass first", 0),
};

/** Whether a fault can strike a terminal with such lines. */
export function canStrike({ needs = [] }: FaultKind, traits: readonly LineTrait[]): boolean {
  return needs.every((trait) => traits.includes(trait));
}
