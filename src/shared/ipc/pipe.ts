import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { isPresent, presentProcesses } from "../process/presence.ts";
import { readOr } from "../read-or.ts";
import type { Program } from "./contract.ts";

/** The folder of named pipes on Windows, where any user may make pipes and list them. */
const PIPES = "\\\\.\\pipe\\";
const RANDOM_BYTES = 16;
const ownerForm = new RegExp(`-(\\d+)-[0-9a-f]{${RANDOM_BYTES * 2}}$`);

/** Returns a new pipe name for this start of a program, which no other process can guess. */
export function newPipe(program: Program): string {
  const random = randomBytes(RANDOM_BYTES).toString("hex");
  return `${PIPES}unattended-terminal-connector-${program}-${process.pid}-${random}`;
}

/**
 * Whether a pipe is ours: whether the process that made it lives. The name of a dead process's pipe
 * may be taken by anyone, that of a living one's not. The caller has a connection open, so that
 * nothing changes in between (docs/design.md 7.1). True for an address that is no pipe.
 */
export function isPipeOfLiving(runDirectory: string, program: Program, address: string): boolean {
  if (!address.startsWith(PIPES)) return true;
  const base = join(runDirectory, program);
  const pid = ownerForm.exec(address)?.[1];
  // A folder that is gone or cannot be read does not name the pipe's owner.
  return readOr(false, () =>
    pid === undefined ? isOfOlderVersion(base) : isPresent(base, Number(pid)),
  );
}

/**
 * A version before random names has one fixed name. The name belongs to a living process if that
 * process started before the address was written; else a dead process wrote it.
 */
function isOfOlderVersion(base: string): boolean {
  const writtenMs = statSync(`${base}.address`).mtimeMs;
  return presentProcesses(base).some(
    (pid) => statSync(`${base}.${pid}.alive`).mtimeMs <= writtenMs,
  );
}
