import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { NexoCodecError } from "./errors.ts";
import { readObject } from "./json-text.ts";
import type { NexoKey } from "./key.ts";
import { type Header, headerSchema, shaped } from "./message-table.ts";

/** A message: one header, and one body with its name (docs/nexo.md 1.1). */
export interface NexoMessage {
  readonly root: Root;
  readonly header: Header;
  readonly name: string;
  /** As {@link readObject} reads it: numbers are texts. `bodyOf` checks it. */
  readonly body: unknown;
}

const roots = ["SaleToPOIRequest", "SaleToPOIResponse"] as const;
type Root = (typeof roots)[number];

const PROTECTION_VERSION = "1";
const CIPHER = "aes-256-cbc";
export const NONCE_BYTES = 16;
const BLOCK_BYTES = 16;
const HMAC_BYTES = 32;

const trailerSchema = z.object({
  AdyenCryptoVersion: z.string(),
  KeyIdentifier: z.string(),
  KeyVersion: z.string(),
  Nonce: z.string(),
  Hmac: z.string(),
});

/** Writes a message as it travels in clear. */
function writeClear({ root, header, name, body }: NexoMessage): string {
  return JSON.stringify({ [root]: { MessageHeader: header, [name]: body } });
}

/** Writes a message as it travels; `key` null: in clear. `nonce`: random, for this message only. */
export function writeMessage(message: NexoMessage, key: NexoKey | null, nonce: Buffer): string {
  const plain = writeClear(message);
  if (key === null) return plain;
  const cipher = createCipheriv(CIPHER, key.cipherKey, mixed(key.iv, nonce));
  const blob = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  const trailer = {
    AdyenCryptoVersion: Number(PROTECTION_VERSION),
    KeyIdentifier: key.identifier,
    KeyVersion: key.version,
    Nonce: nonce.toString("base64"),
    Hmac: hmacOf(Buffer.from(plain, "utf8"), key).toString("base64"),
  };
  return JSON.stringify({
    [message.root]: {
      MessageHeader: message.header,
      NexoBlob: blob.toString("base64"),
      SecurityTrailer: trailer,
    },
  });
}

/**
 * Reads a message. With a key only a protected message is read, without one only a message in
 * clear: an answer in clear proves nothing where a key is set. Throws {@link NexoCodecError}.
 */
export function readMessage(text: string, key: NexoKey | null): NexoMessage {
  const { root, members } = readRoot(text);
  const { NexoBlob: blob, SecurityTrailer: trailer } = members;
  if (blob == null) {
    if (key === null) return plainMessage(root, members);
    throw new NexoCodecError("clear", "the message is not protected");
  }
  if (key === null) throw new NexoCodecError("protected", "the message is protected");
  const outer = headerOf(members);
  const inner = readRoot(decrypted(shaped(z.string(), blob, "NexoBlob"), trailer, key));
  const message = plainMessage(inner.root, inner.members);
  // The header outside is not protected, and the public libraries do not compare it.
  if (inner.root !== root || !isSame(outer, message.header)) {
    throw new NexoCodecError("header", "the header outside differs from the protected header");
  }
  return message;
}

function readRoot(text: string): { root: Root; members: Readonly<Record<string, unknown>> } {
  const whole = readObject(text);
  const [root, second] = roots.filter((name) => Object.hasOwn(whole, name));
  const members = root && !second ? whole[root] : undefined;
  if (!root || typeof members !== "object" || members === null || Array.isArray(members)) {
    throw new NexoCodecError("shape", `the text has no member ${roots.join(" or ")}`);
  }
  return { root, members: members as Record<string, unknown> };
}

const headerOf = (members: Readonly<Record<string, unknown>>): Header =>
  shaped(headerSchema, members["MessageHeader"], "MessageHeader");

function plainMessage(root: Root, members: Readonly<Record<string, unknown>>): NexoMessage {
  const header = headerOf(members);
  const names = Object.keys(members).filter(
    (name) => /(Request|Response|Notification)$/.test(name) && members[name] != null,
  );
  const [name, second] = names;
  if (name === undefined || second !== undefined) {
    throw new NexoCodecError("shape", "the message does not have exactly one body");
  }
  return { root, header, name, body: members[name] };
}

function decrypted(base64: string, given: unknown, key: NexoKey): string {
  const trailer = shaped(trailerSchema, given, "SecurityTrailer");
  if (trailer.AdyenCryptoVersion !== PROTECTION_VERSION) {
    throw new NexoCodecError("protection-version", "the protection has an unknown version");
  }
  const { KeyIdentifier, KeyVersion } = trailer;
  if (KeyIdentifier !== key.identifier || KeyVersion !== String(key.version)) {
    throw new NexoCodecError("key", "the message is protected with another key than ours");
  }
  const [blob, nonce, hmac] = [base64, trailer.Nonce, trailer.Hmac].map(bytesOf);
  const isSized =
    nonce?.length === NONCE_BYTES &&
    hmac?.length === HMAC_BYTES &&
    blob !== undefined &&
    blob.length > 0 &&
    blob.length % BLOCK_BYTES === 0;
  const plain = isSized ? unpadded(blob, key, nonce) : undefined;
  // One error for all: more detail would help the one who changes messages to find the key.
  if (!plain || !hmac || !timingSafeEqual(hmacOf(plain, key), hmac)) {
    throw new NexoCodecError("not-genuine", "the message was changed, or the passphrases differ");
  }
  return plain.toString("utf8");
}

function unpadded(blob: Buffer, key: NexoKey, nonce: Buffer): Buffer | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, key.cipherKey, mixed(key.iv, nonce));
    return Buffer.concat([decipher.update(blob), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Decodes base64; recorded messages have blanks and line breaks in it (docs/nexo.md 3.2). */
function bytesOf(base64: string): Buffer | undefined {
  const bare = base64.replace(/\s/g, "");
  return /^[A-Za-z0-9+/]*={0,2}$/.test(bare) ? Buffer.from(bare, "base64") : undefined;
}

function hmacOf(plain: Buffer, key: NexoKey): Buffer {
  return createHmac("sha256", key.hmacKey).update(plain).digest();
}

function mixed(iv: Buffer, nonce: Buffer): Buffer {
  return Buffer.from(iv.map((byte, at) => byte ^ (nonce[at] ?? 0)));
}

function isSame(a: Header, b: Header): boolean {
  const sorted = (header: Header): string =>
    JSON.stringify(Object.entries(header).sort(([x], [y]) => (x < y ? -1 : 1)));
  return sorted(a) === sorted(b);
}
