import { join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { programFile } from "../../shared/version-files.ts";

export type PartName = Program | "terminal-simulator" | "gateway-sandbox";

/** One process of an installation: how to start it, and the marks it is recognised by. */
export interface Part {
  readonly name: PartName;
  readonly script: string;
  /** The runtime of another version's program; missing: the one that runs here. */
  readonly runtime?: string;
  readonly args: readonly string[];
  /** The argument that tells this installation's process from another installation's. */
  readonly mark: string;
  /** Its announcement where the system lists no arguments (shared/process/presence.ts). */
  readonly presence: string;
}

export interface ProgramPart extends Part {
  readonly name: Program;
}

/** In the order of their stop: tp-manager hands its last payment to the supervisor. */
const programNames: readonly Program[] = ["tp-manager", "supervisor"];

export function programPart(name: Program, dataDirectory: string): ProgramPart {
  return {
    name,
    script: programFile(name),
    args: ["--data", dataDirectory],
    mark: dataDirectory,
    presence: join(dataDirectory, "run", name),
  };
}

export function programParts(dataDirectory: string): ProgramPart[] {
  return programNames.map((name) => programPart(name, dataDirectory));
}
