import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError } from "../../../shared/catalog/errors.ts";
import { type Finding, finding } from "../../../shared/catalog/findings.ts";
import type { ConfigFields } from "../../../shared/config/config-field.ts";
import { type Installation, versionNumber } from "../../../shared/process/installation.ts";
import { isDelivery, programFile } from "../../../shared/version-files.ts";
import { type LogLine, type LogQuery, readLog } from "./log-lines.ts";
import { readSettings, type Setting } from "./settings.ts";

/** The doctor waits for a terminal, a gateway and a scheduler that may all be silent. */
const DOCTOR_LIMIT_MS = 120_000;
const CHECK_LIMIT_MS = 300_000;
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

export interface CareParts {
  readonly installation: Installation;
  /** Every name of the setup file. */
  readonly fields: ConfigFields;
  /** Runs the launcher with these words; missing: the one of this installation. */
  readonly launcher?: (words: readonly string[], timeout: number) => Promise<Ended>;
  /** Missing: whether this is a delivery; a checkout is never updated. */
  readonly isUpdated?: boolean;
}

/** The output of `launch.sh doctor --json`. */
interface DoctorReport {
  readonly version: string;
  readonly well: boolean;
  readonly findings: readonly Finding[];
}

interface Told {
  readonly done: boolean;
  /** The launcher's own words. */
  readonly message: string;
}

/**
 * The care of an installation from outside its money: setup file and logs are read, doctor, support
 * bundle and updates are the launcher's own commands, each run one at a time.
 */
export class Care {
  readonly #parts: CareParts;
  #last: Promise<unknown> = Promise.resolve();
  /** Looks that are under way: who asks meanwhile gets the same answer. */
  readonly #looks = new Map<string, Promise<unknown>>();

  constructor(parts: CareParts) {
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
      const words = ["doctor", "--json", "--bundle", file];
      const { stderr } = await this.#launcher(words, DOCTOR_LIMIT_MS);
      return await readFile(file).catch((cause: unknown) => {
        throw new Error(`no support bundle was written: ${stderr.trim()}`, { cause });
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Asks UPDATE_URL for a version. */
  checkForUpdate(): Promise<Told> {
    return this.#update(["--check"]);
  }

  /** No version is taken by itself until the day begins, or until somebody ends it. */
  holdUpdates({ until, by }: Hold): Promise<Told> {
    // One word each: a name may begin with a dash.
    const named = [...(until ? [`--until=${until}`] : []), ...(by ? [`--by=${by}`] : [])];
    return this.#update(["--hold", ...named]);
  }

  endHold(): Promise<Told> {
    return this.#update(["--unhold"]);
  }

  /** Only words that end no program: the launcher that runs here would end with it. */
  async #update(wish: readonly string[]): Promise<Told> {
    if (!(this.#parts.isUpdated ?? isDelivery)) {
      throw new AppError("NOT_SUPPORTED", "Only a delivery is updated, not a checkout.");
    }
    const { stdout, stderr, code } = await this.#launcher(["update", ...wish], CHECK_LIMIT_MS);
    const words = [stdout.trim(), stderr.trim()].filter((text) => text !== "");
    return { done: code === 0, message: words.join("\n") };
  }

  #joined<T>(name: string, work: () => Promise<T>): Promise<T> {
    const running = this.#looks.get(name) as Promise<T> | undefined;
    if (running !== undefined) return running;
    const look = work().finally(() => this.#looks.delete(name));
    this.#looks.set(name, look);
    return look;
  }

  /** One after the other: a click that is repeated must not fill the machine. */
  #launcher(words: readonly string[], timeout: number): Promise<Ended> {
    const { installation, launcher = runLauncher } = this.#parts;
    const all = [...words, "--data", installation.dataDirectory];
    const next = this.#last.then(() => launcher(all, timeout));
    this.#last = next.catch(() => {});
    return next;
  }
}

interface Hold {
  /** A day; missing: until somebody ends it. */
  readonly until?: string | undefined;
  /** The person; missing: the user of the programs. */
  readonly by?: string | undefined;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const runLauncher: NonNullable<CareParts["launcher"]> = (words, timeout) =>
  run([programFile("launcher"), ...words], timeout);

/** The output of a command, however it ends. */
async function run(words: readonly string[], timeout: number): Promise<Ended> {
  const options = { timeout, windowsHide: true, maxBuffer: OUTPUT_BYTES_MAX };
  const running = promisify(execFile)(process.execPath, [...words], options);
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
