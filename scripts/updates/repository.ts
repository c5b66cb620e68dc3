import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  Metadata,
  type MetadataKind,
  type Root,
  type Snapshot,
  type Targets,
  type Timestamp,
} from "@tufjs/models";
import { syncFolder, writeSynced } from "../../src/shared/store/store-file.ts";
import { isoTime, systemClock } from "../../src/shared/time.ts";
import type { SigningKey } from "./keys.ts";

const DAY_MS = 86_400_000;

/** How long metadata hold (docs/updates.md 5.4). */
const expiryDays = { timestamp: 14, snapshot: 30, targets: 365, root: 730 } as const;
export type Role = keyof typeof expiryDays;

export interface Documents {
  readonly root: Metadata<Root>;
  readonly targets: Metadata<Targets>;
  readonly snapshot: Metadata<Snapshot>;
  readonly timestamp: Metadata<Timestamp>;
}
/** Metadata that wait for signatures of persons. */
export type StagedRole = "root" | "targets";

// biome-ignore lint/suspicious/noExplicitAny: the signed part of a document is checked when read
type Json = any;

/**
 * The folder of a repository: `metadata` and `targets` are what a web server gives out; `staged`
 * holds what waits for signatures and need not be given out.
 */
export class Repository {
  readonly folder: string;
  readonly #metadata: string;
  readonly #staged: string;

  constructor(folder: string) {
    this.folder = resolve(folder);
    this.#metadata = join(this.folder, "metadata");
    this.#staged = join(this.folder, "staged");
  }

  /** The newest published metadata of a role; undefined: none yet. */
  published<R extends Role>(role: R): Documents[R] | undefined {
    const name = this.#newest(role);
    return name === undefined ? undefined : read(role, join(this.#metadata, name));
  }

  staged<R extends StagedRole>(role: R): Documents[R] | undefined {
    const file = join(this.#staged, `${role}.json`);
    return existsSync(file) ? read(role, file) : undefined;
  }

  /** The root that will count next: the staged one, else the published one. */
  nextRoot(): Metadata<Root> {
    const root = this.staged("root") ?? this.published("root");
    if (root) return root;
    throw new Error(`${this.folder} is no repository: init makes one`);
  }

  /** New content for a role, without signatures: version and expiry are set here. */
  stage(role: StagedRole, content: Json): void {
    const version = (this.published(role)?.signed.version ?? 0) + 1;
    const signed = { ...content, version, expires: expiry(role) };
    this.#put(this.#staged, `${role}.json`, { signatures: [], signed });
  }

  /** Signatures only; the content is the staged one. */
  keepSigned(role: StagedRole, document: Documents[StagedRole]): void {
    this.#put(this.#staged, `${role}.json`, document.toJSON());
  }

  /** Publishes a document and, if it was staged, ends its waiting. */
  publish(role: Role, document: Documents[Role]): void {
    const { version } = document.signed;
    const name = role === "timestamp" ? "timestamp.json" : `${version}.${role}.json`;
    // A file that has a version in its name never changes: other files contain its hash.
    if (role !== "timestamp" && existsSync(join(this.#metadata, name))) return;
    this.#put(this.#metadata, name, document.toJSON());
  }

  endStaging(role: StagedRole): void {
    rmSync(join(this.#staged, `${role}.json`), { force: true });
  }

  /** Length and hash of a published file, as the role above it lists them. */
  metaOf(role: "targets" | "snapshot", document: Documents["targets" | "snapshot"]) {
    const { version } = document.signed;
    const bytes = readFileSync(join(this.#metadata, `${version}.${role}.json`));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { version, length: bytes.length, hashes: { sha256 } };
  }

  #newest(role: Role): string | undefined {
    if (!existsSync(this.#metadata)) return undefined;
    if (role === "timestamp") {
      return existsSync(join(this.#metadata, "timestamp.json")) ? "timestamp.json" : undefined;
    }
    const versions = readdirSync(this.#metadata).flatMap((name) => {
      const [, version, of] = /^(\d+)\.(\w+)\.json$/.exec(name) ?? [];
      return of === role ? [Number(version)] : [];
    });
    return versions.length === 0 ? undefined : `${Math.max(...versions)}.${role}.json`;
  }

  #put(folder: string, name: string, content: Json): void {
    mkdirSync(folder, { recursive: true });
    const unfinished = join(folder, `.${name}.unfinished`);
    writeSynced(unfinished, `${JSON.stringify(content, undefined, 1)}\n`, { mode: 0o644 });
    renameSync(unfinished, join(folder, name));
    syncFolder(folder);
  }
}

function read<R extends Role>(role: R, file: string): Documents[R] {
  const json = JSON.parse(readFileSync(file, "utf8"));
  // The overloads of fromJSON know each kind of their own only.
  return Metadata.fromJSON(role as MetadataKind.Root, json) as Metadata<Root> as Documents[R];
}

/** A new document of an online role, signed. */
export function signedOnline<R extends "snapshot" | "timestamp">(
  role: R,
  version: number,
  meta: Json,
  root: Metadata<Root>,
  keys: readonly SigningKey[],
): Documents[R] {
  const signed = { _type: role, spec_version: SPEC_VERSION, version, expires: expiry(role), meta };
  const document = Metadata.fromJSON(role as MetadataKind.Root, { signatures: [], signed });
  const able = keysFor(root, role, keys);
  if (able.length === 0) throw new Error(`none of the keys may sign ${role}`);
  for (const key of able) document.sign((bytes) => key.sign(bytes), true);
  return document as unknown as Documents[R];
}

export const SPEC_VERSION = "1.0.31";

export function keysFor(
  root: Metadata<Root>,
  role: Role,
  keys: readonly SigningKey[],
): readonly SigningKey[] {
  const ids = root.signed.roles[role]?.keyIDs ?? [];
  return keys.filter(({ id }) => ids.includes(id));
}

/** undefined: enough valid signatures; else the line that says how many there are. */
export function missingSignatures(
  by: Metadata<Root>,
  role: Role,
  document: Documents[Role],
): string | undefined {
  try {
    by.verifyDelegate(role, document);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function expiry(role: Role): string {
  const ms = systemClock.now() + expiryDays[role] * DAY_MS;
  return isoTime(ms).replace(/\.\d+Z$/, "Z");
}

export function daysLeft(document: Documents[Role]): number {
  return (Date.parse(document.signed.expires) - systemClock.now()) / DAY_MS;
}
