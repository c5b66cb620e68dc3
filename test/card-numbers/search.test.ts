import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { packedRow } from "../../src/tp-manager/attempts/packed-texts.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { findsIn, hasRightCheckDigit, searchFolder, writingsOf } from "./search.ts";
import { terminalPan } from "./unmasking-line.ts";
import { pans } from "./ways-in.ts";

const all = [...Object.values(pans), terminalPan];

test("the card numbers that are sent are different ones, which a card could have", () => {
  expect(new Set(all).size).toBe(6);
  expect(all.filter((pan) => !hasRightCheckDigit(pan))).toEqual([]);
});

test("a card number is found in each writing, also among other bytes and packed", () => {
  for (const { name, bytes } of writingsOf(pans.kiosk)) {
    const content = Buffer.concat([Buffer.from("ab"), bytes, Buffer.from("cd")]);
    expect(findsIn(content, all)).toEqual([`${name} of 453914…6467`]);
    expect(findsIn(gzipSync(content), all)).toEqual([`${name} of 453914…6467`]);
  }
  for (const before of ["", "a", "ab"]) {
    const encoded = Buffer.from(`${before}${pans.kiosk} and more`).toString("base64");
    expect(findsIn(Buffer.from(encoded), all), before).toHaveLength(1);
  }
  expect(findsIn(Buffer.from("4539 14XX XXXX 6467, 453914XXXXXX6467"), all)).toEqual([]);
});

test("every file of a folder is searched, and each value of a database", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "deep"));
  writeFileSync(join(folder, "deep", "log"), `{"card":"${pans.login}"}`);
  const database = new DatabaseSync(join(folder, "a.db"));
  database.exec("CREATE TABLE texts (text)");
  // A value of many pages, with the number across the border of some of them.
  const value = pans.gateway.repeat(2_000);
  database.prepare("INSERT INTO texts VALUES (?)").run(value);
  database.exec("CREATE TABLE attempt (ticket, packed)");
  const { ticket = null, packed = null } = packedRow({ ticket: `Card ${pans.kiosk} `.repeat(9) });
  expect(ticket).toBe('{"packed":0}');
  database.prepare("INSERT INTO attempt VALUES (?, ?)").run(ticket, packed);
  database.close();
  const { files, finds } = searchFolder(folder, all);
  expect(files).toBe(2);
  expect(finds).toContain("deep/log: digits of 411111…1111");
  expect(finds).toContain("a.db: digits of 401288…1881");
  expect(finds).toContain("a.db: digits of 453914…6467");
});
