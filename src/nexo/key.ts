import { pbkdf2Sync } from "node:crypto";
import { NexoCodecError } from "./errors.ts";

/** The key that register and terminal share (docs/nexo.md 3.1). */
export interface NexoKey {
  readonly identifier: string;
  readonly version: number;
  readonly hmacKey: Buffer;
  readonly cipherKey: Buffer;
  readonly iv: Buffer;
}

const SALT = "AdyenNexoV1Salt";
const ROUNDS = 4_000;
const HMAC_KEY_BYTES = 32;
const CIPHER_KEY_BYTES = 32;
const IV_BYTES = 16;

/**
 * Derives the key from its passphrase. Throws {@link NexoCodecError} for a passphrase that is not
 * printable ASCII, because implementations encode other characters differently (docs/nexo.md 3.1).
 */
export function nexoKey(identifier: string, version: number, passphrase: string): NexoKey {
  if (!/^[ -~]+$/.test(passphrase)) {
    throw new NexoCodecError("passphrase", "the passphrase must be printable ASCII characters");
  }
  const length = HMAC_KEY_BYTES + CIPHER_KEY_BYTES + IV_BYTES;
  const bytes = pbkdf2Sync(Buffer.from(passphrase, "ascii"), SALT, ROUNDS, length, "sha1");
  const cipherKeyEnd = HMAC_KEY_BYTES + CIPHER_KEY_BYTES;
  return {
    identifier,
    version,
    hmacKey: bytes.subarray(0, HMAC_KEY_BYTES),
    cipherKey: bytes.subarray(HMAC_KEY_BYTES, cipherKeyEnd),
    iv: bytes.subarray(cipherKeyEnd),
  };
}
