import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The conformance vectors are read in place and never copied into the project. Without the
 * environment variable the tests that need them are skipped, visibly.
 */
const folder = process.env["CONFORMANCE_VECTORS"];
export const zvtFolder = folder ? join(folder, "zvt") : "";
export const hasVectors = zvtFolder !== "" && existsSync(zvtFolder);

export interface DecodedTag {
  readonly tag: string;
  readonly hex?: string;
  readonly text?: string;
  readonly digits?: string;
  readonly opaque?: boolean;
  readonly children?: readonly DecodedTag[];
}

export interface DecodedField {
  readonly bmp: string;
  readonly name: string;
  readonly hex: string;
  readonly value?: unknown;
  readonly digits?: string;
  readonly text?: string;
  readonly tlv?: readonly DecodedTag[];
}

export interface Decoded {
  readonly lengthForm: "short" | "extended";
  readonly dataLength: number;
  readonly fixed?: Readonly<Record<string, unknown>>;
  readonly bmp?: readonly DecodedField[];
}

export interface Step {
  readonly direction: "ECR->PT" | "PT->ECR";
  readonly hex?: string;
  readonly what: "apdu" | "frame" | "ack" | "nak" | "close";
  readonly apdu?: string;
  readonly crcOk?: boolean;
  readonly note?: string;
}

export interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly direction: "ECR->PT" | "PT->ECR";
  readonly hex: string;
  readonly control: string;
  readonly context?: string;
  readonly charset?: string;
  readonly deviant?: string;
  readonly decoded: Decoded;
  readonly serial?: {
    readonly apdu: string;
    readonly crc: string;
    readonly crcBytes: string;
    readonly doubledDle: number;
  };
  readonly transport?: "tcp" | "serial";
  readonly chunks?: readonly string[];
  readonly steps?: readonly Step[];
  readonly complete?: boolean;
  readonly expect?: unknown;
}

/** The vectors of one file; none when the folder is not configured. */
export function vectors(file: string): readonly Vector[] {
  if (!hasVectors) return [];
  const parsed = JSON.parse(readFileSync(join(zvtFolder, `${file}.json`), "utf8"));
  if (parsed.schema !== "zvt-vectors/1" || parsed.vectors.length !== parsed.count) {
    throw new Error(`${file} is not a complete file of zvt-vectors/1`);
  }
  return parsed.vectors;
}
