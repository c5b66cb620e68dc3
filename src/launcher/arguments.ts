import { basename } from "node:path";
import { parseArgs } from "node:util";
import { NAME_CHARACTERS_MAX, plainForm, readableForm } from "../shared/masking/legible.ts";
import { containsPan } from "../shared/masking/mask.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { answerWithinDefaultMs } from "./commands/keep-alive.ts";
import texts from "./texts-en.json" with { type: "json" };

export const usage = texts.usage.join("\n");

const flag = { type: "boolean", default: false } as const;
const text = { type: "string" } as const;
/** The options of `launch.sh update`, given one at a time; only the keep-alive uses `apply`. */
const updateFlags = { check: flag, now: flag, hold: flag, unhold: flag, back: flag, apply: flag };
const updateActions = [...namesOf(updateFlags), "delivery", "package", "from"] as const;
const dashed = {
  demo: flag,
  foreground: flag,
  help: { ...flag, short: "h" },
  version: flag,
} as const;
const schedules = { install: flag, uninstall: flag };
const optionTypes = {
  data: text,
  json: flag,
  bundle: text,
  acceptance: flag,
  journal: text,
  protocol: text,
  from: text,
  until: text,
  by: text,
  delivery: text,
  package: text,
  "accept-expired": flag,
  "answer-within": text,
  broker: text,
  into: text,
  "kiosk-folder": text,
  renew: text,
  certificates: flag,
  revoke: flag,
  ...updateFlags,
  ...schedules,
  ...dashed,
} as const;

interface CommandRow {
  readonly options?: ReadonlyArray<keyof typeof optionTypes>;
  /** Words of which one may follow the command, such as `journal` in `restore journal`. */
  readonly subjects?: readonly string[];
  /** true: the name of a file may follow the subject. */
  readonly file?: true;
  /** true: the name of a folder may follow the command. */
  readonly folder?: true;
}

const commands = {
  start: {},
  stop: {},
  restart: {},
  status: { options: ["json"] },
  "keep-alive": { options: ["answer-within"] },
  configure: {},
  doctor: { options: ["json", "bundle", "acceptance"] },
  audit: { options: ["json", "journal"] },
  backup: { options: ["json"], folder: true },
  restore: { options: ["from"], subjects: ["journal", "supervisor"] },
  stores: { subjects: ["accept"] },
  update: { options: [...updateActions, "accept-expired"] },
  fleet: {
    options: ["broker", "into", "kiosk-folder", "certificates", "renew", "revoke"],
    subjects: ["enrol"],
    file: true,
  },
  "systemd-unit": {},
  simulate: {},
  kiosk: {},
  demo: { options: ["protocol"] },
  foreground: {},
  help: {},
  version: {},
} satisfies Record<string, CommandRow>;
type Command = keyof typeof commands;
const rows: ReadonlyArray<readonly [string, CommandRow]> = Object.entries(commands);

type Values = ReturnType<typeof parse>["values"];

export type LauncherArguments = ReturnType<typeof readArguments>;

/** Reads the arguments after `launch.sh`. Throws {@link ProgramExit} 64 with the reason. */
export function readArguments(args: readonly string[]) {
  if (args[0] === "simulate" && !args.includes("--help")) return readSimulate(args.slice(1));
  const { values, positionals } = parse(args);
  const wanted = [...positionals, ...namesOf(dashed).filter((name) => values[name])];
  if (wanted.includes("help")) return complete(parse([]).values, "help");
  const [command = "start", second, third, fourth] = wanted;
  const row = rows.find(([name]) => name === command)?.[1];
  const subject = row?.folder ? second : row?.subjects?.find((one) => one === second);
  const [file, more] = row?.file ? [third, fourth] : [undefined, third];
  if (more !== undefined || second !== subject || second === "") {
    throw wrong(`${wanted.join(" and ")} do not go together`);
  }
  if (!row) throw wrong(`there is no command ${command}`);
  refuseMisplaced(values, command);
  return complete(values, command as Command, { subject, file });
}

function readSimulate(args: readonly string[]) {
  const simulate = [...args];
  const at = args.indexOf("--data");
  const own = at < 0 ? [] : simulate.splice(at, 2);
  return complete(parse(own).values, "simulate", { simulate });
}

function complete(
  values: Values,
  command: Command,
  more: { subject?: string | undefined; file?: string | undefined; simulate?: string[] } = {},
) {
  const seconds = Number(values["answer-within"] ?? answerWithinDefaultMs / 1_000);
  if (!(seconds > 0 && seconds <= 60)) {
    throw wrong("--answer-within must be a number of seconds up to 60");
  }
  const folders = {
    data: "folder",
    delivery: "folder",
    package: "folder",
    from: "folder",
  } as const;
  const contents = { ...folders, bundle: "file", journal: "file" } as const;
  for (const name of namesOf(contents)) {
    if (values[name] === "") throw wrong(`--${name} must name a ${contents[name]}`);
  }
  const { until } = values;
  return {
    subject: undefined,
    file: undefined,
    simulate: [],
    ...values,
    ...more,
    command,
    schedule: exclusive(values, namesOf(schedules)),
    update: exclusive(values, updateActions) ?? ("show" as const),
    /** When a hold of updates (`--hold`) ends; null: it lasts until an operator ends it. */
    untilMs: until === undefined ? null : dayMs(until),
    answerWithinMs: seconds * 1_000,
  };
}

/** Returns which of several options was given; undefined: none. Throws when two are given. */
function exclusive<O extends keyof Values>(values: Values, options: readonly O[]): O | undefined {
  const [one, other] = options.filter((name) => isGiven(values[name]));
  if (other === undefined) return one;
  throw wrong(`--${one} and --${other} exclude each other`);
}

const isGiven = (value: string | boolean | undefined) => value !== undefined && value !== false;

function refuseMisplaced(values: Values, command: string): void {
  for (const option of namesOf(optionTypes)) {
    const owners = rows.filter(([, row]) => row.options?.includes(option)).map(([name]) => name);
    if (!isGiven(values[option]) || owners.length === 0 || owners.includes(command)) continue;
    const written = owners.map((name) => (Object.hasOwn(dashed, name) ? `--${name}` : name));
    throw wrong(`--${option} belongs to ${new Intl.ListFormat("en-GB").format(written)}`);
  }
  const { by, from, until, hold, install, uninstall } = values;
  if ((install || uninstall) && command !== "keep-alive") {
    throw wrong("--install and --uninstall belong to keep-alive and always-up");
  }
  for (const [option, value] of Object.entries({ until, by })) {
    if (value !== undefined && !hold) throw wrong(`--${option} belongs to update --hold`);
  }
  const isCopy = from === undefined || copyForm.test(basename(from));
  if (!isCopy && command === "restore") throw wrong(texts.backup.from);
  if (values["accept-expired"] && from === undefined) {
    throw wrong("--accept-expired belongs to update --from");
  }
  if (by !== undefined && !isName(by)) throw wrong("--by must name a person");
}

/** The day of a copy, or the name of a folder that the command backup has finished. */
const copyForm = /^(\d{4}-\d\d-\d\d(-saved-\d{6})?|backup-\d{4}-\d\d-\d\d-\d{6})$/;

/** Returns the beginning of a day in this machine's time zone, in milliseconds since 1970. */
function dayMs(day: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00`) : Number.NaN;
  if (Number.isNaN(ms)) throw wrong("--until must name a day, such as 2026-01-31");
  return ms;
}

function isName(name: string): boolean {
  const isLegible = plainForm.test(name) && readableForm.test(name);
  return name.length <= NAME_CHARACTERS_MAX && isLegible && !containsPan(name);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: optionTypes });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function namesOf<T extends object>(record: T): Array<keyof T & string> {
  return Object.keys(record) as Array<keyof T & string>;
}

function wrong(message: string): ProgramExit {
  return new ProgramExit(exitCodes.usage, `${message}\nTry ./launch.sh --help.`);
}
