import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The conformance vectors are read in place, every file of the folder as it is. Without the
 * environment variable the tests that need them are skipped, visibly.
 */
const given = process.env["CONFORMANCE_VECTORS"];
const folder = given ? join(given, "nexo") : "";
export const hasVectors = folder !== "" && existsSync(folder);

/** Returns the path of a file of the vectors. */
export const vectorFile = (file: string): string => join(folder, file);

/** Returns the text of a file of the vectors. */
export const vectorText = (file: string): string => readFileSync(vectorFile(file), "utf8");

/** Returns the vectors of a file; none without the environment variable. */
export function rowsOf<T>(file: string): readonly T[] {
  if (!hasVectors) return [];
  const { count, vectors } = JSON.parse(vectorText(file)) as { count: number; vectors: T[] };
  if (vectors.length !== count) throw new Error(`${file} has ${vectors.length} rows, not ${count}`);
  return vectors;
}

/** Returns the names of the files of a folder of messages. */
export const filesOf = (sub: string): readonly string[] =>
  hasVectors ? readdirSync(join(folder, sub)).map((file) => `${sub}/${file}`) : [];

export interface CryptoVector {
  readonly id: string;
  readonly passphrase: string;
  readonly expect: "ok" | "refuse";
  readonly message: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly plaintext?: string;
  readonly plaintextBytes?: number;
}

interface Keys {
  readonly hmacKey: string;
  readonly cipherKey: string;
  readonly iv: string;
}

export type KeyVector = { readonly passphrase: string } & Partial<Keys> & {
    readonly utf8?: Keys;
  };

export interface CommonNameVector {
  readonly cn: string;
  readonly node: boolean;
  readonly java_test: boolean;
  readonly java_live: boolean;
}
