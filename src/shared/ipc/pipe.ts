import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { isPresent, presentProcesses } from "../process/presence.ts";
import type { Program } from "./contract.ts";

/** Where Windows has its named pipes: any user may make one there, and list those of others. */
const PIPES = "\\\\.\\pipe\\";
const RANDOM_BYTES = 16;
const ownerForm = new RegExp(`-(\\d+)-[0-9a-f]{${RANDOM_BYTES * 2}}$`);

/** A name for this start of a program: nobody can know it and sit on it before. */
export function newPipe(program: Program): string {
  const random = randomBytes(RANDOM_BYTES).toString("hex");
  return `${PIPES}unattended-terminal-connector-${program}-${process.pid}-${random}`;
}

/**
 * Whether the process that made a pipe lives, which is what makes it ours: the name of a dead one's
 * pipe is free for everybody, and Windows keeps others from a living one's. Asked with a connection
 * open, so that nothing changes in between (docs/design.md 7.1). True of what is no pipe.
 */
export function isPipeOfLiving(runDirectory: string, program: Program, address: string): boolean {
  if (!address.startsWith(PIPES)) return true;
  const base = join(runDirectory, program);
  try {
    const pid = ownerForm.exec(address)?.[1];
    return pid === undefined ? isOfOlderVersion(base) : isPresent(base, Number(pid));
  } catch {
    return false; // the folder is gone or closed to us: nothing is known of its owner
  }
}

/**
 * A version before random names has one fixed name for ever. The name is that of a living process
 * when the process was there before it was told; else a dead one told it.
 */
function isOfOlderVersion(base: string): boolean {
  const toldMs = statSync(`${base}.address`).mtimeMs;
  return presentProcesses(base).some((pid) => statSync(`${base}.${pid}.alive`).mtimeMs <= toldMs);
}
