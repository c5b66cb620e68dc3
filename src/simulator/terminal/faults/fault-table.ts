/**
 * Every fault that the simulator can play with a protocol, as data. `--help`, the command line,
 * scenario files and the control API all read this table; see `fault-box.ts` for how a fault is
 * armed and used.
 */
export interface FaultTable {
  readonly kinds: Readonly<Record<string, FaultKind>>;
  /** Arguments that every fault takes. */
  readonly shared: Readonly<Record<string, FaultArgument>>;
  /** Moments of a command at which a fault can strike, in their order. */
  readonly points: Readonly<Record<string, string>>;
}

export interface FaultKind {
  readonly description: string;
  /** Without one of these it never strikes. */
  readonly needs?: readonly LineTrait[];
  /** Arguments beside the ones that every fault has, or in their place. */
  readonly arguments: Readonly<Record<string, FaultArgument>>;
}

/** A property of the lines of a terminal; "bare": messages without sessions. */
export type LineTrait = "tcp" | "serial" | "sessions" | "bare";

/** Whether a fault can strike a terminal with such lines. */
export function canStrike({ needs = [] }: FaultKind, traits: readonly LineTrait[]): boolean {
  return needs.every((trait) => traits.includes(trait));
}

export interface FaultArgument {
  readonly description: string;
  readonly type: "number" | "word" | "hex" | "control";
  readonly words?: readonly string[];
  readonly fallback?: number | string;
}
