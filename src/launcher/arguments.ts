import { parseArgs } from "node:util";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { answerWithinDefaultMs } from "./commands/keep-alive.ts";
import { readUpdateWish, type UpdateWish, updateOptions } from "./update/update-wish.ts";

const commands = [
  "start",
  "stop",
  "restart",
  "status",
  "keep-alive",
  "doctor",
  "audit",
  "restore",
  "stores",
  "update",
  "systemd-unit",
  "simulate",
  "kiosk",
] as const;
type Command = (typeof commands)[number] | "demo" | "foreground" | "help" | "version";

export interface LauncherArguments {
  readonly command: Command;
  /** Where `--data` points to; undefined when it was not given. */
  readonly data: string | undefined;
  readonly json: boolean;
  /** Of the keep-alive: its entry in the machine's scheduler. */
  readonly schedule: "install" | "uninstall" | undefined;
  /** Of doctor: where the support archive goes. */
  readonly bundle: string | undefined;
  /** Of audit: a journal file, a backup for example, instead of that of the data folder. */
  readonly journal: string | undefined;
  /** Of update. */
  readonly update: UpdateWish;
  /** Of restore: the day of the copy; undefined: the newest one. */
  readonly from: string | undefined;
  /** The word after the command: of restore the database, of stores what to do. */
  readonly subject: string | undefined;
  /** Of simulate: the word for the simulated terminal, and what follows it. */
  readonly simulate: readonly string[];
  /** Of the demo: the word for TERMINAL_PROTOCOL; undefined: the usual one. */
  readonly protocol: string | undefined;
  /** `--answer-within`, milliseconds. */
  readonly answerWithinMs: number;
}

export const usage = `Starts, watches and stops the connector's programs, tp-manager and supervisor.

  ./launch.sh [start]        start what does not run; wait until it answers or has failed
  ./launch.sh stop           stop in order; the keep-alive leaves it stopped until the next start
  ./launch.sh restart        stop, then start
  ./launch.sh status         one line per program; exit code 69 when something is down
  ./launch.sh keep-alive     what always-up.sh calls: relaunch what is dead or hung
  ./launch.sh keep-alive --install | --uninstall      (also ./always-up.sh --install)
                             run it every 2 minutes (Windows: 5), or no longer
  ./launch.sh doctor         what is right, what is wrong, and what to do about it
  ./launch.sh audit          every payment of the journal checked against the rules, on a copy
  ./launch.sh restore [journal | supervisor] [--from YYYY-MM-DD]
                             put nightly copies of both databases, or of one, back
  ./launch.sh stores         whether a database was lost or restored; stores accept: orders are no
                             longer looked up before they are paid
  ./launch.sh update         how updates stand: the last one, what is ready, held or put off
  ./launch.sh update --check | --now
                             ask UPDATE_URL for a version; now: take it, and end a hold
  ./launch.sh update --hold [--until YYYY-MM-DD] [--by NAME] | --unhold
                             take none by itself, until that day or unhold; --by: whose word
  ./launch.sh update --back  run the version before again, when it can go on with the stores
  ./launch.sh update --delivery DIR
                             take the version of an unpacked delivery: it is tested, and goes back
                             by itself when it does not work
  ./launch.sh systemd-unit   print a unit for systemd, with the way to install it
  ./launch.sh --foreground   both programs in this terminal or service manager, until one stops
  ./launch.sh --demo [--protocol NAME]
                             simulated terminal and gateway, and one sample payment; NAME is a
                             word for TERMINAL_PROTOCOL
  ./launch.sh simulate WORD  be the customer, or the hands, at the demo's terminal: approve,
                             decline, wrong-pin, red, walk-away, unplug [--at report], plug,
                             power-off, paper-out, lock, swap, by-hand, fault NAME, reset, and more:
                             simulate alone lists them all, the terminal's page has them as buttons
  ./launch.sh kiosk          print the address of the kiosk's own pages with a ticket: good for one
                             opening, within a minute (KIOSK_APP, KIOSK_PORT)
  ./launch.sh --help | --version

  --data DIR             data folder (default: data beside launch.sh)
  --json                 status, doctor and audit as JSON
  --journal FILE         audit: this copy of a journal, a backup for example
  --bundle FILE          doctor: write an archive for support too, without secrets
  --answer-within SEC    keep-alive: a program that does not answer for so long, twice in a row,
                         is hung (default 5)

status, stop, restart, doctor and audit mean the demo when it runs, nothing
else does, and --data is not given.
On Windows the same words follow launch.cmd.

Exit codes: 0 well (also: was running, was stopped already), 64 usage,
69 something is down, 70 internal fault, also one that the audit found,
75 another launcher or copy is at work, 78 configuration.`;

/** Throws {@link ProgramExit} 64 with the reason. */
export function readArguments(args: readonly string[]): LauncherArguments {
  if (args[0] === "simulate" && !args.includes("--help")) return readSimulate(args.slice(1));
  const { values, positionals } = parse(args);
  const wanted = [
    ...positionals,
    ...(["demo", "foreground", "help", "version"] as const).filter((name) => values[name]),
  ];
  const told = { what: "tell" } as const;
  if (wanted.includes("help")) return { ...options(values), command: "help", update: told };
  const [command = "start", subject, more] = wanted;
  const mayFollow = subjects.get(command) ?? [];
  if (more !== undefined || (subject !== undefined && !mayFollow.includes(subject))) {
    throw wrong(`${wanted.join(" and ")} do not go together`);
  }
  if (!isCommand(command)) throw wrong(`there is no command ${command}`);
  refuseMisplaced(values, command);
  const update = readUpdateWish(values, command);
  return { ...options(values), command, subject, update };
}

/** Its words and their options are the simulator's own; only `--data` is ours. */
function readSimulate(words: readonly string[]): LauncherArguments {
  const at = words.indexOf("--data");
  const [own, others] =
    at < 0
      ? [[], words]
      : [words.slice(at, at + 2), [...words.slice(0, at), ...words.slice(at + 2)]];
  const { values } = parse(own);
  const update = { what: "tell" } as const;
  return { ...options(values), command: "simulate", simulate: others, update };
}

/** Words that may follow a command. */
const subjects: ReadonlyMap<string, readonly string[]> = new Map([
  ["restore", ["journal", "supervisor"]],
  ["stores", ["accept"]],
]);

function refuseMisplaced(values: ReturnType<typeof parse>["values"], command: Command): void {
  if (values.json && !["status", "doctor", "audit"].includes(command)) {
    throw wrong("--json belongs to status, doctor and audit");
  }
  if (values.journal !== undefined && command !== "audit") {
    throw wrong("--journal belongs to audit");
  }
  if (values.from !== undefined && command !== "restore") {
    throw wrong("--from belongs to restore");
  }
  if (values.from !== undefined && !/^\d{4}-\d\d-\d\d(-saved-\d{6})?$/.test(values.from)) {
    throw wrong("--from must name a day, such as 2026-01-31");
  }
  if (values.protocol !== undefined && command !== "demo") {
    throw wrong("--protocol belongs to --demo");
  }
  if (values.bundle !== undefined && command !== "doctor") {
    throw wrong("--bundle belongs to doctor");
  }
  if (values["answer-within"] !== undefined && command !== "keep-alive") {
    throw wrong("--answer-within belongs to keep-alive");
  }
  if ((values.install || values.uninstall) && command !== "keep-alive") {
    throw wrong("--install and --uninstall belong to keep-alive and always-up");
  }
  if (values.install && values.uninstall)
    throw wrong("--install and --uninstall exclude each other");
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        data: { type: "string" },
        json: { type: "boolean", default: false },
        bundle: { type: "string" },
        journal: { type: "string" },
        protocol: { type: "string" },
        from: { type: "string" },
        ...updateOptions,
        install: { type: "boolean", default: false },
        uninstall: { type: "boolean", default: false },
        demo: { type: "boolean", default: false },
        foreground: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        version: { type: "boolean", default: false },
        "answer-within": { type: "string" },
      },
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function options(
  values: ReturnType<typeof parse>["values"],
): Omit<LauncherArguments, "command" | "update"> {
  const seconds = Number(values["answer-within"] ?? answerWithinDefaultMs / 1_000);
  if (!(seconds > 0 && seconds <= 60)) {
    throw wrong("--answer-within must be a number of seconds up to 60");
  }
  if (values.data === "") throw wrong("--data must name a folder");
  if (values.bundle === "") throw wrong("--bundle must name a file");
  if (values.journal === "") throw wrong("--journal must name a file");
  return {
    data: values.data,
    json: values.json,
    schedule: values.install ? "install" : values.uninstall ? "uninstall" : undefined,
    bundle: values.bundle,
    journal: values.journal,
    from: values.from,
    protocol: values.protocol,
    subject: undefined,
    simulate: [],
    answerWithinMs: seconds * 1_000,
  };
}

function isCommand(word: string): word is Command {
  return [...commands, "demo", "foreground", "help", "version"].includes(word);
}

function wrong(message: string): ProgramExit {
  return new ProgramExit(exitCodes.usage, `${message}\nTry ./launch.sh --help.`);
}
