import type { Installation } from "../shared/program/installation.ts";
import type { Clock } from "../shared/time.ts";

/** The terminal's codes for colours and bold text (ECMA-48, SGR). */
const codes = { good: "32", bad: "31", warn: "33", plain: "0", bold: "1" };
export type Mood = Exclude<keyof typeof codes, "bold">;

/** The widths of the first two columns, in characters: a name and a state. */
const ROW = { name: 19, state: 15 };
const FINDING: typeof ROW = { name: 11, state: 4 };

export type Output = Readonly<ReturnType<typeof createOutput>>;

export function createOutput() {
  goOnWithoutReader();
  const out = new Writer(process.stdout);
  const err = new Writer(process.stderr);
  return {
    /** Prints a line of the form `name  state  details`. */
    row: (name: string, mood: Mood, state: string, details = ""): void =>
      out.row(ROW, name, mood, state, details),
    finding: (name: string, mood: Mood, verdict: string, says: string): void =>
      out.row(FINDING, name, mood, verdict, says),
    /** Prints a text unchanged, for a person to copy or a program to read. */
    text: (text: string): void => out.text(text),
    note: (text: string): void => out.lines(text, "plain"),
    fault: (text: string): void => err.lines(text, "bad"),
    heading: (text: string): void => out.text(`\n${out.paint("bold", text)}`),
  };
}

/** Writes to standard output or standard error; colours and breaks lines only on a terminal. */
class Writer {
  readonly #stream: NodeJS.WriteStream;
  readonly #colours: boolean;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // Colours are written to a terminal, unless NO_COLOR is set (no-color.org).
    const isPlain = process.env["NO_COLOR"] || process.env["TERM"] === "dumb";
    this.#colours = stream.isTTY === true && !isPlain;
  }

  text(text: string): void {
    this.#stream.write(`${forThisSystem(text)}\n`);
  }

  row(layout: typeof ROW, name: string, mood: Mood, state: string, details: string): void {
    const gap = " ".repeat(Math.max(layout.state - state.length, 0) + 1);
    const head = `${name.padEnd(layout.name)} ${this.paint(mood, state)}${gap}`;
    const used = Math.max(name.length, layout.name) + 1 + state.length + gap.length;
    const indent = layout.name + layout.state + 2;
    const columns = this.#columns;
    const rest = columns > 0 ? wrap(forThisSystem(details), columns, used, indent) : details;
    this.text(`${head}${rest}`.trimEnd());
  }

  lines(text: string, mood: Mood): void {
    const columns = this.#columns;
    const lines = columns > 0 ? fitted(forThisSystem(text), columns) : text.split("\n");
    for (const line of lines) this.text(this.paint(mood, line));
  }

  paint(mood: keyof typeof codes, text: string): string {
    if (!this.#colours || mood === "plain" || text === "") return text;
    return `\u001b[${codes[mood]}m${text}\u001b[0m`;
  }

  /** The terminal's width in columns; 0 for a file or pipe, where no line is broken. */
  get #columns(): number {
    return this.#stream.isTTY ? this.#stream.columns : 0;
  }
}

/** A line of two columns: a term and, after two spaces or more, its explanation. */
const entry = /^( *\S.*? {2,})(\S.*)$/;
/** A line that is indented by this many columns continues the explanation above it. */
const SECOND_COLUMN_FROM = 20;
/** The least columns for an explanation; if fewer are left, it stands below its term. */
const SECOND_COLUMN_MIN = 20;

/** Returns the lines of a text, which can have two columns, broken at the width `columns`. */
export function fitted(text: string, columns: number): string[] {
  const parts: Array<{ readonly head: string; text: string; readonly isColumn: boolean }> = [];
  for (const line of text.split("\n")) {
    const [, name, about] = entry.exec(line) ?? [];
    const indent = line.length - line.trimStart().length;
    const head = name ?? " ".repeat(indent);
    const isColumn = name !== undefined || indent >= SECOND_COLUMN_FROM;
    const above = parts.at(-1);
    const goesOn = name === undefined && isColumn && above?.isColumn;
    if (goesOn && above.head.length === indent) above.text += ` ${line.trimStart()}`;
    else parts.push({ head, text: about ?? line.trimStart(), isColumn });
  }
  return parts.map(({ head, text: said, isColumn }) => {
    const used = head.length;
    const narrow = columns - used < SECOND_COLUMN_MIN;
    if (isColumn && !narrow) return head + wrap(said, columns, used, used);
    const line = head + said;
    const indent = line.length - line.trimStart().length;
    const rest = wrap(line.trimStart(), columns, indent, indent === 0 ? 0 : indent + 2);
    return " ".repeat(indent) + rest;
  });
}

/**
 * Breaks a text at its spaces, so that no line is longer than `columns`. The first line already has
 * `used` columns; the lines that follow begin with `indent` spaces. A word that is too long for any
 * line stays whole, so that a path can be copied.
 */
export function wrap(text: string, columns: number, used: number, indent: number): string {
  const lines: string[] = [];
  let line = "";
  let left = columns - used;
  for (const part of text.split(" ")) {
    const longer = line === "" ? part : `${line} ${part}`;
    if (longer.length <= left || line === "") {
      line = longer;
    } else {
      lines.push(line);
      line = part;
      left = columns - indent;
    }
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

/** Lets a command finish when the reader of its output ends early, as in `start | head -1`. */
function goOnWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/**
 * Returns a text with the names of the shell files (.sh or .cmd) as this system has them. The
 * launch.sh of a package (docs/packages.md) names the command that starts it.
 */
export function forThisSystem(text: string, platform: string = process.platform): string {
  if (platform === "win32") return text.replace(/\.\/(launch|always-up)\.sh\b/g, "$1.cmd");
  return text.replaceAll("./launch.sh", process.env["CONNECTOR_COMMAND"] ?? "./launch.sh");
}

/** Returns an argument quoted for the shell of this system, so that a person can copy it. */
export function shellArgument(text: string): string {
  if (/^[\w@+=:,./-]+$/.test(text)) return text;
  // cmd.exe knows double quotes only; inside double quotes, curl.exe reads \" as a quote.
  if (process.platform === "win32") return `"${text.replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a template in which each `{name}` is replaced by its value. */
export function filled(template: string, value: (name: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_all, name: string) => value(name));
}

/** Returns the line of a program's output that says why it failed; a stack trace is left out. */
export function reasonIn(printed: string): string {
  const lines = printed.split("\n").map((line) => line.trim());
  const isTrace = (line: string): boolean => /^(|at .*|[\^{}]+|Node\.js v\S+)$/.test(line);
  const error = lines.find((line) => /^(Uncaught )?\w*Error\b/.test(line));
  return error ?? lines.findLast((line) => !isTrace(line)) ?? printed;
}

/** Returns a duration for people: `45 s`, `12 min`, `3 h 05 min` or `2 d 4 h`. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export interface CommandContext extends Installation {
  readonly clock: Clock;
  readonly output: Output;
  /** Whether all programs run and none is being stopped; missing: another process started them. */
  readonly ownProgramsRun?: () => boolean;
}
