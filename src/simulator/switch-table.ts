import { parseArgs } from "node:util";

/** A command-line switch of a simulator, with what `--help` says about the switch. */
export interface Switch<D> {
  /** The name of the value in `--help`; missing: the switch has no value. */
  readonly argument?: string;
  readonly multiple?: boolean;
  /** The default value of the switch, which `--help` shows. */
  readonly usual?: unknown;
  /** Returns the options that a value of this switch sets. Throws {@link ValueError}. */
  change(value: string, draft: D): Partial<D>;
}

type Change<D> = Switch<D>["change"];

export type SwitchTable<D> = Readonly<Record<string, Switch<D>>>;

/** Returns a switch with a value. */
export function option<D>(
  argument: string,
  change: Change<NoInfer<D>>,
  usual?: unknown,
): Switch<D> {
  return { argument, change, usual };
}

/** Returns a switch with a value that can be given several times. */
export function list<D>(argument: string, change: Change<NoInfer<D>>): Switch<D> {
  return { argument, change, multiple: true };
}

/** Returns a switch without a value. */
export function flag<D>(change: (draft: NoInfer<D>) => Partial<NoInfer<D>>): Switch<D> {
  return { change: (_, draft) => change(draft) };
}

/** The error for a value that cannot be used; the message says which value would be right. */
export class ValueError extends Error {
  override readonly name: string = "ValueError";
}

/** What a command line asks a simulator to do. */
export type Asked<T> =
  | { readonly ask: "help"; readonly text: string }
  | { readonly ask: "start"; readonly options: T; readonly readyFile: string | null }
  /** The command line is mistyped, and the program ends with exit code 64. */
  | { readonly ask: "wrong"; readonly problem: string };

interface CommandLine<D extends { readyFile?: string }, T> {
  readonly switches: SwitchTable<D>;
  readonly draft: D;
  /** Returns the simulator's options as the switches set them. Throws {@link ValueError}. */
  options(draft: D): T;
  help(): string;
}

/** Reads a command line. A mistyped command line gives the result `wrong`, not an exception. */
export function readSwitches<D extends { readyFile?: string }, T>(
  { switches, draft, options, help }: CommandLine<D, T>,
  argv: readonly string[],
): Asked<T> {
  const known = Object.entries(switches).map(
    ([name, { argument }]) =>
      [name, { type: argument ? "string" : "boolean", multiple: true }] as const,
  );
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { ...Object.fromEntries(known), help: { type: "boolean", multiple: true } },
    });
    if (values.help) return { ask: "help", text: help() };
    for (const [name, given] of Object.entries(values)) {
      enter(name, switches[name] as Switch<D>, [given].flat().map(String), draft);
    }
    return { ask: "start", options: options(draft), readyFile: draft.readyFile ?? null };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMistyped = error instanceof ValueError || code?.startsWith("ERR_PARSE_ARGS");
    if (!isMistyped) throw error;
    return { ask: "wrong", problem: message };
  }
}

/** Adds a switch's value to the options. Throws {@link ValueError} with the switch's name. */
function enter<D>(
  name: string,
  { argument, multiple, change }: Switch<D>,
  values: readonly string[],
  draft: D,
): void {
  if (values.length > 1 && argument && !multiple) {
    throw new ValueError(`--${name} is given ${values.length} times`);
  }
  for (const value of values) {
    try {
      Object.assign(draft as object, change(value, draft));
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      const given = argument ? ` ${value}` : "";
      throw new ValueError(`--${name}${given} cannot be used: ${error.message}`);
    }
  }
}

const NUMBER_MAX = 999_999_999;

/** Returns a text as a whole number within `min` and `max`. Throws {@link ValueError}. */
export function whole(value: string, min = 0, max = NUMBER_MAX): number {
  const number = /^\d{1,11}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new ValueError(`it must be a whole number from ${min} to ${max}`);
}

/** Returns the value if it is one of `choices`. Throws {@link ValueError}. */
export function oneOf<T extends string>(value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (!found) throw new ValueError(`it must be ${choices.join(" or ")}`);
  return found;
}

/** Returns a function that returns values of this form and throws {@link ValueError} for others. */
export function formed(form: RegExp, example: string): (value: string) => string {
  return (value) => {
    if (form.test(value)) return value;
    throw new ValueError(`a right value is ${example}, for example`);
  };
}

const HELP_INDENT = 30;
const HELP_COLUMNS = 100;

/** Returns the lines of `--help` about the switches, whose descriptions are in `texts`. */
export function switchLines<D>(
  switches: SwitchTable<D>,
  texts: Readonly<Record<string, string>>,
): readonly string[] {
  const lines = Object.entries(switches).flatMap(([name, { argument, multiple, usual }]) => {
    const text = texts[name]?.replace("{}", String(usual)) ?? "";
    const left = `--${name}${argument ? ` ${argument}` : ""}`;
    return helpLines(left, multiple ? `${text}; repeatable` : text);
  });
  return [...lines, ...helpLines("--help", "this text")];
}

/** Returns a name with its explanation, folded to the width of a terminal. */
export function helpLines(left: string, text: string): readonly string[] {
  const [first = "", ...others] = folded(text);
  const padded = `  ${left}`.padEnd(HELP_INDENT);
  const head = padded.endsWith(" ") ? [padded + first] : [padded, " ".repeat(HELP_INDENT) + first];
  return [...head, ...others.map((line) => " ".repeat(HELP_INDENT) + line)];
}

function folded(text: string): readonly string[] {
  const lines: string[] = [];
  for (const part of text.split(" ").filter(Boolean)) {
    const longer = `${lines.at(-1)} ${part}`;
    if (lines.length > 0 && longer.length <= HELP_COLUMNS - HELP_INDENT)
      lines.splice(-1, 1, longer);
    else lines.push(part);
  }
  return lines;
}
