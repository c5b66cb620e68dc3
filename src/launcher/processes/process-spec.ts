import { join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { programFile, programFileOf } from "../../shared/version-files.ts";

export type ProcessName = Program | "terminal-simulator" | "gateway-sandbox";

/** How a process is started. */
export interface Launch {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** The runtime of another version's program; missing: the one that runs here. */
  readonly runtime?: string;
}

/** One process of an installation: how it is started, and how it is recognised. */
export interface ProcessSpec extends Launch {
  readonly name: ProcessName;
  /** The argument that tells this installation's process from another installation's. */
  readonly mark: string;
  /** Its announcement where the system lists no arguments (shared/process/presence.ts). */
  readonly presence: string;
}

export interface ProgramSpec extends ProcessSpec {
  readonly name: Program;
  readonly runDirectory: string;
}

/** In the order of their stop: tp-manager hands its last payment to the supervisor. */
export const programNames: readonly Program[] = ["tp-manager", "supervisor"];

export function programSpec(name: Program, dataDirectory: string): ProgramSpec {
  const runDirectory = join(dataDirectory, "run");
  return {
    name,
    script: programFile(name),
    args: ["--data", dataDirectory],
    mark: dataDirectory,
    runDirectory,
    presence: join(runDirectory, name),
  };
}

/** Both programs; `other`: as that version runs them. */
export function programSpecs(
  dataDirectory: string,
  other?: { readonly version: string; readonly runtime: string },
): ProgramSpec[] {
  return programNames.map((name) => {
    const own = programSpec(name, dataDirectory);
    if (!other) return own;
    return { ...own, script: programFileOf(other.version, name), runtime: other.runtime };
  });
}
