import { closeSync, fstatSync, openSync, readSync, statSync, writeFileSync } from "node:fs";
import { arch, freemem, release, type as systemType, totalmem, uptime } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  type ConfigFields,
  credentialsWithin,
  mayBePrinted,
  metaOf,
} from "../../shared/config/config-field.ts";
import { type Entry, readEntries } from "../../shared/config/config-file.ts";
import { sharedFields } from "../../shared/config/schema.ts";
import { cleanLine } from "../../shared/masking/log-cleaning.ts";
import { osName, versionNumber } from "../../shared/process/installation.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";
import type { CommandContext } from "../output.ts";
import { entriesOf, readText } from "./check-surroundings.ts";

const REMOVED = "[removed]";
/** The bundle has the end of each log, newest logs first, up to these sizes. */
const LOG_BYTES_MAX = 8 * 1024 * 1024;
const ALL_LOGS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Writes what support needs to see: the doctor's report, versions, the setup file without secrets,
 * the logs. Every line passes the cleaning of the loggers once more, and every secret of the setup
 * file is taken out wherever it stands. The databases stay here. Throws when FILE exists.
 */
export function writeBundle(
  file: string,
  { dataDirectory, configFile, logDirectory, clock }: CommandContext,
  report: object,
): void {
  const { entries } = readEntries(readText(configFile));
  const token = readText(join(dataDirectory, "run/token")).trim();
  const clean = cleaner([...secretsOf(entries), token]);
  const asFile = (name: string, text: string): ArchiveFile => ({
    name,
    content: Buffer.from(text.split("\n").map(clean).join("\n")),
  });
  const files = [
    asFile("doctor.json", `${JSON.stringify(report, null, 2)}\n`),
    asFile("machine.json", `${JSON.stringify(machine(), null, 2)}\n`),
    asFile("config.txt", entries.map(bundledEntry).join("")),
    ...logTexts(logDirectory).map(({ name, text }) => asFile(`logs/${name}`, text)),
  ];
  // "wx" overwrites nothing; the mode lets no other user read the bundle.
  writeFileSync(file, tarGz(files, clock.now()), { mode: 0o600, flag: "wx" });
}

function machine(): object {
  return {
    version: versionNumber,
    os: osName(),
    system: `${systemType()} ${release()} ${arch()}`,
    runtime: process.versions,
    memoryBytes: { total: totalmem(), free: freemem() },
    uptimeSeconds: Math.round(uptime()),
  };
}

const knownFields: ConfigFields = { ...sharedFields, ...protocolPart.fields };

function bundledEntry(entry: Entry): string {
  const value = mayBePrinted(entry, knownFields) ? entry.value : entry.value === "" ? "" : REMOVED;
  return `${entry.name}=${value}\n`;
}

const SECRET_CHARACTERS_MIN = 4;

/** Every secret value, plain and in the encodings in which a log may hold it. */
function secretsOf(entries: readonly Entry[]): string[] {
  const hidden = entries.filter((entry) => !mayBePrinted(entry, knownFields) && !isLogin(entry));
  const logins = entries.filter(isLogin);
  const pairs = logins.flatMap((login) =>
    hidden.map(({ value }) => Buffer.from(`${login.value}:${value}`).toString("base64")),
  );
  const values = hidden.flatMap((entry) => [
    entry.value,
    ...listed(entry),
    ...credentialsWithin(entry.value),
  ]);
  const forms = values.flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
    Buffer.from(value).toString("base64"),
  ]);
  return [...pairs, ...forms];
}

function isLogin({ name }: Entry): boolean {
  const field = knownFields[name];
  return field !== undefined && metaOf(field).login === true;
}

/** The single secrets of a setting that holds a list of them. */
function listed({ name, value }: Entry): string[] {
  const field = knownFields[name];
  return field && metaOf(field).list ? value.split(" ") : [];
}

function cleaner(secrets: readonly string[]): (line: string) => string {
  // Longest first, because one secret may be a part of another.
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= SECRET_CHARACTERS_MIN)
    .sort((a, b) => b.length - a.length);
  return (line) =>
    cleanLine(known.reduce((text, secret) => text.replaceAll(secret, REMOVED), line));
}

/** The ends of the logs; none of an installation that was never started. */
function logTexts(folder: string): Array<{ name: string; text: string }> {
  const logs = entriesOf(folder).flatMap((name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    return stat?.isFile() && /^[\w.-]{1,90}$/.test(name) ? [{ name, writtenMs: stat.mtimeMs }] : [];
  });
  let left = ALL_LOGS_BYTES_MAX;
  return logs
    .toSorted((a, b) => b.writtenMs - a.writtenMs)
    .flatMap(({ name }) => {
      if (left <= 0) return [];
      const text = endOf(join(folder, name), Math.min(left, LOG_BYTES_MAX));
      left -= text.length;
      return [{ name, text }];
    });
}

/** The last whole lines of a file: half a line could hide a secret from the cleaning. */
function endOf(path: string, bytesMax: number): string {
  const descriptor = openSync(path, "r");
  try {
    const { size } = fstatSync(descriptor);
    const from = Math.max(size - bytesMax, 0);
    const buffer = Buffer.alloc(size - from);
    const count = readSync(descriptor, buffer, 0, buffer.length, from);
    const text = buffer.subarray(0, count).toString("utf8");
    return from === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } finally {
    closeSync(descriptor);
  }
}

interface ArchiveFile {
  /** ASCII, at most 100 characters, with / between folders. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK_BYTES = 512;

/** A gzipped tar archive in the form of POSIX.1-1988 (ustar), which every system can open. */
export function tarGz(files: readonly ArchiveFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ name, content }) => [
    header(name, content.length, modifiedMs),
    content,
    Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ]);
  // Two empty blocks end an archive.
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** IEEE 1003.1, "ustar Interchange Format": numbers are octal text. */
function header(name: string, bytes: number, modifiedMs: number): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name)) throw new Error(`no name for an archive: ${name}`);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  block.write(name, 0, "latin1");
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes, 124, 11);
  octal(Math.floor(modifiedMs / 1_000), 136, 11);
  block.fill(" ", 148, 156); // the checksum counts as blanks while it is computed
  block.write("0", 156, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block.write("\u0000 ", 154, "latin1");
  return block;
}
