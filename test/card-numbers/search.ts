import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { makeWhole } from "../../src/tp-manager/attempts/packed-texts.ts";

/*
 * The search for card numbers in everything that was written or answered. It shares no code with
 * src/shared/masking on purpose: a mistake there must not hide here.
 */

interface Writing {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Returns a card number in each form in which the search looks for it. */
export function writingsOf(pan: string): readonly Writing[] {
  const groups = pan.match(/\d{1,4}/g) ?? [];
  const wide = [...pan].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join("");
  const escaped = [...pan].map((digit) => `\\u003${digit}`).join("");
  const text = (name: string, written: string): Writing => ({ name, bytes: Buffer.from(written) });
  return [
    text("digits", pan),
    text("groups with blanks", groups.join(" ")),
    text("groups with hyphens", groups.join("-")),
    text("full-width digits", wide),
    text("escaped digits", escaped),
    text("hexadecimal text", Buffer.from(pan).toString("hex")),
    { name: "UTF-16", bytes: Buffer.from(pan, "utf16le") },
    { name: "packed digits", bytes: Buffer.from(pan.slice(0, pan.length & ~1), "hex") },
    ...[0, 1, 2].map((shift) => text(`base64, shifted by ${shift}`, innerBase64(pan, shift))),
  ];
}

/** The characters of base64 that depend on the digits alone, after `shift` other bytes. */
function innerBase64(pan: string, shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(pan)]);
  const whole = bytes.length - (bytes.length % 3);
  return bytes
    .subarray(0, whole)
    .toString("base64")
    .slice(shift === 0 ? 0 : 4);
}

/** Returns the forms in which bytes hold one of the card numbers, such as "digits of 4111…". */
export function findsIn(bytes: Buffer, pans: readonly string[]): readonly string[] {
  const contents = [bytes, ...unpacked(bytes)];
  return pans.flatMap((pan) =>
    writingsOf(pan)
      .filter((writing) => contents.some((content) => content.includes(writing.bytes)))
      .map(({ name }) => `${name} of ${pan.slice(0, 6)}…${pan.slice(-4)}`),
  );
}

function unpacked(bytes: Buffer): readonly Buffer[] {
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? [gunzipSync(bytes)] : [];
}

export interface Searched {
  readonly files: number;
  readonly bytes: number;
  /** Each with its file. */
  readonly finds: readonly string[];
}

/**
 * Searches every file below a folder, packed ones unpacked, and every value of every database: a
 * long value of a database lies in pieces in its file.
 */
export function searchFolder(folder: string, pans: readonly string[]): Searched {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  let bytes = 0;
  const finds = paths.flatMap((path) => {
    const content = readFileSync(path);
    bytes += content.length;
    const isDatabase = content.subarray(0, 15).toString("latin1") === "SQLite format 3";
    const values = isDatabase ? findsIn(Buffer.from(valuesOf(path)), pans) : [];
    const found = new Set([...findsIn(content, pans), ...values]);
    return [...found].map((find) => `${relative(folder, path)}: ${find}`);
  });
  return { files: paths.length, bytes, finds };
}

function valuesOf(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const rows = tables.flatMap(({ name }) =>
      database.prepare(`SELECT * FROM "${String(name)}"`).all(),
    );
    for (const row of rows) if (row["packed"]) makeWhole(row); // texts of the journal are packed
    return rows.flatMap((row) => Object.values(row).map(textOf)).join("\n");
  } finally {
    database.close();
  }
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value);
}

/** Whether the check digit of a card number is right. */
export function hasRightCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
