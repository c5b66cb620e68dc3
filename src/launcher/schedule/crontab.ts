import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { defaultDataDirectory } from "../../shared/version-files.ts";
import { userName } from "../processes/system-tool.ts";
import { type KeepAliveEntry, refuseControlCharacters, type Schedule } from "./entry.ts";

const EVERY_TWO_MINUTES = "*/2 * * * *";
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** The crontab of the user. Every line that is not ours stays as it is, byte by byte. */
export const crontab: Schedule = {
  name: `crontab of ${userName()}`,
  async install(entry) {
    refuseControlCharacters([entry.script, ...entry.args, entry.runtimeFolder ?? ""]);
    const wanted = bytes(crontabLine(entry));
    const lines = await readLines();
    const own = lines.filter((line) => isOwn(line, entry));
    if (own.length === 1 && own[0] === wanted) return "already-installed";
    await writeLines([...lines.filter((line) => !isOwn(line, entry)), wanted]);
    if ((await readLines()).includes(wanted)) return "installed";
    throw refused("the line is not in the crontab after it was written");
  },
  async uninstall(entry) {
    const lines = await readLines();
    const others = lines.filter((line) => !isOwn(line, entry));
    if (others.length === lines.length) return "was-not-installed";
    await writeLines(others);
    return "removed";
  },
  async find(entry) {
    return (await readLines()).find((line) => isOwn(line, entry));
  },
};

/** crontab(5): a % ends the command unless a backslash stands before it, also within quotes. */
export function crontabLine({ script, args, runtimeFolder }: KeepAliveEntry): string {
  const path = runtimeFolder === undefined ? [] : [`PATH=${quoted(runtimeFolder)}:${SYSTEM_PATH}`];
  const command = [...path, quoted(script), ...args.map(quoted)].join(" ");
  return `${EVERY_TWO_MINUTES} ${command.replaceAll("%", "\\%")}`;
}

/** As a word of the shell; plain where nothing in it needs quoting. */
export function quoted(word: string): string {
  return /^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A line that runs our always-up.sh for the same data folder, also one written by hand. */
function isOwn(line: string, { script, dataDirectory }: KeepAliveEntry): boolean {
  const command = Buffer.from(line.trim(), "latin1").toString("utf8");
  if (command.startsWith("#")) return false;
  const words = shellWords(command.replaceAll("\\%", "%"));
  const at = words.indexOf(script);
  if (at < 0) return false;
  const data = words.indexOf("--data", at);
  return (data < 0 ? defaultDataDirectory : words[data + 1]) === dataDirectory;
}

/** The words of a command as a shell reads them: quotes group, a backslash takes the next as is. */
function shellWords(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_all, single, double, escaped) =>
      String(single ?? double?.replace(/\\(.)/g, "$1") ?? escaped),
    ),
  );
}

/** A crontab may hold bytes that are no UTF-8; latin1 carries each of them through unchanged. */
function bytes(line: string): string {
  return Buffer.from(line, "utf8").toString("latin1");
}

async function readLines(): Promise<string[]> {
  const { code, out, err } = await runCrontab(["-l"]);
  // crontab(1), and busybox, which names the missing file instead.
  if (code !== 0 && /no crontab for|no such file/i.test(err)) return [];
  if (code !== 0) throw refused(err);
  const lines = out.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

async function writeLines(lines: readonly string[]): Promise<void> {
  const { code, err } = await runCrontab(["-"], lines.map((line) => `${line}\n`).join(""));
  if (code !== 0) throw refused(err);
}

function refused(why: string): ProgramExit {
  return new ProgramExit(
    exitCodes.unavailable,
    `crontab has refused: ${why.trim()}\n` +
      "ask the administrator (/etc/cron.allow), or use ./launch.sh systemd-unit",
  );
}

async function runCrontab(args: readonly string[], input = "") {
  // The callers read its messages: they must not be translated.
  const child = spawn("crontab", args, { env: { ...process.env, LC_ALL: "C" } });
  child.stdin.on("error", () => undefined); // crontab may end without reading; its exit code counts
  child.stdin.end(Buffer.from(input, "latin1"));
  child.stdout.setEncoding("latin1");
  try {
    const [[code], out, err] = await Promise.all([
      once(child, "close") as Promise<[number | null]>,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, out, err };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // EACCES also comes from a folder of PATH that this user may not enter, after su for example.
    if (!["ENOENT", "EACCES"].includes(code)) throw error;
    throw new ProgramExit(
      exitCodes.unavailable,
      code === "ENOENT"
        ? "there is no crontab on this machine\n" +
            "install it (on Debian: sudo apt-get install cron), or let systemd keep the programs " +
            "running: ./launch.sh systemd-unit"
        : `${userName()} may not run crontab, or a folder of PATH\n` +
            "log in as this user (su - USER) and ask again; else ./launch.sh systemd-unit",
    );
  }
}
