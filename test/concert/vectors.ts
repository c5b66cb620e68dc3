import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The conformance vectors are read in place, every file of the folder as it is. Without the
 * environment variable the tests that need them are skipped, visibly.
 */
const given = process.env["CONFORMANCE_VECTORS"];
const folder = given ? join(given, "concert") : "";
const hasVectors = folder !== "" && existsSync(folder);

interface VectorStep {
  readonly from: "register" | "terminal";
  readonly name: "ENQ" | "ACK" | "NAK" | "EOT" | "frame" | "message" | "close";
  readonly hex?: string;
}

export interface Vector {
  readonly id: string;
  readonly protocol: "concert-e" | "concert-e-plus" | "concert-e-ticket" | "caisse-ap";
  readonly kind: "frame" | "invalid-frame" | "message" | "invalid-message" | "session";
  readonly direction?: "register-to-terminal" | "terminal-to-register";
  readonly hex: string;
  readonly chunks?: readonly string[];
  readonly decoded: Readonly<Record<string, unknown>>;
  readonly expect: {
    readonly reason: string;
    readonly tagsBeforeError?: readonly (readonly [string, string])[];
  };
  readonly transport?: "serial" | "tcp";
  readonly steps: readonly VectorStep[];
  readonly outcome: Readonly<Record<string, unknown>>;
}

/** Every vector of every file of the folder; none when it is not configured. */
function allVectors(): readonly Vector[] {
  if (!hasVectors) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.flatMap((name) => {
    const parsed = JSON.parse(readFileSync(join(folder, name), "utf8"));
    if (parsed.schema !== "concert-vectors/1") return [];
    if (parsed.vectors.length !== parsed.count) throw new Error(`${name} is not complete`);
    return parsed.vectors;
  });
}

/** Whether the folder has vectors of some kinds. */
export function hasAny(...kinds: readonly Vector["kind"][]): boolean {
  return rowsOf(...kinds).length > 0;
}

/** The vectors of some kinds, as rows of a table with their names first. */
export function rowsOf(...kinds: readonly Vector["kind"][]): readonly [string, Vector][] {
  return allVectors()
    .filter(({ kind }) => kinds.includes(kind))
    .map((vector) => [vector.id, vector]);
}

export function hexBytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}

export function bytesHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
