import { createHash, verify } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Metadata, MetadataKind, type Root } from "@tufjs/models";
import type { SigningKey } from "../updates/keys.ts";

/* The signed hashes of a release, by which its first download is verified: SECURITY.md. */

const SUMS = "SHA256SUMS";
/** The file of a release with the root metadata, whose SHA-256 is the publisher's fingerprint. */
export const ROOT = "root.json";
const ID_CHARACTERS = 16;

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The root metadata of a release. */
export interface ReleaseRoot {
  readonly bytes: Buffer;
  readonly version: number;
  readonly fingerprint: string;
}

/** Reads root metadata that can sign a release. Throws when a shell could not read them. */
export function releaseRoot(file: string): ReleaseRoot {
  const bytes = readFileSync(file);
  const json = JSON.parse(bytes.toString());
  if (`${JSON.stringify(json, undefined, 1)}\n` !== bytes.toString()) {
    throw new Error(`${file} has not the form that "npm run updates" writes`);
  }
  const root = Metadata.fromJSON(MetadataKind.Root, json);
  root.verifyDelegate("root", root);
  const others = keysOf(root).filter(({ scheme }) => scheme !== "ecdsa-sha2-nistp256");
  if (others.length > 0) {
    const ids = others.map(({ keyID }) => keyID).join(", ");
    throw new Error(
      `the keys ${ids} of the role targets are no P-256 keys, which every system can check: ` +
        `make keys with "key FILE --p256", and replace them with "rotate-key targets"`,
    );
  }
  return { bytes, version: root.signed.version, fingerprint: sha256(bytes) };
}

function keysOf({ signed }: Metadata<Root>) {
  const ids = signed.roles["targets"]?.keyIDs ?? [];
  return ids.flatMap((id) => signed.keys[id] ?? []);
}

/** Returns the list of all files of a release, as sha256sum writes it. */
function listOf(folder: string): string {
  const names = readdirSync(folder)
    .filter((name) => name !== SUMS && !(name.startsWith(`${SUMS}.`) && name.endsWith(".sig")))
    .sort();
  const strange = names.find((name) => !/^[0-9A-Za-z][0-9A-Za-z._+~-]*$/.test(name));
  if (strange !== undefined) throw new Error(`${join(folder, strange)} is no file of a release`);
  const lines = names.map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  return lines.join("");
}

/** Writes the hashes of all files of a release; signatures of other hashes go. */
export function writeSums(folder: string): void {
  const list = listOf(folder);
  const file = join(folder, SUMS);
  if (existsSync(file) && readFileSync(file, "utf8") === list) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`${SUMS}.`)) rmSync(join(folder, name));
  }
  writeFileSync(file, list);
}

/** Signs the hashes of a release, and prints how many signatures it has and needs. */
export function signSums(
  folder: string,
  keys: readonly SigningKey[],
  print: (line: string) => void,
): void {
  releaseRoot(join(folder, ROOT));
  const root = Metadata.fromJSON(
    MetadataKind.Root,
    JSON.parse(readFileSync(join(folder, ROOT), "utf8")),
  );
  const sums = readFileSync(join(folder, SUMS));
  if (sums.toString() !== listOf(folder)) {
    throw new Error(`${join(folder, SUMS)} is not the list of the files that are there`);
  }
  const able = keysOf(root);
  const signatureOf = (id: string): string =>
    join(folder, `${SUMS}.${id.slice(0, ID_CHARACTERS)}.sig`);
  for (const key of keys) {
    if (!able.some(({ keyID }) => keyID === key.id)) {
      throw new Error(`${key.file} is no key of the role targets in ${ROOT}`);
    }
    writeFileSync(signatureOf(key.id), Buffer.from(key.sign(sums).sig, "hex"));
  }
  const signed = able.filter(({ keyID, keyVal }) => {
    const file = signatureOf(keyID);
    return existsSync(file) && verify("sha256", sums, String(keyVal.public), readFileSync(file));
  });
  const needed = root.signed.roles["targets"]?.threshold ?? 1;
  const more = signed.length < needed ? ", more are needed" : "";
  print(`${SUMS}: ${signed.length} of ${needed} signatures${more}`);
}
