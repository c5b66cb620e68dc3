import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * This file writes and checks the ticket, a code for one login, with which the kiosk's own page
 * begins a session (docs/browser-kiosk.md 2). Only a process that may write into the data folder
 * can write a ticket. The page then sends the ticket to tp-manager.
 */

const TICKET_GOOD_MS = 60_000;
const TICKET_BYTES = 32;

const ticketFile = (runDirectory: string): string => join(runDirectory, "kiosk-ticket");

/** Writes a new ticket, readable by its owner alone; it replaces the earlier ticket. */
export function writeTicket(runDirectory: string): string {
  const ticket = randomBytes(TICKET_BYTES).toString("base64url");
  const path = ticketFile(runDirectory);
  const made = `${path}.${process.pid}`;
  writeFileSync(made, ticket, { mode: 0o600 });
  renameSync(made, path);
  return ticket;
}

/** Whether the text `brought` is the valid ticket; a valid ticket is removed and works once. */
export function useTicket(runDirectory: string, brought: string, now: number): boolean {
  const path = ticketFile(runDirectory);
  try {
    const { mtimeMs, mode, uid } = lstatSync(path);
    const isPrivate = process.platform === "win32" || (mode & 0o077) === 0;
    const isOwn = [process.getuid?.() ?? uid, 0].includes(uid);
    const isYoung = Math.abs(now - mtimeMs) <= TICKET_GOOD_MS;
    const isGood = same(readFileSync(path, "utf8"), brought);
    if (!isPrivate || !isOwn || !isYoung || !isGood) return false;
    // The ticket is removed before it is accepted, so that it cannot be used a second time.
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}

function same(written: string, brought: string): boolean {
  const [a, b] = [Buffer.from(written), Buffer.from(brought)];
  return a.length > 0 && a.length === b.length && timingSafeEqual(a, b);
}
