import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";

/** A language that programs of this folder are written in, and what they need of it. */
interface Interpreter {
  readonly command: string;
  /** Arguments of a check that fails where something is missing. */
  readonly check: readonly string[];
  /** What to install, for the line that reports a skipped test. */
  readonly needs: string;
}

const python = (module: string): Interpreter => ({
  // The distribution's own, whose packages are meant; another one may come first in PATH.
  command: "/usr/bin/python3",
  check: ["-c", `import ${module}`],
  needs: `python3 with ${module}`,
});

export const interpreters = {
  php: {
    command: "php",
    check: ["-r", "exit(extension_loaded('soap') ? 0 : 1);"],
    needs: "php-cli with php-soap",
  },
  zeep: python("zeep"),
  suds: python("suds"),
  lxml: python("lxml"),
  perl: {
    command: "perl",
    check: ["-MSOAP::Lite", "-MHTTP::Tiny", "-MJSON::PP", "-e", "1"],
    needs: "perl with SOAP::Lite",
  },
} as const satisfies Record<string, Interpreter>;

export function isInstalled({ command, check }: Interpreter): boolean {
  try {
    execFileSync(command, check, { stdio: "ignore", timeout: PATIENCE_MS });
    return true;
  } catch {
    return false; // not there, or without what is needed
  }
}

/** The name of a test, with the reason when it cannot run here. */
export function titled(name: string, interpreter: Interpreter): string {
  return isInstalled(interpreter) ? name : `${name} (needs ${interpreter.needs})`;
}

/** One program of this folder, as it runs. */
export class ForeignProgram {
  readonly #process: ChildProcess;
  #output = "";
  #complaints = "";

  constructor(
    { command }: Interpreter,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = startProcess(command, args, {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process.stdout?.on("data", (chunk: Buffer) => (this.#output += chunk.toString("utf8")));
    this.#process.stderr?.on("data", (chunk: Buffer) => (this.#complaints += chunk));
    onTestFinished(() => void this.#process.kill());
  }

  /** The JSON objects it has printed so far, one per line. */
  received(): Array<Record<string, unknown>> {
    const lines = this.#output.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Waits for a good end. */
  async finished(): Promise<void> {
    if (this.#process.exitCode === null) await once(this.#process, "close");
    if (this.#process.exitCode !== 0) throw new Error(`it failed: ${this.#complaints}`);
  }

  /** Waits until it listens there. */
  async listens(port: number): Promise<void> {
    await until(`${this.#process.spawnfile} listens`, () => {
      if (this.#process.exitCode !== null) throw new Error(`it ended: ${this.#complaints}`);
      return new Promise<true | undefined>((resolve) => {
        const socket = createConnection(port, "127.0.0.1");
        socket.once("connect", () => socket.end(() => resolve(true)));
        socket.once("error", () => resolve(undefined));
      });
    });
  }
}
