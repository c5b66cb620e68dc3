import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { invariant } from "../invariant.ts";
import { readOr } from "../read-or.ts";
import { type ExclusiveLock, takeExclusiveLock } from "./exclusive-lock.ts";

/*
 * This file finds processes where the operating system does not list command lines as Linux does
 * (on Windows only tools list them, which kiosks lock away). Each process locks a file with its pid
 * in the name. While the lock is held, the process lives and is ours; another process that got the
 * same pid later has no such lock.
 */

/** The locks of this process, which are held until it ends in any way. */
const held: ExclusiveLock[] = [];

/** How long to wait for a file's lock, which another process holds while it checks the file. */
const CONTENTION_MS = 2_000;

/** Shows others that this process runs: locks the file `BASE.PID.alive` until it ends. */
export function announcePresence(base: string): void {
  const file = `${base}.${process.pid}.alive`;
  // If another process removes the file before it is locked, a new file is made and locked.
  do {
    const lock = takeExclusiveLock(file, CONTENTION_MS);
    invariant(lock !== undefined, `${file} bears the pid of this process alone`);
    held.push(lock);
  } while (!existsSync(file));
}

/** Returns the pids of living processes with a lock; removes the files of dead processes. */
export function presentProcesses(base: string): number[] {
  const [folder, name] = [dirname(base), basename(base)];
  return namesIn(folder).flatMap((file) => {
    const pid = /^\.(\d+)\.alive$/.exec(file.startsWith(name) ? file.slice(name.length) : "")?.[1];
    if (pid === undefined) return [];
    return isHeld(`${folder}/${file}`) ? [Number(pid)] : [];
  });
}

/**
 * Whether the process with this pid has announced itself and lives. The pid must be in use too,
 * because a process that checks a dead process's file locks that file for a moment.
 */
export function isPresent(base: string, pid: number): boolean {
  const file = `${base}.${pid}.alive`;
  return existsSync(file) && isHeld(file) && isPidInUse(pid);
}

export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function isHeld(file: string): boolean {
  const lock = takeExclusiveLock(file, 0);
  if (!lock) return true;
  const removed = remove(file);
  lock.release();
  // Windows does not remove an open file, so the file of a new process cannot be removed here.
  if (!removed) remove(file);
  return false;
}

const remove = (file: string): boolean =>
  readOr(false, () => {
    rmSync(file, { force: true });
    return true;
  });

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // never started
    throw error;
  }
}
