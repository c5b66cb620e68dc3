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
 * Keys of the publisher: Ed25519, or ECDSA P-256 for the role targets, which also signs the hashes
 * of a release. Each is in a file of its own that a passphrase encrypts (PKCS #8), with its public
 * part in `FILE.pub`. docs/updates.md 5.1 says who keeps which.
 */

/** PKCS #8 stretches a passphrase little, so it has to be long. */
const PASSPHRASE_LENGTH_MIN = 12;

const pem = /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=]+\n)+-----END PUBLIC KEY-----\n$/;
const publicSchema = z.discriminatedUnion("keytype", [
  z.strictObject({
    keytype: z.literal("ed25519"),
    scheme: z.literal("ed25519"),
    keyval: z.strictObject({ public: z.string().regex(/^[0-9a-f]{64}$/) }),
  }),
  z.strictObject({
    keytype: z.literal("ecdsa"),
    scheme: z.literal("ecdsa-sha2-nistp256"),
    keyval: z.strictObject({ public: z.string().regex(pem) }),
  }),
]);
type PublicPart = z.infer<typeof publicSchema>;

/** The kinds of keys: old versions of OpenSSL and .NET can check P-256 only. */
type KeyKind = "ed25519" | "p256";

/** Makes a key. Answers its public file. */
export function makeKey(file: string, passphrase: string, kind: KeyKind = "ed25519"): string {
  if (existsSync(file)) throw new Error(`${file} is there already`);
  if (passphrase.length < PASSPHRASE_LENGTH_MIN) {
    throw new Error(`a passphrase has at least ${PASSPHRASE_LENGTH_MIN} characters`);
  }
  const { privateKey } =
    kind === "p256"
      ? generateKeyPairSync("ec", { namedCurve: "prime256v1" })
      : generateKeyPairSync("ed25519");
  const encrypted = privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase,
  });
  writeFileSync(file, encrypted, { mode: 0o600, flag: "wx" });
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
  readonly kind: KeyKind;
  sign(bytes: Buffer): Signature;
}

export function openKey(file: string, passphrase: string): SigningKey {
  const privateKey = opened(file, passphrase);
  const { keyID } = keyOf(publicPartOf(privateKey));
  const kind = isEd25519(privateKey) ? "ed25519" : "p256";
  const hash = kind === "p256" ? "sha256" : null;
  return {
    file,
    id: keyID,
    kind,
    sign: (bytes) => {
      return new Signature({ keyID, sig: sign(hash, bytes, privateKey).toString("hex") });
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

const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === "ed25519";

function publicPartOf(privateKey: KeyObject): PublicPart {
  if (!isEd25519(privateKey)) {
    const text = String(createPublicKey(privateKey).export({ type: "spki", format: "pem" }));
    return { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256", keyval: { public: text } };
  }
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const value = Buffer.from(x, "base64url").toString("hex");
  return { keytype: "ed25519", scheme: "ed25519", keyval: { public: value } };
}

/** The id is computed and never taken from a file, so that one key cannot have two. */
function keyOf({ keytype, scheme, keyval }: PublicPart): Key {
  // Canonical JSON of these plain texts has their line ends as they are, which JSON escapes.
  const json = JSON.stringify({ keytype, keyval: { public: keyval.public }, scheme });
  const canonical = json.replaceAll("\\n", "\n");
  const keyID = createHash("sha256").update(canonical).digest("hex");
  return new Key({ keyID, keyType: keytype, scheme, keyVal: keyval });
}
