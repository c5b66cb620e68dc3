import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { AppError } from "../../../shared/catalog/errors.ts";
import { finding } from "../../../shared/catalog/findings.ts";
import { parseConfig } from "../../../shared/config/config.ts";
import { type ConfigFields, mayBePrinted, metaOf } from "../../../shared/config/config-field.ts";
import { readEntries } from "../../../shared/config/config-file.ts";
import { consolePortOf } from "../../../shared/config/schema.ts";
import { cleanLine } from "../../../shared/masking/log-cleaning.ts";
import { linesAtEnd, logLevels } from "../../../shared/process/log-file.ts";
import { type Installation, versionNumber } from "../../../shared/program/installation.ts";
import { readOr } from "../../../shared/read-or.ts";
import { isDelivery, programFile } from "../../../shared/version-files.ts";
import { oneOf, pageLimit } from "../body/input.ts";
import type { copy, doctor, logLine, setting } from "../openapi/installation.ts";

/** The time limit of the doctor, which waits for terminal, gateway and scheduler. */
const DOCTOR_LIMIT_MS = 120_000;
const CHECK_LIMIT_MS = 300_000;
const BACKUP_LIMIT_MS = 900_000;
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

interface MaintenanceParts {
  readonly installation: Installation;
  readonly fields: ConfigFields;
  /** Runs the launcher with these arguments; missing: this installation's launcher. */
  readonly launcher?: typeof runLauncher;
  /** Whether updates may be installed; when missing: in a delivery yes, in a source checkout no. */
  readonly isUpdated?: boolean;
}

type Setting = z.output<typeof setting>;
type DoctorReport = z.input<typeof doctor>;
type Copy = z.output<typeof copy>;

/**
 * Maintenance of an installation, except what concerns money. Setup file and logs are read here;
 * doctor, support bundle, backup and updates are commands of the launcher, which run one at a time.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  #last: Promise<unknown> = Promise.resolve();
  /** The running launcher commands; a second caller of a command gets the answer of the first. */
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(parts: MaintenanceParts) {
    this.#parts = parts;
  }

  settings(): Promise<Setting[]> {
    return readSettings(this.#parts.installation.configFile, this.#parts.fields);
  }

  logs(query: LogQuery): Promise<LogLine[]> {
    return readLog(this.#parts.installation, query);
  }

  /** Returns the doctor's report; if the doctor fails, the failure is the report's only finding. */
  doctor(): Promise<DoctorReport> {
    return this.#joined("doctor", async () => {
      const { stdout, stderr } = await this.#launcher(["doctor", "--json"], DOCTOR_LIMIT_MS);
      try {
        return JSON.parse(stdout) as DoctorReport;
      } catch {
        const findings = [finding("doctor-no-report", { detail: stderr })];
        return { version: versionNumber, well: false, findings };
      }
    });
  }

  /** Returns a support archive (tar.gz) of `launch.sh doctor --bundle`. Throws if none was made. */
  supportBundle(): Promise<Buffer> {
    return this.#joined("support bundle", async () => {
      const folder = await mkdtemp(join(tmpdir(), "support-"));
      const file = join(folder, "support.tar.gz");
      try {
        const args = ["doctor", "--json", "--bundle", file];
        const { stderr } = await this.#launcher(args, DOCTOR_LIMIT_MS);
        return await readFile(file).catch((cause: unknown) => {
          throw new Error(`the support bundle could not be written: ${stderr.trim()}`, { cause });
        });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }

  /** Copies the databases by `launch.sh backup`; `copy` null: `message` says why none was made. */
  backup(): Promise<{ copy: Copy | null; message: string }> {
    return this.#joined("backup", async () => {
      const { stdout, stderr, code } = await this.#launcher(["backup", "--json"], BACKUP_LIMIT_MS);
      const made = code === 0 ? (JSON.parse(stdout) as Copy) : null;
      return { copy: made, message: made ? `the copy is ${made.path}` : stderr.trim() };
    });
  }

  /**
   * Runs `launch.sh update` with options that stop no program, or this launcher would stop too.
   * `message`: the launcher's output. Throws NOT_SUPPORTED in a source checkout.
   */
  async update(...options: string[]): Promise<{ done: boolean; message: string }> {
    if (!(this.#parts.isUpdated ?? isDelivery)) {
      throw new AppError("NOT_SUPPORTED", "Only a delivery is updated, not a checkout.");
    }
    const { stdout, stderr, code } = await this.#launcher(["update", ...options], CHECK_LIMIT_MS);
    const texts = [stdout.trim(), stderr.trim()].filter((text) => text !== "");
    return { done: code === 0, message: texts.join("\n") };
  }

  #joined<T>(name: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(name) as Promise<T> | undefined;
    if (running !== undefined) return running;
    const result = work().finally(() => this.#running.delete(name));
    this.#running.set(name, result);
    return result;
  }

  #launcher(args: readonly string[], timeout: number): Promise<Ended> {
    const { installation, launcher = runLauncher } = this.#parts;
    const all = [...args, "--data", installation.dataDirectory];
    const next = this.#last.then(() => launcher(all, timeout));
    this.#last = next.catch(() => {});
    return next;
  }
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

async function runLauncher(args: readonly string[], timeout: number): Promise<Ended> {
  const options = { timeout, windowsHide: true, maxBuffer: OUTPUT_BYTES_MAX };
  const command = [programFile("launcher"), ...args];
  const running = promisify(execFile)(process.execPath, command, options);
  const end = (): boolean => running.child.kill();
  process.once("exit", end);
  try {
    return { ...(await running), code: 0 };
  } catch (error) {
    const { stdout = "", stderr = "", code, message } = error as Partial<Ended> & Error;
    return { stdout, stderr: stderr || message, code: typeof code === "number" ? code : 1 };
  } finally {
    process.off("exit", end);
  }
}

/** Rejects if the file cannot be read: no start goes on without it, so no setting is known then. */
async function readSettings(file: string, fields: ConfigFields): Promise<Setting[]> {
  const text = await readFile(file, "utf8");
  const { entries } = readEntries(text);
  const { config } = parseConfig(text, "tp-manager");
  const port = config && consolePortOf({ ...config, CONSOLE_PORT: undefined });
  const known = Object.entries(fields).map(([name, field]): Setting => {
    const { value = "", line } = entries.find((entry) => entry.name === name) ?? {};
    const isVisible = mayBePrinted({ name, value }, fields);
    const usual = field.safeParse(undefined);
    const byDefault = usual.success && usual.data !== undefined ? String(usual.data) : "";
    const derived = name === "CONSOLE_PORT" && port ? String(port) : "";
    const unset = byDefault ? "default" : derived ? "derived" : "none";
    return {
      name,
      value: value !== "" && isVisible ? value : null,
      state: value === "" ? "default" : isVisible ? "set" : "hidden",
      default: byDefault || derived || null,
      origin: value === "" ? unset : `${file}:${line}`,
      help: metaOf(field).help,
    };
  });
  const unknown = entries.filter(({ name }) => !Object.hasOwn(fields, name));
  const nothing = { value: null, state: "unknown", default: null, help: "" } as const;
  return [
    ...known,
    ...unknown.map(({ name, line }) => ({ ...nothing, name, origin: `${file}:${line}` })),
  ];
}

const LINES_MAX = 1_000;

export const logQuery = z.strictObject({
  program: oneOf(["tp-manager", "supervisor"]).default("tp-manager"),
  level: oneOf(logLevels).default("info"),
  contains: z.string().max(200, "is too long").default(""),
  limit: pageLimit(LINES_MAX),
});
type LogQuery = z.output<typeof logQuery>;

type LogLine = z.input<typeof logLine>;

/** How many bytes at the end of a log are read: some hours of a busy kiosk. */
const BYTES_MAX = 1024 * 1024;

/** Returns the lines of a log that match, newest first; an empty list if there is no log. */
async function readLog(
  { logDirectory }: Installation,
  { program, level, contains, limit }: LogQuery,
): Promise<LogLine[]> {
  const wanted = contains.toLowerCase();
  const least = logLevels.indexOf(level);
  const lines = (await linesAtEnd(join(logDirectory, `${program}.log`), BYTES_MAX))
    .split("\n")
    .reverse();
  const found: LogLine[] = [];
  for (const line of lines) {
    if (found.length >= limit) break;
    if (!line.toLowerCase().includes(wanted)) continue;
    // The masked line must contain the text too, so that no search finds what masking removed.
    const clean = cleanLine(line);
    if (!clean.toLowerCase().includes(wanted)) continue;
    const read = lineOf(clean);
    if (read && logLevels.indexOf(read.level) >= least) found.push(read);
  }
  return found;
}

/** Returns a parsed line of the log; undefined: the logger did not write this line. */
function lineOf(line: string): LogLine | undefined {
  return readOr(undefined, () => {
    const { level, time, program: _, msg = "", area = null, ...others } = JSON.parse(line);
    if (!logLevels.includes(level)) return undefined;
    const more = Object.keys(others).length === 0 ? "" : JSON.stringify(others);
    const text = area === null ? null : String(area);
    return { at: String(time), level, area: text, message: String(msg), more };
  });
}
