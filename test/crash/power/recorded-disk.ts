import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { Random } from "../../support/inputs/random.ts";
import type { DiskRecord } from "./disk-record.ts";

export type Files = ReadonlyMap<string, Buffer>;

/** Judges each image of a disk once: of two that are equal the second gets the same judgement. */
export function judgedOnce<Judgement>(judge: (files: Files) => Judgement) {
  const known = new Map<string, Judgement>();
  return (files: Files): Judgement => {
    const hash = createHash("sha256");
    for (const [path, bytes] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      hash.update(`${path}\0${bytes.length}\0`).update(bytes);
    }
    const image = hash.digest("hex");
    const judgement = known.get(image) ?? judge(files);
    known.set(image, judgement);
    return judgement;
  };
}

/** What a drive writes at once or not at all. */
const SECTOR_BYTES = 512;

type Change =
  | { readonly kind: "write"; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly bytes: number };

/** A file's content whatever its names are. */
interface Content {
  synced: Buffer;
  /** Since the last sync, oldest first: the drive may have all, none or some of them. */
  unsynced: Change[];
}

type NameChange =
  | { readonly kind: "create"; readonly path: string; readonly content: Content }
  | { readonly kind: "unlink"; readonly path: string }
  | { readonly kind: "rename"; readonly path: string; readonly to: string };

/**
 * A disk of which is known what was synced and what was not. A power cut leaves of each file its
 * synced bytes and any of the sectors written since; of the names those whose folder was synced and
 * a beginning of what was done to names since, as a journalling file system keeps their order.
 */
export class RecordedDisk {
  readonly #live = new Map<string, Content>();
  readonly #names = new Map<string, Content>();
  readonly #known = new Set<string>();
  #unsyncedNames: NameChange[] = [];

  /** `files` are on the disk for sure. */
  constructor(files: ReadonlyMap<string, Buffer>) {
    for (const [path, synced] of files) {
      const content = { synced, unsynced: [] };
      this.#live.set(path, content);
      this.#names.set(path, content);
      this.#known.add(path);
    }
  }

  /** Every path that ever was a file here. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  apply(record: DiskRecord): void {
    const { path } = record;
    switch (record.what) {
      case "create": {
        const content: Content = { synced: Buffer.alloc(0), unsynced: [] };
        this.#live.set(path, content);
        this.#known.add(path);
        this.#unsyncedNames.push({ kind: "create", path, content });
        return;
      }
      case "write": {
        const { offset, data } = record;
        this.#live.get(path)?.unsynced.push({ kind: "write", offset, data });
        return;
      }
      case "truncate":
        this.#live.get(path)?.unsynced.push({ kind: "truncate", bytes: record.offset });
        return;
      case "sync":
        this.#sync(path);
        return;
      case "unlink":
        for (const each of this.#below(path)) {
          this.#live.delete(each);
          this.#unsyncedNames.push({ kind: "unlink", path: each });
        }
        return;
      case "rename": {
        const to = record.data.toString();
        for (const name of renamed(this.#live, path, to)) this.#known.add(name);
        this.#unsyncedNames.push({ kind: "rename", path, to });
        return;
      }
      case "send":
      case "receive":
        return;
    }
  }

  /** The files after the programs were killed: all that was written is there. */
  afterKill(): Map<string, Buffer> {
    return new Map(
      [...this.#live].map(([path, { synced, unsynced }]) => [path, applied(synced, unsynced)]),
    );
  }

  /** The files after the power has gone and come back. */
  afterPowerCut(random: Random): Map<string, Buffer> {
    const names = new Map(this.#names);
    const kept = random.between(0, this.#unsyncedNames.length);
    for (const change of this.#unsyncedNames.slice(0, kept)) rename(names, change);
    return new Map([...names].map(([path, content]) => [path, survivor(content, random)]));
  }

  /** A folder is recorded as one that goes with all that is in it. */
  #below(path: string): string[] {
    return [...this.#live.keys()].filter((each) => each === path || each.startsWith(`${path}/`));
  }

  #sync(path: string): void {
    const content = this.#live.get(path);
    if (content) {
      content.synced = applied(content.synced, content.unsynced);
      content.unsynced = [];
      return;
    }
    const here = (each: NameChange): boolean =>
      dirname(each.path) === path || (each.kind === "rename" && dirname(each.to) === path);
    for (const change of this.#unsyncedNames.filter(here)) rename(this.#names, change);
    this.#unsyncedNames = this.#unsyncedNames.filter((change) => !here(change));
  }
}

function rename(names: Map<string, Content>, change: NameChange): void {
  if (change.kind === "rename") renamed(names, change.path, change.to);
  else if (change.kind === "create") names.set(change.path, change.content);
  else names.delete(change.path);
}

/** A file, or a folder with all that is in it, gets another name. Answers the new names. */
function renamed(names: Map<string, Content>, from: string, to: string): string[] {
  const moved = [...names].filter(([name]) => name === from || name.startsWith(`${from}/`));
  for (const [name] of moved) names.delete(name);
  return moved.map(([name, content]) => {
    const newName = `${to}${name.slice(from.length)}`;
    names.set(newName, content);
    return newName;
  });
}

function survivor({ synced, unsynced }: Content, random: Random): Buffer {
  if (unsynced.length === 0) return synced;
  switch (random.pick(["nothing", "all", "the first", "some", "sectors"] as const)) {
    case "nothing":
      return synced;
    case "all":
      return applied(synced, unsynced);
    case "the first":
      return applied(synced, unsynced.slice(0, random.between(0, unsynced.length)));
    case "some":
      return applied(
        synced,
        unsynced.filter(() => random.happens(0.5)),
      );
    case "sectors":
      return applied(
        synced,
        unsynced.flatMap((each) => torn(each, random)),
      );
  }
}

/** Those sectors of a change that reached the drive. */
function torn(change: Change, random: Random): Change[] {
  if (change.kind === "truncate") return random.happens(0.5) ? [change] : [];
  const { offset, data } = change;
  const parts: Change[] = [];
  for (let from = offset; from < offset + data.length; ) {
    const to = Math.min((Math.floor(from / SECTOR_BYTES) + 1) * SECTOR_BYTES, offset + data.length);
    const part = data.subarray(from - offset, to - offset);
    if (random.happens(0.5)) parts.push({ kind: "write", offset: from, data: part });
    from = to;
  }
  return parts;
}

/** As a file system does it: what is new and was not written is zero. */
function applied(content: Buffer, changes: readonly Change[]): Buffer {
  let bytes = content.length;
  let room = bytes;
  for (const change of changes) {
    bytes = change.kind === "truncate" ? change.bytes : Math.max(bytes, endOf(change));
    room = Math.max(room, bytes);
  }
  const result = Buffer.alloc(room);
  content.copy(result);
  let end = content.length;
  for (const change of changes) {
    if (change.kind === "truncate") {
      if (change.bytes < end) result.fill(0, change.bytes, end);
      end = change.bytes;
    } else {
      change.data.copy(result, change.offset);
      end = Math.max(end, endOf(change));
    }
  }
  return result.subarray(0, bytes);
}

const endOf = ({ offset, data }: { offset: number; data: Buffer }): number => offset + data.length;
