import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { arch, freemem, release, type as systemType, totalmem, uptime } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type ConfigFields, mayBePrinted } from "../../shared/config/config-field.ts";
import { type Entry, readEntries } from "../../shared/config/config-file.ts";
import { sharedFields } from "../../shared/config/schema.ts";
import { REMOVED, secretMask, secretsOf } from "../../shared/config/secrets.ts";
import { cleanLine } from "../../shared/masking/log-cleaning.ts";
import { linesAtEnd } from "../../shared/process/log-file.ts";
import { osName, versionNumber } from "../../shared/program/installation.ts";
import { projectRoot } from "../../shared/version-files.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";
import type { CommandContext } from "../output.ts";
import { entriesOf, readText } from "./check-surroundings.ts";

/** The most bytes of one log, and of all logs together: the bundle has only the end of each log. */
const LOG_BYTES_MAX = 8 * 1024 * 1024;
const ALL_LOGS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Writes an archive for support: the doctor's report, versions, setup file and logs. In each line
 * card numbers are masked, and each secret of the setup file is removed wherever it stands. The
 * databases are left out; the parts list of a delivery is in it as it was published, because a hash
 * can look like a card number. Throws when `file` exists.
 */
export async function writeBundle(
  file: string,
  { dataDirectory, configFile, logDirectory, clock }: CommandContext,
  report: object,
): Promise<void> {
  const { entries } = readEntries(readText(configFile));
  const token = readText(join(dataDirectory, "run/token")).trim();
  const mask = secretMask([...secretsOf(entries, knownFields), token]);
  const clean = (line: string): string => cleanLine(mask(line));
  const asFile = (name: string, text: string): ArchiveFile => ({
    name,
    content: Buffer.from(text.split("\n").map(clean).join("\n")),
  });
  const files = [
    asFile("doctor.json", `${JSON.stringify(report, null, 2)}\n`),
    asFile("machine.json", `${JSON.stringify(machine(), null, 2)}\n`),
    asFile("config.txt", entries.map(bundledEntry).join("")),
    ...partsLists(),
    ...(await logTexts(logDirectory)).map(({ name, text }) => asFile(`logs/${name}`, text)),
  ];
  // The flag "wx" overwrites no file; the mode lets no other user read the bundle.
  writeFileSync(file, tarGz(files, clock.now()), { mode: 0o600, flag: "wx" });
}

/** What is in this version, and what is known about it; a checkout has neither. */
function partsLists(): ArchiveFile[] {
  return ["sbom.cdx.json", "openvex.json"].flatMap((name) => {
    const path = join(projectRoot, name);
    return existsSync(path) ? [{ name, content: readFileSync(path) }] : [];
  });
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

async function logTexts(folder: string) {
  const logs = entriesOf(folder).flatMap((name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    return stat?.isFile() && /^[\w.-]{1,90}$/.test(name) ? [{ name, writtenMs: stat.mtimeMs }] : [];
  });
  const texts: Array<{ name: string; text: string }> = [];
  let left = ALL_LOGS_BYTES_MAX;
  for (const { name } of logs.toSorted((a, b) => b.writtenMs - a.writtenMs)) {
    if (left <= 0) break;
    const text = await linesAtEnd(join(folder, name), Math.min(left, LOG_BYTES_MAX));
    left -= text.length;
    texts.push({ name, text });
  }
  return texts;
}

interface ArchiveFile {
  /** The path of the file in the archive: ASCII, at most 100 characters, / between folders. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK_BYTES = 512;

/** Returns a gzipped tar archive (POSIX.1-1988, ustar), which every system can open. */
export function tarGz(files: readonly ArchiveFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ name, content }) => [
    header(name, content.length, modifiedMs),
    content,
    Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ]);
  // Two empty blocks end a tar archive.
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** Returns a file's header (IEEE 1003.1, "ustar Interchange Format"): numbers are octal text. */
function header(name: string, bytes: number, modifiedMs: number): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name)) throw new Error(`cannot archive a file named ${name}`);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  block.write(name, 0, "latin1");
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes, 124, 11);
  octal(Math.floor(modifiedMs / 1_000), 136, 11);
  block.fill(" ", 148, 156); // while the checksum is computed, its own field counts as blanks
  block.write("0", 156, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  octal(checksum, 148, 6);
  block.write("\u0000 ", 154, "latin1");
  return block;
}
