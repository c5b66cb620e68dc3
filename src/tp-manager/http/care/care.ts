import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ConfigFields } from "../../../shared/config/config-field.ts";
import { AppError } from "../../../shared/errors.ts";
import { type Installation, versionNumber } from "../../../shared/installation.ts";
import { isDelivery, programFile } from "../../../shared/version-files.ts";
import { type LogLine, type LogQuery, readLog } from "./log-lines.ts";
import { readSettings, type Setting } from "./settings.ts";

/** The doctor waits for a terminal, a gateway and a scheduler that may all be silent. */
const DOCTOR_LIMIT_MS = 120_000;
const CHECK_LIMIT_MS = 300_000;
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

interface CareParts {
  readonly installation: Installation;
  /** Every name of the setup file. */
  readonly fields: ConfigFields;
}

/** The output of `launch.sh doctor --json`. */
interface DoctorReport {
  readonly version: string;
  readonly well: boolean;
  readonly findings: readonly object[];
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
  async doctor(): Promise<DoctorReport> {
    const { stdout, stderr } = await this.#launcher(["doctor", "--json"], DOCTOR_LIMIT_MS);
    try {
      return JSON.parse(stdout) as DoctorReport;
    } catch {
      const says = `the doctor made no report: ${stderr.trim()}`;
      const finding = { check: "doctor", verdict: "fail", says, todo: "run ./launch.sh doctor" };
      return { version: versionNumber, well: false, findings: [finding] };
    }
  }

  /** A support archive (tar.gz), as `launch.sh doctor --bundle` writes it. Throws without one. */
  async supportBundle(): Promise<Buffer> {
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
  holdUpdates(untilDay: string | undefined): Promise<Told> {
    return this.#update(["--hold", ...(untilDay === undefined ? [] : ["--until", untilDay])]);
  }

  /** Only words that end no program: the launcher that runs here would end with it. */
  async #update(wish: readonly string[]): Promise<Told> {
    if (!isDelivery) {
      throw new AppError("NOT_SUPPORTED", "Only a delivery is updated, not a checkout.");
    }
    const { stdout, stderr, code } = await this.#launcher(["update", ...wish], CHECK_LIMIT_MS);
    const words = [stdout.trim(), stderr.trim()].filter((text) => text !== "");
    return { done: code === 0, message: words.join("\n") };
  }

  /** One after the other: a click that is repeated must not fill the machine. */
  #launcher(words: readonly string[], timeout: number): Promise<Ended> {
    const { dataDirectory } = this.#parts.installation;
    const next = this.#last.then(() =>
      run([programFile("launcher"), ...words, "--data", dataDirectory], timeout),
    );
    this.#last = next;
    return next;
  }
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

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
