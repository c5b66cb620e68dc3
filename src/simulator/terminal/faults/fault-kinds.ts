import { ValueError } from "../../switch-table.ts";

/** All faults of a protocol, for `--help`, the command line, scenario files and the control API. */
export interface FaultTable {
  readonly kinds: Readonly<Record<string, FaultKind>>;
  readonly shared: FaultParameters;
  readonly points: Readonly<Record<string, string>>;
}

interface FaultKind {
  /** The properties of a line, such as TCP or serial, without which the fault cannot strike. */
  readonly needs?: readonly LineTrait[];
  readonly description: string;
  /** The arguments of this kind of fault, which can replace arguments that all faults have. */
  readonly arguments: FaultParameters;
}

type FaultParameters = Readonly<Record<string, FaultArgument>>;

export interface FaultArgument {
  readonly description: string;
  readonly type: "number" | "word" | "hex" | "control";
  readonly choices?: readonly string[];
  readonly fallback?: number | string;
}

/** A property of a terminal's line. Concert and Caisse-AP have `sessions` or `bare` messages. */
export type LineTrait = "tcp" | "serial" | "sessions" | "bare";

interface Particulars {
  readonly needs?: readonly LineTrait[];
  readonly [argument: string]: FaultArgument | readonly LineTrait[] | undefined;
}

/** Returns the faults by name: each has a description, and can have arguments of its own. */
export function faultsOf<N extends string>(
  texts: Readonly<Record<N, string>>,
  particulars: Readonly<Partial<Record<NoInfer<N>, Particulars>>>,
): Readonly<Record<N, FaultKind>> {
  const kinds = Object.entries<string>(texts).map(([name, description]) => {
    const { needs, ...given } = particulars[name as N] ?? {};
    const kind = { description, arguments: given as FaultParameters };
    return [name, needs ? { ...kind, needs } : kind] as const;
  });
  return Object.fromEntries(kinds) as Record<N, FaultKind>;
}

export function number(description: string, fallback: number): FaultArgument {
  return { description, type: "number", fallback };
}

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

export const repetition = {
  times: number("how often it strikes, 0 without end", 1),
  skip: number("strikes to let pass first", 0),
};

/** Returns the properties that the terminal's lines lack; empty: the fault can strike. */
export function missingTraits({ needs = [] }: FaultKind, traits: readonly LineTrait[]) {
  return needs.filter((trait) => !traits.includes(trait));
}

/** A fault whose name and arguments were checked; missing arguments have their defaults. */
export interface FaultRequest {
  readonly name: string;
  readonly arguments: FaultArguments;
}

export type FaultArguments = Readonly<Record<string, number | string>>;

/** Reads `NAME` or `NAME:key=value,key=value`. Throws {@link ValueError}. */
export function parseFault(table: FaultTable, text: string): FaultRequest {
  const [, name = "", rest = ""] = /^([^:]*):?(.*)$/s.exec(text) ?? [];
  const given: Record<string, string> = {};
  for (const pair of rest === "" ? [] : rest.split(",")) {
    const [, key = "", value] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
    if (value === undefined) throw new ValueError(`fault ${name}: ${pair} is not key=value`);
    given[key] = value;
  }
  return faultRequest(table, name, given);
}

/** Checks a fault that is given as a name and arguments, as in JSON. Throws {@link ValueError}. */
export function faultRequest(
  { kinds, shared }: FaultTable,
  name: string,
  given: Readonly<Record<string, unknown>>,
): FaultRequest {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (!kind)
    throw new ValueError(
      `there is no fault ${name}; the faults are ${Object.keys(kinds).join(", ")}`,
    );
  const known: Readonly<Record<string, FaultArgument>> = { ...shared, ...kind.arguments };
  const odd = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (odd !== undefined) {
    const all = Object.keys(known).join(", ");
    throw new ValueError(`fault ${name} has no argument ${odd}; it has ${all}`);
  }
  const filled = Object.entries(known).map(([key, argument]): [string, number | string] => [
    key,
    argumentValue(`fault ${name}: ${key}`, argument, given[key] ?? argument.fallback),
  ]);
  return { name, arguments: Object.fromEntries(filled) };
}

/** The form of each type of argument, and how an error message names the form. */
const forms = {
  number: { form: /^-?\d{1,9}$/, name: "a whole number" },
  hex: { form: /^([0-9a-fA-F]{2})+$/, name: "an even number of hexadecimal digits" },
  control: { form: /^([0-9a-fA-F]{4}|any)$/, name: "four hexadecimal digits or any" },
} as const;

function argumentValue(what: string, { type, choices }: FaultArgument, value: unknown) {
  const text = String(value);
  if (type === "word") {
    if (choices?.includes(text)) return text;
    throw new ValueError(`${what}=${text} is none of ${choices?.join(", ")}`);
  }
  const { form, name } = forms[type];
  if (!form.test(text)) throw new ValueError(`${what}=${text} is not ${name}`);
  return type === "number" ? Number(text) : text.toLowerCase();
}
