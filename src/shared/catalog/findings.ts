import texts from "./findings-en.json" with { type: "json" };

/** Below this free space the disk counts as nearly full: a day's logs may need as much. */
export const DISK_FREE_MIN_BYTES = 50 * 1024 * 1024;

export type Verdict = "ok" | "warn" | "fail";

const row =
  (verdict: Verdict) =>
  <const N extends readonly string[]>(check: string, ...names: N) => ({ check, verdict, names });
const ok = row("ok");
const warn = row("warn");
const fail = row("fail");

const rows = {
  "doctor-no-report": fail("doctor", "detail"),
  "node-right": ok("node", "version", "path"),
  "node-old": fail("node", "version", "path"),
  "data-folder-right": ok("data folder", "folder"),
  "data-folder-closed": fail("data folder", "detail"),
  "disk-right": ok("disk", "free"),
  "disk-low": warn("disk", "free"),
  "disk-full": fail("disk", "free"),
  "disk-no-files": fail("disk", "free"),
  "access-right": ok("access"),
  "access-open": fail("access", "names", "folder", "close"),
  "access-inherited": fail("access", "close"),
  "access-not-ours": warn("access", "close"),
  "access-others": warn("access", "names", "folder", "close"),
  "access-unknown": warn("access", "detail"),
  "setup-right": ok("config", "file"),
  "setup-faulty": fail("config", "detail", "file"),
  "setup-unreadable": fail("config", "detail", "advice"),
  "setup-doubtful": warn("config", "detail", "file"),
  "serial-network": ok("serial port", "port"),
  "serial-right": ok("serial port", "port"),
  "serial-numbered": ok("serial port", "port", "address"),
  "serial-several": fail("serial port", "address", "ports"),
  "serial-missing": fail("serial port", "address", "ports"),
  "serial-none": fail("serial port", "address"),
  "serial-no-port": fail("serial port", "port", "ports"),
  "serial-not-allowed": fail("serial port", "user", "port", "group"),
  "serial-log-in-again": fail("serial port", "user", "port", "group"),
  "serial-of-root": fail("serial port", "user", "port"),
  "serial-in-use": fail("serial port", "port", "pid", "program"),
  "port-ours": ok("local port", "port"),
  "port-free": ok("local port", "port"),
  "port-in-use": warn("local port", "port"),
  "port-taken": fail("local port", "port"),
  "port-taken-by": fail("local port", "port", "pid", "program"),
  "port-of-ours": warn("local port", "setting", "port", "program"),
  "port-unusable": fail("local port", "port", "detail"),
  "port-changed": warn("local port", "before", "port"),
  "page-served": ok("pages", "setting", "port"),
  "page-free": ok("pages", "setting", "port"),
  "page-in-use": warn("pages", "setting", "port"),
  "page-taken": fail("pages", "setting", "port"),
  "page-taken-by": fail("pages", "setting", "port", "pid", "program"),
  "page-missing": fail("pages", "setting", "port", "detail"),
  "page-changed": warn("pages", "setting", "port"),
  "program-runs": ok("{program}", "program", "pid", "version", "up"),
  "program-silent": fail("{program}", "program", "pid", "detail"),
  "program-stopped-on-purpose": warn("{program}", "program", "since"),
  "program-stopped": fail("{program}", "program"),
  "terminal-ready": ok("terminal", "name", "status"),
  "terminal-doubtful": warn("terminal", "name", "status", "detail"),
  "terminal-in-doubt": warn("terminal", "name", "status", "count"),
  "terminal-other-register": warn("terminal", "name"),
  "assumption-on": ok("assumptions", "name", "detail"),
  "assumption-off": ok("assumptions", "name", "detail"),
  "fact-shown": ok("assumptions", "name", "detail"),
  "fact-not-shown": ok("assumptions", "name", "detail"),
  "fact-not-always": ok("assumptions", "name", "detail"),
  "terminal-not-asked": warn("terminal"),
  "queue-right": ok("queue", "pending", "parked", "sent"),
  "queue-waiting": ok("queue", "pending", "oldest", "parked", "sent"),
  "journal-right": ok("journal", "count"),
  "journal-faulty": fail("journal", "count"),
  "journal-not-audited": warn("journal", "detail"),
  "gateway-right": ok("gateway", "url"),
  "gateway-ids-unknown": ok("gateway", "website", "category"),
  "gateway-silent": fail("gateway", "url", "seconds"),
  "gateway-login-refused": fail("gateway", "url", "http"),
  "gateway-key-right": ok("gateway", "url"),
  "gateway-key-refused": fail("gateway", "url", "http"),
  "gateway-unclear": warn("gateway", "url", "http"),
  "gateway-not-trusted": fail("gateway", "url", "detail"),
  "gateway-no-name": fail("gateway", "url", "detail"),
  "gateway-out-of-reach": fail("gateway", "url", "detail"),
  "clock-right": ok("clock", "at", "zone"),
  "clock-alone": ok("clock", "at", "zone"),
  "clock-past": fail("clock", "at", "zone"),
  "clock-away": warn("clock", "at", "zone", "seconds"),
  "schedule-right": ok("schedule", "entry"),
  "schedule-missing": warn("schedule", "install"),
  "schedule-twice": warn("schedule", "unit"),
  "schedule-no-cron": warn("schedule", "entry"),
  "schedule-unknown": warn("schedule", "detail", "advice"),
  "browser-none": ok("browser"),
  "browser-right": ok("browser", "origins", "policy"),
  "browser-asks": warn("browser", "origins", "policy"),
  "updates-not-asked": ok("updates"),
  "updates-right": ok("updates", "url"),
  "updates-old": warn("updates", "url", "at"),
  "updates-silent": warn("updates", "detail"),
  "updates-none": warn("updates", "url"),
  "updates-stored-old": warn("updates", "at"),
  "updates-no-room": warn("updates", "detail"),
  "updates-held": warn("updates", "who", "since", "until"),
  "updates-held-open": warn("updates", "who", "since"),
  "root-keys": ok("updates", "fingerprint"),
  "support-right": ok("updates", "until", "contact"),
  "support-ends": warn("updates", "until", "contact"),
  "support-ended": warn("updates", "until", "contact"),
  "support-test": warn("updates"),
};

type FindingCode = keyof typeof rows;

interface FindingRow {
  readonly check: string;
  readonly verdict: Verdict;
  readonly names: readonly string[];
  /** The sentence of the doctor and of the console, with placeholders in braces. */
  readonly says: string;
  /** What the doctor prints after the sentence; the console shows the value `detail` by itself. */
  readonly more?: string;
  /** The advice, even for the verdict `ok`; missing: nothing to do. */
  readonly todo?: string;
  /** The advice that the console shows instead, because it names the console's buttons. */
  readonly console?: { readonly todo: string };
}

/**
 * The only table of the doctor's own findings, by their codes (docs/design.md 9.1), with the texts
 * of findings-en.json. Conditions are in `conditionTable`, not-ready reasons in `errorTable`.
 */
export const findingTable = Object.fromEntries(
  Object.entries<Omit<FindingRow, "says">>(rows).map(([code, row]): [string, FindingRow] => [
    code,
    { ...row, ...texts[code as FindingCode] },
  ]),
) as Readonly<Record<FindingCode, FindingRow>>;

const verb = "(?:start|restart|configure|audit|status|systemd-unit|update(?: --(?:now|check))?)";

/** The commands in advice that the doctor prints with `--data` if the data folder is another. */
export const commands = new RegExp(
  `\\./(?:launch\\.sh ${verb}|always-up\\.sh --uninstall)\\b`,
  "g",
);

/** Returns the whole text that the doctor prints for a row, with placeholders in braces. */
export function printedText({ says, more }: Pick<FindingRow, "says" | "more">): string {
  return more === undefined ? says : `${says.replace(/\.$/, "")}${more}`;
}

type FindingValues = Readonly<Record<string, string | number>>;

/** One line that the doctor prints: the finding of one check. */
export interface Finding {
  readonly check: string;
  /** A code of `findingTable`, the name of a condition, or the error code of a payment. */
  readonly code: string;
  readonly verdict: Verdict;
  readonly says: string;
  readonly todo: string | null;
  /** The values that are filled into the texts, so that pages can show other languages. */
  readonly values: FindingValues;
}

type ValuesOf<C extends FindingCode> = Readonly<
  Record<(typeof rows)[C]["names"][number], string | number>
>;

/** Returns the doctor's line for a code, with the given values filled into its texts. */
export function finding<C extends FindingCode>(code: C, given: ValuesOf<C>): Finding {
  const { check, verdict, todo } = findingTable[code];
  const values: FindingValues = Object.fromEntries(
    Object.entries<string | number>(given).map(([name, value]) => [
      name,
      typeof value === "string" ? oneLine(value) : value,
    ]),
  );
  const filled = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  return {
    check: filled(check),
    code,
    verdict,
    says: filled(printedText(findingTable[code])),
    todo: todo === undefined ? null : filled(todo),
    values,
  };
}

/** Returns a line of the doctor whose code and text come from a table of another file. */
export function passedOn(
  line: Pick<Finding, "check" | "code" | "says" | "todo">,
  verdict: Verdict,
  values: FindingValues = {},
): Finding {
  return { ...line, verdict, says: oneLine(line.says), values };
}

/** Splits an error message: its first line names the fault, its other lines give advice. */
export function inTwo(message: string, otherwise: string) {
  const [detail = "", ...advice] = message.split("\n");
  return { detail, advice: advice.length === 0 ? otherwise : oneLine(advice.join(" ")) };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
