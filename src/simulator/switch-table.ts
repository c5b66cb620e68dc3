import { parseArgs } from "node:util";

/** One switch of a simulator: the same table parses a command line and explains it. */
export interface Switch<D> {
  /** Name of the value in `--help`; a switch without one is on or off. */
  readonly argument?: string;
  readonly multiple?: boolean;
  readonly description: string;
  /** Returns the members of the draft that a value sets. Throws {@link ValueError}. */
  change(value: string, draft: D): Partial<D>;
}

type Change<D> = Switch<D>["change"];

export type SwitchTable<D> = Readonly<Record<string, Switch<D>>>;

/** A switch with a value. */
export function option<D>(
  argument: string,
  description: string,
  change: Change<NoInfer<D>>,
): Switch<D> {
  return { argument, description, change };
}

/** A switch with a value that may be given again and again. */
export function list<D>(
  argument: string,
  description: string,
  change: Change<NoInfer<D>>,
): Switch<D> {
  return { argument, description, change, multiple: true };
}

/** A switch without a value. */
export function flag<D>(
  description: string,
  change: (draft: NoInfer<D>) => Partial<NoInfer<D>>,
): Switch<D> {
  return { description, change: (_, draft) => change(draft) };
}

/** A value that cannot be used; the message says what would be right. */
export class ValueError extends Error {
  override readonly name: string = "ValueError";
}

/** The request that a command line makes of a simulator. */
export type Asked<T> =
  | { readonly ask: "help"; readonly text: string }
  | { readonly ask: "start"; readonly options: T; readonly readyFile: string | null }
  /** Exit code 64. */
  | { readonly ask: "wrong"; readonly problem: string };

interface CommandLine<D extends { readyFile?: string }, T> {
  readonly switches: SwitchTable<D>;
  readonly draft: D;
  /** The options that the entered values make. Throws {@link ValueError}. */
  options(draft: D): T;
  /** The text of `--help`. */
  help(): string;
}

/** Reads the arguments of `main.ts`. Never throws for a mistyped command line. */
export function readSwitches<D extends { readyFile?: string }, T>(
  { switches, draft, options, help }: CommandLine<D, T>,
  argv: readonly string[],
): Asked<T> {
  try {
    const { help: asksForHelp, ...given } = parsed(switches, argv);
    if (asksForHelp) return { ask: "help", text: help() };
    for (const [name, values] of Object.entries(given)) {
      for (const value of values) enter(name, switches[name] as Switch<D>, value, draft);
    }
    return { ask: "start", options: options(draft), readyFile: draft.readyFile ?? null };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return { ask: "wrong", problem: error.message };
  }
}

function parsed<D>(
  switches: SwitchTable<D>,
  argv: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const options = Object.entries(switches).map(
    ([name, { argument }]) =>
      [name, { type: argument ? "string" : "boolean", multiple: true }] as const,
  );
  const { values } = refusing(() =>
    parseArgs({
      args: [...argv],
      options: { ...Object.fromEntries(options), help: { type: "boolean", multiple: true } },
    }),
  );
  const lists = Object.entries(values).map(([name, given]) => {
    const list = [given].flat().map(String);
    if (list.length > 1 && switches[name]?.argument && !switches[name].multiple) {
      throw new ValueError(`--${name} is given ${list.length} times`);
    }
    return [name, list] as const;
  });
  return Object.fromEntries(lists);
}

/** The parser's own words for a switch that is unknown or lacks its value. */
function refusing<R>(work: () => R): R {
  try {
    return work();
  } catch (error) {
    throw new ValueError((error as Error).message);
  }
}

function enter<D>(name: string, { argument, change }: Switch<D>, value: string, draft: D): void {
  try {
    Object.assign(draft as object, change(value, draft));
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const given = argument ? ` ${value}` : "";
    throw new ValueError(`--${name}${given} cannot be used: ${error.message}`);
  }
}

const NUMBER_MAX = 999_999_999;

/** A whole number within its range. */
export function whole(value: string, min = 0, max = NUMBER_MAX): number {
  const number = /^\d{1,11}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new ValueError(`it must be a whole number from ${min} to ${max}`);
}

export function oneOf<T extends string>(value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (!found) throw new ValueError(`right would be ${choices.join(" or ")}`);
  return found;
}

/** The value when its form is right. */
export function formed(value: string, form: RegExp, example: string): string {
  if (!form.test(value)) throw new ValueError(`right would be ${example}`);
  return value;
}

const HELP_INDENT = 30;
const HELP_COLUMNS = 100;

/** The lines of `--help` about the switches. */
export function switchLines<D>(switches: SwitchTable<D>): readonly string[] {
  const rows = Object.entries(switches).map(
    ([name, { argument, multiple, description }]) =>
      [`--${name}${argument ? ` ${argument}` : ""}`, description, multiple] as const,
  );
  return [...rows, ["--help", "this text", false] as const].flatMap(([left, text, multiple]) =>
    helpLines(left, multiple ? `${text}; repeatable` : text),
  );
}

/** A name with its explanation, folded into the columns of a terminal. */
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
