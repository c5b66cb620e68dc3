import { parseArgs } from "node:util";
import { NAME_CHARACTERS_MAX, plainForm, readableForm } from "../shared/masking/legible.ts";
import { containsPan } from "../shared/masking/mask.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { answerWithinDefaultMs } from "./commands/keep-alive.ts";

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
/** Commands that are written as options. */
const dashed = ["demo", "foreground", "help", "version"] as const;
type Command = (typeof commands)[number] | (typeof dashed)[number];

type Subject = "journal" | "supervisor" | "accept";

/** The meaning of the options of `launch.sh update`. */
export type UpdateRequest =
  | { readonly what: "show" | Exclude<(typeof updateOptions)[number], "hold"> }
  /** `untilMs` null: until an operator ends it. `by`: the person; missing: the machine's user. */
  | { readonly what: "hold"; readonly untilMs: number | null; readonly by: string | undefined }
  | { readonly what: "delivery"; readonly folder: string };

/** Options of update that exclude each other; `apply` is the keep-alive's own. */
const updateOptions = ["check", "now", "hold", "unhold", "back", "apply"] as const;

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
  readonly update: UpdateRequest;
  /** Of restore: the day of the copy; undefined: the newest one. */
  readonly from: string | undefined;
  /** The word after the command: the database to restore, or what stores does. */
  readonly subject: Subject | undefined;
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

  --data DIR             data folder (default: data next to launch.sh)
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
  const wanted = [...positionals, ...dashed.filter((name) => values[name])];
  if (wanted.includes("help")) return { ...options(values), command: "help" };
  const [command = "start", second, more] = wanted;
  const subject = subjects.get(command)?.find((one) => one === second);
  if (more !== undefined || second !== subject) {
    throw wrong(`${wanted.join(" and ")} do not go together`);
  }
  if (!isCommand(command)) throw wrong(`there is no command ${command}`);
  refuseMisplaced(values, command);
  const update = updateRequest(values, command);
  return { ...options(values), command, subject, update };
}

/** Everything after simulate belongs to the simulator, except `--data`. */
function readSimulate(args: readonly string[]): LauncherArguments {
  const simulate = [...args];
  const at = args.indexOf("--data");
  const own = at < 0 ? [] : simulate.splice(at, 2);
  return { ...options(parse(own).values), command: "simulate", simulate };
}

/** Words that may follow a command. */
const subjects: ReadonlyMap<string, readonly Subject[]> = new Map([
  ["restore", ["journal", "supervisor"] as const],
  ["stores", ["accept"] as const],
]);

/** The commands to which an option belongs, as the refusal names them. */
const owners = {
  json: "status, doctor and audit",
  journal: "audit",
  from: "restore",
  protocol: "--demo",
  bundle: "doctor",
  "answer-within": "keep-alive",
} as const;

type Values = ReturnType<typeof parse>["values"];

function refuseMisplaced(values: Values, command: Command): void {
  for (const option of Object.keys(owners) as Array<keyof typeof owners>) {
    const owner = owners[option];
    const isOwned = owner
      .replace("--", "")
      .split(/, | and /)
      .includes(command);
    const isGiven = values[option] !== undefined && values[option] !== false;
    if (isGiven && !isOwned) throw wrong(`--${option} belongs to ${owner}`);
    const isDay = /^\d{4}-\d\d-\d\d(-saved-\d{6})?$/.test(values.from ?? "");
    if (option === "from" && isGiven && !isDay) {
      throw wrong("--from must name a day, such as 2026-01-31");
    }
  }
  if ((values.install || values.uninstall) && command !== "keep-alive") {
    throw wrong("--install and --uninstall belong to keep-alive and always-up");
  }
  if (values.install && values.uninstall)
    throw wrong("--install and --uninstall exclude each other");
}

/** Throws {@link ProgramExit} 64 when the options do not go together. */
function updateRequest(values: Values, command: Command): UpdateRequest {
  const { until, by, delivery } = values;
  const given = updateOptions.filter((name) => values[name]);
  const all = delivery === undefined ? given : ([...given, "delivery"] as const);
  const [one, other] = all;
  if (one !== undefined && command !== "update") throw wrong(`--${one} belongs to update`);
  if (other !== undefined) throw wrong(`--${one} and --${other} exclude each other`);
  if (until !== undefined && one !== "hold") throw wrong("--until belongs to update --hold");
  if (by !== undefined && one !== "hold") throw wrong("--by belongs to update --hold");
  if (by !== undefined && !isName(by)) throw wrong("--by must name a person");
  if (delivery === "") throw wrong("--delivery must name a folder");
  if (delivery !== undefined) return { what: "delivery", folder: delivery };
  if (one !== "hold") return { what: one === undefined || one === "delivery" ? "show" : one };
  return { what: "hold", untilMs: until === undefined ? null : dayMs(until), by };
}

/** The beginning of a day on this machine. */
function dayMs(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00`) : Number.NaN;
  if (Number.isNaN(ms)) throw wrong("--until must name a day, such as 2026-01-31");
  return ms;
}

function isName(text: string): boolean {
  const isLegible = plainForm.test(text) && readableForm.test(text);
  return text.length <= NAME_CHARACTERS_MAX && isLegible && !containsPan(text);
}

function parse(args: readonly string[]) {
  const flag = { type: "boolean", default: false } as const;
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        data: text,
        json: flag,
        bundle: text,
        journal: text,
        protocol: text,
        from: text,
        check: flag,
        now: flag,
        hold: flag,
        unhold: flag,
        back: flag,
        apply: flag,
        until: text,
        by: text,
        delivery: text,
        install: flag,
        uninstall: flag,
        demo: flag,
        foreground: flag,
        help: { ...flag, short: "h" },
        version: flag,
        "answer-within": text,
      },
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function options(values: Values): Omit<LauncherArguments, "command"> {
  const seconds = Number(values["answer-within"] ?? answerWithinDefaultMs / 1_000);
  if (!(seconds > 0 && seconds <= 60)) {
    throw wrong("--answer-within must be a number of seconds up to 60");
  }
  const { data, json, bundle, journal, from, protocol } = values;
  if (data === "") throw wrong("--data must name a folder");
  if (bundle === "") throw wrong("--bundle must name a file");
  if (journal === "") throw wrong("--journal must name a file");
  const schedule = values.install ? "install" : values.uninstall ? "uninstall" : undefined;
  const answerWithinMs = seconds * 1_000;
  const none = { update: { what: "show" }, subject: undefined, simulate: [] } as const;
  return { ...none, data, json, schedule, bundle, journal, from, protocol, answerWithinMs };
}

function isCommand(text: string): text is Command {
  return [...commands, ...dashed].some((command) => command === text);
}

function wrong(message: string): ProgramExit {
  return new ProgramExit(exitCodes.usage, `${message}\nTry ./launch.sh --help.`);
}
