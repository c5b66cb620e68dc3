import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Key, Signature } from "@tufjs/models";
import { z } from "zod";

/*
 * Keys of the publisher: Ed25519, each in a file of its own that a passphrase encrypts (PKCS #8),
 * with its public part in `FILE.pub`. docs/updates.md 5.1 says who keeps which.
 */

/** PKCS #8 stretches a passphrase little, so it has to be long. */
const PASSPHRASE_LENGTH_MIN = 12;

const publicSchema = z.strictObject({
  keytype: z.literal("ed25519"),
  scheme: z.literal("ed25519"),
  keyval: z.strictObject({ public: z.string().regex(/^[0-9a-f]{64}$/) }),
});
type PublicPart = z.infer<typeof publicSchema>;

/** Makes a key. Answers its public file. */
export function makeKey(file: string, passphrase: string): string {
  if (existsSync(file)) throw new Error(`${file} is there already`);
  if (passphrase.length < PASSPHRASE_LENGTH_MIN) {
    throw new Error(`a passphrase has at least ${PASSPHRASE_LENGTH_MIN} characters`);
  }
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase,
  });
  writeFileSync(file, pem, { mode: 0o600, flag: "wx" });
  writeFileSync(`${file}.pub`, `${JSON.stringify(publicPartOf(privateKey))}\n`);
  return `${file}.pub`;
}

/** The public part of a key, as the metadata hold it. */
export function readPublicKey(file: string): Key {
  const read = publicSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
  if (!read.success) throw new Error(`${file} is no public key: ${z.prettifyError(read.error)}`);
  return keyOf(read.data);
}

/** A key that can sign. */
export interface SigningKey {
  readonly file: string;
  readonly id: string;
  sign(bytes: Buffer): Signature;
}

export function openKey(file: string, passphrase: string): SigningKey {
  const privateKey = opened(file, passphrase);
  const { keyID } = keyOf(publicPartOf(privateKey));
  return {
    file,
    id: keyID,
    sign: (bytes) => {
      return new Signature({ keyID, sig: sign(null, bytes, privateKey).toString("hex") });
    },
  };
}

function opened(file: string, passphrase: string): KeyObject {
  const pem = readFileSync(file, "utf8");
  if (!pem.includes("BEGIN ENCRYPTED PRIVATE KEY")) {
    throw new Error(`${file} is no encrypted private key`);
  }
  try {
    return createPrivateKey({ key: pem, passphrase });
  } catch (cause) {
    throw new Error(`${file} does not open with this passphrase`, { cause });
  }
}

function publicPartOf(privateKey: KeyObject): PublicPart {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const value = Buffer.from(x, "base64url").toString("hex");
  return { keytype: "ed25519", scheme: "ed25519", keyval: { public: value } };
}

/** The id is computed and never taken from a file, so that one key cannot have two. */
function keyOf({ keytype, scheme, keyval }: PublicPart): Key {
  // Canonical JSON of these plain words is JSON with its names in order.
  const canonical = JSON.stringify({ keytype, keyval: { public: keyval.public }, scheme });
  const keyID = createHash("sha256").update(canonical).digest("hex");
  return new Key({ keyID, keyType: keytype, scheme, keyVal: keyval });
}
