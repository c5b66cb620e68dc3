import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { z } from "zod";
import { AppError } from "../../../shared/catalog/errors.ts";
import { finding } from "../../../shared/catalog/findings.ts";
import type { ConfigFields } from "../../../shared/config/config-field.ts";
import { type Installation, versionNumber } from "../../../shared/process/installation.ts";
import { isDelivery, programFile } from "../../../shared/version-files.ts";
import type { doctor } from "../openapi/console.ts";
import { type LogLine, type LogQuery, readLog } from "./log-lines.ts";
import { readSettings, type Setting } from "./settings.ts";

/** The doctor waits for a terminal, a gateway and a scheduler that may all be silent. */
const DOCTOR_LIMIT_MS = 120_000;
const CHECK_LIMIT_MS = 300_000;
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

export interface MaintenanceParts {
  readonly installation: Installation;
  /** Every name of the setup file. */
  readonly fields: ConfigFields;
  /** Runs the launcher with these arguments; missing: the one of this installation. */
  readonly launcher?: (args: readonly string[], timeout: number) => Promise<Ended>;
  /** Missing: whether this is a delivery; a checkout is never updated. */
  readonly isUpdated?: boolean;
}

/** The output of `launch.sh doctor --json`. */
type DoctorReport = z.input<typeof doctor>;

interface UpdateAnswer {
  readonly done: boolean;
  /** The launcher's output. */
  readonly message: string;
}

/**
 * Maintenance of an installation apart from its money: setup file and logs are read, doctor,
 * support bundle and updates are the launcher's own commands, each run one at a time.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  #last: Promise<unknown> = Promise.resolve();
  /** Commands that run: a caller that asks meanwhile gets the same answer. */
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

  /** A doctor that makes no report has found something too. */
  doctor(): Promise<DoctorReport> {
    return this.#joined("doctor", () => this.#examine());
  }

  /** A support archive (tar.gz), as `launch.sh doctor --bundle` writes it. Throws without one. */
  supportBundle(): Promise<Buffer> {
    return this.#joined("support bundle", () => this.#bundle());
  }

  async #examine(): Promise<DoctorReport> {
    const { stdout, stderr } = await this.#launcher(["doctor", "--json"], DOCTOR_LIMIT_MS);
    try {
      return JSON.parse(stdout) as DoctorReport;
    } catch {
      const findings = [finding("doctor-no-report", { detail: stderr })];
      return { version: versionNumber, well: false, findings };
    }
  }

  async #bundle(): Promise<Buffer> {
    const folder = await mkdtemp(join(tmpdir(), "support-"));
    const file = join(folder, "support.tar.gz");
    try {
      const args = ["doctor", "--json", "--bundle", file];
      const { stderr } = await this.#launcher(args, DOCTOR_LIMIT_MS);
      return await readFile(file).catch((cause: unknown) => {
        throw new Error(`no support bundle was written: ${stderr.trim()}`, { cause });
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Asks UPDATE_URL for a version. */
  checkForUpdate(): Promise<UpdateAnswer> {
    return this.#update(["--check"]);
  }

  /** No version is taken by itself until the day begins, or until a person ends it. */
  holdUpdates({ until, by }: Hold): Promise<UpdateAnswer> {
    // One argument each: a name may begin with a dash.
    const named = [...(until ? [`--until=${until}`] : []), ...(by ? [`--by=${by}`] : [])];
    return this.#update(["--hold", ...named]);
  }

  endHold(): Promise<UpdateAnswer> {
    return this.#update(["--unhold"]);
  }

  /** Only options that end no program: the launcher that runs here would end with it. */
  async #update(options: readonly string[]): Promise<UpdateAnswer> {
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

  /** One after the other: a click that is repeated must not fill the machine. */
  #launcher(args: readonly string[], timeout: number): Promise<Ended> {
    const { installation, launcher = runLauncher } = this.#parts;
    const all = [...args, "--data", installation.dataDirectory];
    const next = this.#last.then(() => launcher(all, timeout));
    this.#last = next.catch(() => {});
    return next;
  }
}

interface Hold {
  /** A day; missing: until a person ends it. */
  readonly until?: string | undefined;
  /** The person; missing: the user of the programs. */
  readonly by?: string | undefined;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const runLauncher: NonNullable<MaintenanceParts["launcher"]> = (args, timeout) =>
  run([programFile("launcher"), ...args], timeout);

/** The output of a command, however it ends. */
async function run(args: readonly string[], timeout: number): Promise<Ended> {
  const options = { timeout, windowsHide: true, maxBuffer: OUTPUT_BYTES_MAX };
  const running = promisify(execFile)(process.execPath, [...args], options);
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
