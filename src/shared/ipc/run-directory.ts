import { randomBytes } from "node:crypto";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { invariant } from "../invariant.ts";
import { readOr } from "../read-or.ts";
import type { Program } from "./contract.ts";
import { newPipe } from "./pipe.ts";

/** The longest path of a socket in bytes; Linux allows 108, other systems fewer. */
const SOCKET_PATH_BYTES_MAX = 100;

/** Makes and returns the private folder in which the installation's processes find each other. */
export function openRunDirectory(dataDirectory: string): string {
  const directory = join(dataDirectory, "run");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  return directory;
}

const TOKEN_BYTES = 32;
const tokenForm = new RegExp(`^[0-9a-f]{${TOKEN_BYTES * 2}}$`);

/**
 * Returns the secret token that every local request carries. The program that starts first writes
 * the token into another file, syncs and links that file, so that no program reads half a token. A
 * token that is damaged on the disk is replaced: an empty token would admit everyone.
 */
export function ipcToken(runDirectory: string): string {
  const path = join(runDirectory, "token");
  const found = readIfThere(path);
  if (found !== undefined && tokenForm.test(found)) return found;
  const made = join(runDirectory, `token.${process.pid}.${randomBytes(4).toString("hex")}`);
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  writeFileSync(made, token, { mode: 0o600, flag: "wx", flush: true });
  try {
    if (found === undefined) linkSync(made, path);
    else renameSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(made, { force: true });
  }
  const kept = readFileSync(path, "utf8");
  invariant(tokenForm.test(kept), `${path} holds a whole token`);
  return kept;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Chooses the address at which a program listens, and records it for its clients: a socket in the
 * run directory, or in a short folder of its own if that path is too long; on Windows a named pipe
 * with a new name at each start. Only the process with the program's lock may call this function,
 * because it removes a socket that a dead process left.
 */
export function claimAddress(runDirectory: string, program: Program): string {
  const address = chooseAddress(runDirectory, program);
  if (process.platform !== "win32") removeStaleSocket(address);
  const record = join(runDirectory, `${program}.address`);
  writeFileSync(`${record}.new`, address, { mode: 0o600 });
  renameSync(`${record}.new`, record);
  return address;
}

/** Returns the address at which a program listens; undefined: it was never started. */
export function addressOf(runDirectory: string, program: Program): string | undefined {
  // After a power cut the file with the address may be empty, which counts as missing.
  return readIfThere(join(runDirectory, `${program}.address`)) || undefined;
}

function chooseAddress(runDirectory: string, program: Program): string {
  if (process.platform === "win32") return newPipe(program);
  const near = join(runDirectory, `${program}.sock`);
  if (isShortEnough(near)) return near;
  const earlier = addressOf(runDirectory, program);
  if (earlier && isShortEnough(earlier) && isOwnFolder(dirname(earlier))) return earlier;
  // The path of TMPDIR may be too long for a socket as well; then /tmp is used.
  const parent = [tmpdir(), "/tmp"].find((folder) =>
    isShortEnough(join(folder, "utc-123456", `${program}.sock`)),
  );
  return join(mkdtempSync(join(parent ?? "/tmp", "utc-")), `${program}.sock`);
}

function isShortEnough(path: string): boolean {
  return Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX;
}

/** Whether a folder belongs to this user alone. Others may be able to write to its parent. */
function isOwnFolder(path: string): boolean {
  const stat = readOr(undefined, () => lstatSync(path));
  return !!stat?.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
}

function removeStaleSocket(path: string): void {
  const stat = readOr(undefined, () => lstatSync(path));
  if (!stat) return;
  if (!stat.isSocket()) throw new Error(`${path} is in the place of a program's socket: delete it`);
  rmSync(path);
}
