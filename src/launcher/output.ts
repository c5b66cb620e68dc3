/** What the launcher prints: one line per program, readable with and without colours. */

export interface Output {
  /** A line of the form `name  state  details`. */
  row(name: string, mood: Mood, state: string, details?: string): void;
  text(text: string): void;
  /** What went wrong, to standard error. */
  fault(text: string): void;
  heading(text: string): void;
}

export type Mood = "good" | "bad" | "warn" | "plain";

const codes: Record<Mood | "bold", string> = {
  good: "32",
  bad: "31",
  warn: "33",
  plain: "0",
  bold: "1",
};

const NAME_COLUMNS = 19;
const STATE_COLUMNS = 16;

export function createOutput(): Output {
  goOnWithoutReader();
  const colours = wantsColours(process.stdout);
  const errorColours = wantsColours(process.stderr);
  return {
    row(name, mood, state, details = "") {
      const padded =
        paint(colours, mood, state) + " ".repeat(Math.max(STATE_COLUMNS - state.length, 1));
      const line = `${name.padEnd(NAME_COLUMNS)} ${padded}${forThisSystem(details)}`;
      process.stdout.write(`${line.trimEnd()}\n`);
    },
    text: (text) => void process.stdout.write(`${forThisSystem(text)}\n`),
    fault: (text) =>
      void process.stderr.write(`${paint(errorColours, "bad", forThisSystem(text))}\n`),
    heading: (text) => void process.stdout.write(`\n${paint(colours, "bold", text)}\n`),
  };
}

/** `launch.sh start | head -1` ends its reading early; the start is carried out all the same. */
export function goOnWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** What people are told to type. */
export function forThisSystem(text: string, platform: string = process.platform): string {
  return platform === "win32" ? text.replace(/\.\/(launch|always-up)\.sh\b/g, "$1.cmd") : text;
}

/** no-color.org: set and not empty means none; else only to a terminal. */
function wantsColours(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

function paint(colours: boolean, mood: keyof typeof codes, text: string): string {
  return colours && mood !== "plain" ? `\u001b[${codes[mood]}m${text}\u001b[0m` : text;
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
