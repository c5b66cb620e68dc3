import { ValueError } from "../../switch-table.ts";

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
  /** The properties that a line must have for the fault to strike. */
  readonly needs?: readonly LineTrait[];
  readonly description: string;
  /** Arguments added to those of every fault, or replacing them. */
  readonly arguments: FaultParameters;
}

type FaultParameters = Readonly<Record<string, FaultArgument>>;

export interface FaultArgument {
  readonly description: string;
  readonly type: "number" | "word" | "hex" | "control";
  readonly choices?: readonly string[];
  readonly fallback?: number | string;
}

/** A property of the lines of a terminal; "bare": messages without sessions. */
export type LineTrait = "tcp" | "serial" | "sessions" | "bare";

/** What is particular about a fault: the lines that it needs, and its own arguments. */
type Particulars = Partial<Pick<FaultKind, "needs" | "arguments">>;

/** Returns a fault for each text; one without particulars takes the shared arguments only. */
export function faultsOf<N extends string>(
  texts: Readonly<Record<N, string>>,
  particulars: Readonly<Partial<Record<NoInfer<N>, Particulars>>>,
): Readonly<Record<N, FaultKind>> {
  const kinds = Object.entries<string>(texts).map(([name, description]) => {
    return [name, { description, arguments: {}, ...particulars[name as N] }] as const;
  });
  return Object.fromEntries(kinds) as Record<N, FaultKind>;
}

export function number(description: string, fallback: number): FaultArgument {
  return { description, type: "number", fallback };
}

/** Bytes in hexadecimal digits. */
export function hex(description: string, fallback: string): FaultArgument {
  return { description, type: "hex", fallback };
}

export function choice(
  description: string,
  choices: readonly string[],
  fallback: string,
): FaultArgument {
  return { description, type: "word", choices, fallback };
}

/** How often a fault strikes, and how often it is left out before. */
export const repetition = {
  times: number("how often it strikes, 0 without end", 1),
  skip: number("strikes to let pass first", 0),
};

/** Whether a fault can strike a terminal with such lines. */
export function canStrike({ needs = [] }: FaultKind, traits: readonly LineTrait[]): boolean {
  return needs.every((trait) => traits.includes(trait));
}

/** A fault as asked for: checked, every argument filled in. */
export interface FaultRequest {
  readonly name: string;
  readonly arguments: FaultArguments;
}

export type FaultArguments = Readonly<Record<string, number | string>>;

/** Reads `NAME` or `NAME:key=value,key=value`. Throws {@link ValueError}. */
export function parseFault(table: FaultTable, text: string): FaultRequest {
  const [name = "", rest] = splitOnce(text, ":");
  const given: Record<string, string> = {};
  for (const pair of rest === undefined || rest === "" ? [] : rest.split(",")) {
    const [key = "", value] = splitOnce(pair, "=");
    if (value === undefined) throw new ValueError(`fault ${name}: ${pair} is not key=value`);
    given[key] = value;
  }
  return faultRequest(table, name, given);
}

/** Checks a fault given as a name and loose arguments, as in JSON. Throws {@link ValueError}. */
export function faultRequest(
  { kinds, shared }: FaultTable,
  name: string,
  given: Readonly<Record<string, unknown>>,
): FaultRequest {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (!kind) throw new ValueError(`no fault ${name}; there are ${Object.keys(kinds).join(", ")}`);
  const known: Readonly<Record<string, FaultArgument>> = { ...shared, ...kind.arguments };
  for (const key of Object.keys(given)) {
    if (known[key]) continue;
    throw new ValueError(
      `fault ${name} has no argument ${key}; it has ${Object.keys(known).join(", ")}`,
    );
  }
  const filled = Object.entries(known).map(([key, argument]): [string, number | string] => [
    key,
    argumentValue(`fault ${name}: ${key}`, argument, given[key] ?? argument.fallback),
  ]);
  return { name, arguments: Object.fromEntries(filled) };
}

function argumentValue(what: string, argument: FaultArgument, value: unknown): number | string {
  const text = String(value);
  switch (argument.type) {
    case "number":
      if (!/^-?\d{1,9}$/.test(text)) throw new ValueError(`${what}=${text} is not a whole number`);
      return Number(text);
    case "hex":
      if (text.length % 2 !== 0 || !/^[0-9a-fA-F]+$/.test(text)) {
        throw new ValueError(`${what}=${text} is not an even number of hexadecimal digits`);
      }
      return text.toLowerCase();
    case "control":
      if (!/^([0-9a-fA-F]{4}|any)$/.test(text)) {
        throw new ValueError(`${what}=${text} is not four hexadecimal digits or any`);
      }
      return text.toLowerCase();
    case "word":
      if (!argument.choices?.includes(text)) {
        throw new ValueError(`${what}=${text} is none of ${argument.choices?.join(", ")}`);
      }
      return text;
  }
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
