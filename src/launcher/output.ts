import type { Installation } from "../shared/process/installation.ts";
import type { Clock } from "../shared/time.ts";

export type Mood = "good" | "bad" | "warn" | "plain";

const codes: Record<Mood | "bold", string> = {
  good: "32",
  bad: "31",
  warn: "33",
  plain: "0",
  bold: "1",
};

/** The widths of the columns of name and state. */
const ROW: Layout = { name: 19, state: 15 };
const FINDING: Layout = { name: 11, state: 4 };

interface Layout {
  readonly name: number;
  readonly state: number;
}

/** The launcher's output: one line per program, readable with and without colours. */
export type Output = Readonly<ReturnType<typeof createOutput>>;

export function createOutput() {
  goOnWithoutReader();
  const out = new Writer(process.stdout);
  const err = new Writer(process.stderr);
  return {
    /** Prints a line of the form `name  state  details`. */
    row: (name: string, mood: Mood, state: string, details = ""): void =>
      out.row(ROW, name, mood, state, details),
    /** Prints a narrower line of the same form, for the doctor. */
    finding: (name: string, mood: Mood, verdict: string, says: string): void =>
      out.row(FINDING, name, mood, verdict, says),
    /** Prints a text as it stands, to be copied or read by a program. */
    text: (text: string): void => out.text(text),
    /** Prints a sentence for people. */
    note: (text: string): void => out.lines(text, "plain"),
    /** Prints an error to standard error. */
    fault: (text: string): void => err.lines(text, "bad"),
    heading: (text: string): void => out.text(`\n${out.paint("bold", text)}`),
  };
}

/** One of the two streams: a terminal has colours and an edge, a file or a pipe has neither. */
class Writer {
  readonly #stream: NodeJS.WriteStream;
  readonly #colours: boolean;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#colours = wantsColours(stream);
  }

  text(text: string): void {
    this.#stream.write(`${forThisSystem(text)}\n`);
  }

  row(layout: Layout, name: string, mood: Mood, state: string, details: string): void {
    const gap = " ".repeat(Math.max(layout.state - state.length, 0) + 1);
    const head = `${name.padEnd(layout.name)} ${this.paint(mood, state)}${gap}`;
    const used = Math.max(name.length, layout.name) + 1 + state.length + gap.length;
    const indent = layout.name + layout.state + 2;
    this.text(`${head}${this.#wrapped(details, used, indent)}`.trimEnd());
  }

  /** Prints lines; the rest of a line that is too long stands below the text that it belongs to. */
  lines(text: string, mood: Mood): void {
    const columns = this.#stream.isTTY ? this.#stream.columns : 0;
    const lines = columns > 0 ? fitted(forThisSystem(text), columns) : text.split("\n");
    for (const line of lines) this.text(this.paint(mood, line));
  }

  paint(mood: keyof typeof codes, text: string): string {
    if (!this.#colours || mood === "plain" || text === "") return text;
    return `\u001b[${codes[mood]}m${text}\u001b[0m`;
  }

  #wrapped(text: string, used: number, indent: number): string {
    const columns = this.#stream.isTTY ? this.#stream.columns : 0;
    return columns > 0 ? wrap(forThisSystem(text), columns, used, indent) : text;
  }
}

/** A term and, after two spaces or more, its explanation. */
const entry = /^( *\S.*? {2,})(\S.*)$/;
/** A line indented so far goes on with what the entry above it says. */
const SECOND_COLUMN_FROM = 20;
/** A second column narrower than that is not kept. */
const SECOND_COLUMN_MIN = 20;

/** The lines of a text, entries of two columns among them, for a terminal of so many columns. */
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
 * Breaks a text at its spaces, so that no line passes `columns`. `used` columns of the first line
 * are taken; the lines that follow begin with `indent` spaces. A word that is too long for any line
 * stays whole: a path can be copied.
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

/** `launch.sh start | head -1` ends its reading early; the start is carried out all the same. */
function goOnWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** The text with its commands as they are typed on this system. */
export function forThisSystem(text: string, platform: string = process.platform): string {
  return platform === "win32" ? text.replace(/\.\/(launch|always-up)\.sh\b/g, "$1.cmd") : text;
}

/** A word of a command line, as a person copies it into the shell of this system. */
export function shellArgument(text: string): string {
  if (/^[\w@+=:,./-]+$/.test(text)) return text;
  // cmd.exe knows double quotes only; curl.exe reads \" inside them.
  if (process.platform === "win32") return `"${text.replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A template with the values of its names in braces. */
export function filled(template: string, value: (name: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_all, name: string) => value(name));
}

/** no-color.org: set and not empty means none; else only to a terminal. */
function wantsColours(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

/** `45 s`, `12 min`, `3 h 05 min`, `2 d 4 h`: for people. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The installation that a command works on, with its clock and its output. */
export interface CommandContext extends Installation {
  readonly clock: Clock;
  readonly output: Output;
  /** Of a launcher that runs the programs itself: whether they all run and nothing stops them. */
  readonly ownProgramsRun?: () => boolean;
}
