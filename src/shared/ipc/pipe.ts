import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { isPresent, presentProcesses } from "../process/presence.ts";
import { readOr } from "../read-or.ts";
import type { Program } from "./contract.ts";

/** The folder of named pipes on Windows, in which any user may make and list pipes. */
const PIPES = "\\\\.\\pipe\\";
const RANDOM_BYTES = 16;
const ownerForm = new RegExp(`-(\\d+)-[0-9a-f]{${RANDOM_BYTES * 2}}$`);

/** Returns a new pipe name for this start of a program, which no other process can guess. */
export function newPipe(program: Program): string {
  const random = randomBytes(RANDOM_BYTES).toString("hex");
  return `${PIPES}unattended-terminal-connector-${program}-${process.pid}-${random}`;
}

/**
 * Whether a pipe is ours, which is certain while the process that made it lives, whereas anyone may
 * reuse the pipe name of a dead process. The caller has a connection open, so that the owner cannot
 * change during the check (docs/design.md 7.1). True for an address that is no pipe.
 */
export function isPipeOfLiving(runDirectory: string, program: Program, address: string): boolean {
  if (!address.startsWith(PIPES)) return true;
  const base = join(runDirectory, program);
  const pid = ownerForm.exec(address)?.[1];
  // If the run directory cannot be read, it is not known who owns the pipe.
  return readOr(false, () =>
    pid === undefined ? isOfOlderVersion(base) : isPresent(base, Number(pid)),
  );
}

/**
 * Whether a living process of an older version may have made the pipe. Older versions use a fixed
 * pipe name, so any process that started before the address was written counts.
 */
function isOfOlderVersion(base: string): boolean {
  const writtenMs = statSync(`${base}.address`).mtimeMs;
  return presentProcesses(base).some(
    (pid) => statSync(`${base}.${pid}.alive`).mtimeMs <= writtenMs,
  );
}
